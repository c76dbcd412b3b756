"""LlamaIndex. See docs/frameworks/llama_index.md."""

from interpose.surfaces.frameworks.llama_index import guard

__all__ = ["guard"]
