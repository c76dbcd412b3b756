"""Strands Agents. See `interpose help strands`."""

from interpose.doors.frameworks.strands import InterposeAgentPlugin, guard

__all__ = ["InterposeAgentPlugin", "guard"]
