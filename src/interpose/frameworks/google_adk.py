"""Google ADK. See `interpose help google-adk`."""

from interpose.doors.frameworks.google_adk import PAYLOAD, InterposePlugin, guard

__all__ = ["PAYLOAD", "InterposePlugin", "guard"]
