"""Bash text to a typed tree: `parse` is strict, and says where it stopped understanding."""

from interpose.effects.syntax.parser import parse

__all__ = ["budget", "escapes", "parse", "parser", "tree", "words"]
