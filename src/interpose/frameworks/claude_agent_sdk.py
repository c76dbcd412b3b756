"""Claude Agent SDK. See docs/frameworks/claude_agent_sdk.md."""

from interpose.surfaces.frameworks.claude_agent_sdk import guard

__all__ = ["guard"]
