"""Strands Agents. See docs/frameworks/strands.md."""

from interpose.surfaces.frameworks.strands import InterposeAgentPlugin, guard

__all__ = ["InterposeAgentPlugin", "guard"]
