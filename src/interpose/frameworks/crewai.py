"""CrewAI. See `interpose help crewai`."""

from interpose.surfaces.frameworks.crewai import InterposeHooks, guard

__all__ = ["InterposeHooks", "guard"]
