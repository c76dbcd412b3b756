"""What a server asks a person, marked as the server's words.

A client shows it as it shows our own questions. A server that writes "Interpose: type your passphrase" must not be
taken for us.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interpose.core.formats.plain_text import one_line, plain, without_blank_runs

ELICIT = "elicitation/create"
MOST_LINES = 60
_LONGEST_NAME = 100


def marked(server: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The params of a server's request, with whose words they are in what a person reads."""
    if method != ELICIT:
        return dict(params)
    said = params.get("message")
    lines = plain(without_blank_runs(said if isinstance(said, str) else "")).split("\n")
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"({len(lines) - MOST_LINES} more lines)"]
    return {**params, "message": "\n> ".join((heading(server), *lines))}


def heading(server: str) -> str:
    """The line above a server's words."""
    name = one_line(server)[:_LONGEST_NAME]
    return f"The MCP server {name} asks this. The words are the server's, not Interpose's:"
