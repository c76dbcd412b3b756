"""Secrets in texts of your own. See `interpose help secrets`."""

from interpose.reading.secrets import Redactor

__all__ = ["Redactor"]
