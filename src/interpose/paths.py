"""Paths as guards judge them, and a way to open what was judged. See `interpose help paths`."""

from interpose.effects.paths import FileSystem, Lexical
from interpose.effects.paths.opening import open_resolved

__all__ = ["FileSystem", "Lexical", "open_resolved"]
