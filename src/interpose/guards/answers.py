"""Answers that were given before, for guards."""

from interpose.answers import MAX_ENTRY_BYTES, Answers

__all__ = ["MAX_ENTRY_BYTES", "Answers"]
