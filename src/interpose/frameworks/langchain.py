"""LangChain and LangGraph. See docs/frameworks/langchain.md."""

from interpose.surfaces.frameworks.langchain import InterposeMiddleware, guard

__all__ = ["InterposeMiddleware", "guard"]
