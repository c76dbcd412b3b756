"""OpenAI Agents SDK. See docs/frameworks/openai_agents.md."""

from interpose.surfaces.frameworks.openai_agents import guard, question

__all__ = ["guard", "question"]
