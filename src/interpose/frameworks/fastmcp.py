"""FastMCP. See `interpose help fastmcp`."""

from interpose.surfaces.frameworks.fastmcp import InterposeFastMCPMiddleware, guard

__all__ = ["InterposeFastMCPMiddleware", "guard"]
