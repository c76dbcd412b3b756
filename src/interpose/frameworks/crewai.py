"""CrewAI. See docs/frameworks/crewai.md."""

from interpose.surfaces.frameworks.crewai import InterposeHooks, guard

__all__ = ["InterposeHooks", "guard"]
