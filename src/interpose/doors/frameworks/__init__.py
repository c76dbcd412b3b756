"""Agent frameworks: a module for each, which only translates between its words and the one flow of hosted calls."""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = [
    "ag2",
    "agent_framework",
    "claude_agent_sdk",
    "crewai",
    "fastmcp",
    "google_adk",
    "langchain",
    "llama_index",
    "mcp_sdk",
    "openai_agents",
    "pydantic_ai",
    "smolagents",
    "strands",
]
