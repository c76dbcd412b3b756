"""What must come before a command of a host."""
