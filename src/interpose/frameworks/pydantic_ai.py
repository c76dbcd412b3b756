"""Pydantic AI. See docs/frameworks/pydantic_ai.md."""

from interpose.surfaces.frameworks.pydantic_ai import METADATA, InterposeCapability, guard

__all__ = ["METADATA", "InterposeCapability", "guard"]
