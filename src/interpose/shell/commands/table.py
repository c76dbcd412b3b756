"""The table of command handlers, and the decorator that fills it."""

from __future__ import annotations

from collections.abc import Callable

from interpose.shell.model import Invocation, Lowering

Handler = Callable[[Invocation, Lowering], None]

HANDLERS: dict[str, Handler] = {}
_STAND_INS: set[str] = set()
"""Names whose handler is not imported yet."""


def command(*names: str) -> Callable[[Handler], Handler]:
    """Register a handler for these command names. A name belongs to one handler."""

    def register(handler: Handler) -> Handler:
        for name in names:
            if name in HANDLERS and name not in _STAND_INS:
                raise ValueError(f"two handlers for the command {name!r}")
            HANDLERS[name] = handler
            _STAND_INS.discard(name)
        return handler

    return register


def stand_in(name: str, handler: Handler) -> None:
    """Let this handler do until the real one registers."""
    if name not in HANDLERS:
        HANDLERS[name] = handler
        _STAND_INS.add(name)
