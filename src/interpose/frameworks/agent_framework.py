"""Microsoft Agent Framework. See `interpose help agent-framework`."""

from interpose.surfaces.frameworks.agent_framework import METADATA, guard

__all__ = ["METADATA", "guard"]
