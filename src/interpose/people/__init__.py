"""What people answer: questions, what an answer covers, who answers, and how they hear of it."""
