"""LlamaIndex. See `interpose help llama-index`."""

from interpose.surfaces.frameworks.llama_index import guard

__all__ = ["guard"]
