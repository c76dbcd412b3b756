"""FastMCP. See `interpose help fastmcp`."""

from interpose.doors.frameworks.fastmcp import InterposeFastMCPMiddleware, guard

__all__ = ["InterposeFastMCPMiddleware", "guard"]
