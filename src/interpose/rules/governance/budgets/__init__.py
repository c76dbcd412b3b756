"""How much there is of something, and what is left of it."""
