"""smolagents, tool-calling agents and code agents. See docs/frameworks/smolagents.md."""

from interpose.surfaces.frameworks.smolagents import guard

__all__ = ["guard"]
