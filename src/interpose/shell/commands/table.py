"""The table of command handlers, and the decorator that fills it."""

from __future__ import annotations

from collections.abc import Callable

from interpose.shell.model import Invocation, Lowering

Handler = Callable[[Invocation, Lowering], None]

HANDLERS: dict[str, Handler] = {}


def command(*names: str) -> Callable[[Handler], Handler]:
    """Register a handler for these command names. A name belongs to one handler."""

    def register(handler: Handler) -> Handler:
        for name in names:
            if name in HANDLERS:
                raise ValueError(f"two handlers for the command {name!r}")
            HANDLERS[name] = handler
        return handler

    return register
