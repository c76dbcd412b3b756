"""What is decided and why, in text."""
