"""AG2. See `interpose help ag2`."""

from interpose.doors.frameworks.ag2 import InterposeTurn, guard

__all__ = ["InterposeTurn", "guard"]
