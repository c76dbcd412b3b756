"""What is known of a call before anything decides: its effects, its secrets, and tools that nobody described."""
