"""Routes for what people do: method, path, role and summary are those of the table of operations."""

from __future__ import annotations

from typing import Any

from interpose.doors.http_server.messages import Handler, Route
from interpose.effects.ourselves.operations import BY_ID


def served(operation: str, handler: Handler, **described: Any) -> Route:
    """The route of an operation. `described` is what the API document says besides: bodies, answers, error codes."""
    row = BY_ID[operation]
    return Route(row.method, row.path, handler, row.role, row.help, **described)
