"""The official MCP Python SDK, for servers. See docs/frameworks/mcp_sdk.md."""

from interpose.surfaces.frameworks.mcp_sdk import InterposeServerMiddleware, guard

__all__ = ["InterposeServerMiddleware", "guard"]
