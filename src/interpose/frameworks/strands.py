"""Strands Agents. See `interpose help strands`."""

from interpose.surfaces.frameworks.strands import InterposeAgentPlugin, guard

__all__ = ["InterposeAgentPlugin", "guard"]
