"""Claude Agent SDK. See `interpose help claude-agent-sdk`."""

from interpose.doors.frameworks.claude_agent_sdk import guard

__all__ = ["guard"]
