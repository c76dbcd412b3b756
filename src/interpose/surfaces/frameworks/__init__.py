"""Agent frameworks: a module for each, which only translates between its words and the one flow of hosted calls."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "claude_agent_sdk",
    "fastmcp",
    "langchain",
    "mcp_sdk",
    "openai_agents",
    "pydantic_ai",
    "smolagents",
]
