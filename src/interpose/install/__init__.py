"""Hooks in other programs' files: put there without touching anything else, taken out again to the byte, examined."""
