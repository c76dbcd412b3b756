"""Google ADK. See docs/frameworks/google_adk.md."""

from interpose.surfaces.frameworks.google_adk import PAYLOAD, InterposePlugin, guard

__all__ = ["PAYLOAD", "InterposePlugin", "guard"]
