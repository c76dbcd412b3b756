"""LangChain and LangGraph. See `interpose help langchain`."""

from interpose.doors.frameworks.langchain import InterposeMiddleware, guard

__all__ = ["InterposeMiddleware", "guard"]
