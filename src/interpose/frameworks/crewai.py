"""CrewAI. See `interpose help crewai`."""

from interpose.doors.frameworks.crewai import InterposeHooks, guard

__all__ = ["InterposeHooks", "guard"]
