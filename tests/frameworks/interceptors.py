"""Interceptors whose word a behaviour chooses, and engines of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from interpose import Engine, HookPoint, create_interceptor_registry
from interpose.core.types import Allow, Confirm, Deny, Message, ToolCall, ToolOutcome, Transform

SECRET, HIDDEN = "s3cr3t-of-the-tool", "[hidden]"
REASON, RULE = "This is not for you", "no-such-notes"
QUESTION = "Really take this note?"
SAFE = "a safe note"
INSTEAD = "nothing to see"
OTHER_WORDS = "take other notes"

Says = Callable[[Any], Any]


class Saying:
    """Says what it is told to say, and remembers whom it was asked about."""

    def __init__(self, says: Says) -> None:
        self._says = says
        self.heard: list[Any] = []

    def intercept(self, payload: Any) -> Any:
        self.heard.append(payload)
        return self._says(payload)


class Hanging:
    """Never answers, unless it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def intercept(self, _payload: Any) -> Allow:
        self.go.wait(60)
        return Allow()


class HangingAsync:
    """The same for a loop."""

    async def intercept(self, _payload: Any) -> Allow:
        await asyncio.Event().wait()
        return Allow()


def engine_of(
    *, before: Any = None, after: Any = None, message: Any = None, timeout: float | None = None, **options: Any
) -> Engine:
    """An engine with these interceptors and no others."""
    registry = create_interceptor_registry()
    for point, one in (
        (HookPoint.TOOL_BEFORE, before),
        (HookPoint.TOOL_AFTER, after),
        (HookPoint.MESSAGE_BEFORE, message),
    ):
        if one is not None:
            registry.add(id=f"test:{point}", name=point, interceptor=one, timeout=timeout)
    return Engine(registry, **options)


def by_text(call: ToolCall) -> Any:
    """A decision for each kind of note."""
    text = str(call.arguments.get("text", ""))
    if text.startswith("bad"):
        return Deny(f"{REASON}: {text}", rule=RULE)
    if text.startswith("ask"):
        return Confirm(QUESTION, rule=RULE)
    if text.startswith("change"):
        return Transform(call.with_arguments({"text": f"{SAFE}, not {text}"}))
    return Allow()


def hiding(outcome: ToolOutcome) -> Any:
    """Hide the secret wherever it stands in a result."""
    return Transform(replace(outcome, result=hidden(outcome.result)))


def hidden(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(SECRET, HIDDEN)
    if isinstance(value, dict):
        return {key: hidden(item) for key, item in value.items()}
    return [hidden(item) for item in value] if isinstance(value, list | tuple) else value


def replacing(outcome: ToolOutcome) -> Any:
    return Transform(replace(outcome, result=INSTEAD))


def withholding(_outcome: ToolOutcome) -> Any:
    return Deny(REASON, rule=RULE)


def rewording(message: Message) -> Any:
    return Transform(replace(message, text=OTHER_WORDS))


def raising(_payload: Any) -> Any:
    raise RuntimeError("the interceptor broke")


def garbage(_payload: Any) -> Any:
    return 42
