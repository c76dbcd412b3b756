"""The programs that agents start or load, and what they need when no server answers."""
