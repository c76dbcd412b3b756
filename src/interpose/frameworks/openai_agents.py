"""OpenAI Agents SDK. See `interpose help openai-agents`."""

from interpose.doors.frameworks.openai_agents import guard, question

__all__ = ["guard", "question"]
