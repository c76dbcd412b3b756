"""FastMCP. See docs/frameworks/fastmcp.md."""

from interpose.surfaces.frameworks.fastmcp import InterposeFastMCPMiddleware, guard

__all__ = ["InterposeFastMCPMiddleware", "guard"]
