"""What the command of a call does, for categories and scopes."""
