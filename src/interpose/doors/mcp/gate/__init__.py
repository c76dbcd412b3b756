"""What is asked before a request is passed on, and after. Knows nothing of links."""
