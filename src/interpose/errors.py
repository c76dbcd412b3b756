"""Every error that Interpose raises. See `interpose help python`."""

from interpose.core.errors import *  # noqa: F403 - all of them, and nothing else
