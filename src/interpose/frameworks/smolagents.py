"""smolagents, tool-calling agents and code agents. See `interpose help smolagents`."""

from interpose.doors.frameworks.smolagents import guard

__all__ = ["guard"]
