"""Microsoft Agent Framework. See `interpose help agent-framework`."""

from interpose.doors.frameworks.agent_framework import METADATA, guard

__all__ = ["METADATA", "guard"]
