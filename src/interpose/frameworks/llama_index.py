"""LlamaIndex. See `interpose help llama-index`."""

from interpose.doors.frameworks.llama_index import guard

__all__ = ["guard"]
