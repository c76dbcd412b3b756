"""Pydantic AI. See `interpose help pydantic-ai`."""

from interpose.doors.frameworks.pydantic_ai import METADATA, InterposeCapability, guard

__all__ = ["METADATA", "InterposeCapability", "guard"]
