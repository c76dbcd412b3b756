"""Commands that print, search, cut and edit text."""
