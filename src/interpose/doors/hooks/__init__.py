"""The door of coding agents: what each sends, what is installed, and the clients that run there."""
