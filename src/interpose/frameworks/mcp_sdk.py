"""The official MCP Python SDK, for servers. See `interpose help mcp-sdk`."""

from interpose.doors.frameworks.mcp_sdk import InterposeServerMiddleware, guard

__all__ = ["InterposeServerMiddleware", "guard"]
