"""The table of command handlers, and the decorator that fills it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from interpose.effects.invocation import Invocation, Lowering

Handler = Callable[[Invocation, Lowering], None]

HANDLERS: dict[str, Handler] = {}
"""Every command that has a handler. To run one, ask `handler_of`: its family may not be imported yet."""
BESIDE: dict[str, Handler] = {}
"""What is to be said of a command besides what its own handler says."""
CATEGORIES: dict[str, str] = {}
"""What governance calls the work of a command, for those that are described as data."""
_COMPLETE: dict[str, Handler] = {}
_LATER: dict[str, tuple[str, Callable[[str], object]]] = {}
"""Commands whose handler is not imported yet, the family that brings it, and how that is imported."""


def command(*names: str) -> Callable[[Handler], Handler]:
    """Register a handler for these command names. A name belongs to one handler."""

    def register(handler: Handler) -> Handler:
        for name in names:
            if name in HANDLERS and name not in _LATER:
                raise ValueError(f"two handlers for the command {name!r}")
            HANDLERS[name] = handler
            _LATER.pop(name, None)
        return handler

    return register


def import_later(name: str, family: str, bring: Callable[[str], object] = import_module) -> None:
    """Let `family` be imported when its command `name` is met."""
    if name not in HANDLERS:
        HANDLERS[name] = _not_imported
        _LATER[name] = family, bring


def handler_of(name: str) -> Handler | None:
    """The handler of a command. Raises ImportError if its family is broken: that is our fault, not the command's."""
    if name in _LATER:
        _import(name, *_LATER[name])
    own = HANDLERS.get(name)
    beside = BESIDE.get(name)
    if own is None or beside is None:
        return own  # a command without a handler is `general`'s, and so is what stands beside it
    found = _COMPLETE.get(name)
    if found is None:
        found = _COMPLETE[name] = _both(own, beside)
    return found


def _both(own: Handler, beside: Handler) -> Handler:
    def run(inv: Invocation, low: Lowering) -> None:
        own(inv, low)
        beside(inv, low)

    run.__module__ = own.__module__
    return run


def _import(name: str, family: str, bring: Callable[[str], object]) -> None:
    try:
        bring(family)
    except Exception as error:
        raise ImportError(f"{family} cannot be imported: {error}") from error
    if name in _LATER:
        raise ImportError(f"{family} has no handler for the command {name!r}")


def _not_imported(inv: Invocation, _: Lowering) -> None:
    raise ImportError(f"the handler of {inv.name!r} is not imported")
