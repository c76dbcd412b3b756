"""Microsoft Agent Framework. See docs/frameworks/agent_framework.md."""

from interpose.surfaces.frameworks.agent_framework import METADATA, guard

__all__ = ["METADATA", "guard"]
