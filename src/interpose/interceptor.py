"""What an interceptor is, and how one becomes a registration: class style and handler style, one machinery.

Class style returns a decision; it may look at the outcome afterwards:

    class NoSecrets:
        def intercept(self, call: ToolCall) -> Allow | Deny: ...
        def observe(self, call: ToolCall, outcome: ToolOutcome) -> None: ...   # optional

Handler style gets a read-only input and an output that it may change (points.py has one pair a hook point):

    def handler(input, output):
        output.args["timeout"] = 10
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from re import Pattern
from typing import Any, Protocol, TypeVar, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from interpose.driving import is_async, is_awaitable
from interpose.errors import name_of
from interpose.points import POINTS
from interpose.types import (
    Allow,
    Confirm,
    Decision,
    Deny,
    HookPoint,
    InterceptorKind,
    Mode,
    OnError,
    Report,
    Transform,
    Verdict,
)

In = TypeVar("In")
Consult = Callable[[Any], object]
"""Asks an interceptor: a decision, or an awaitable of one, or whatever a broken interceptor returns."""


@runtime_checkable
class Interceptor(Protocol[In]):
    """Looks at one input and decides. May have `observe(input, outcome)` too; both may be async."""

    def intercept(self, input: In, /) -> Decision[In] | Report[In] | Awaitable[Decision[In] | Report[In]]:
        """Allow, Transform(new), Confirm(message) or Deny(reason), or a Report of several."""


class Registration(Struct, frozen=True, kw_only=True):
    """One interceptor at one hook point."""

    id: str
    name: HookPoint | None = None
    """The hook point; None in a chain over types of one's own."""
    priority: int = 0
    tool_matcher: Pattern[str] | None = None
    agent_matcher: Pattern[str] | None = None
    timeout: float | None = None
    on_error: OnError = "deny"
    guard: bool = False
    mode: Mode = "enforce"
    kind: InterceptorKind = "guard"
    """What findings say of whoever speaks here."""
    handler: Any = None
    """What was registered: the handler function or the interceptor object."""
    consult: Consult
    look: Callable[[Any, Verdict[Any]], object]
    """Shows the final state to an observer."""
    observe: Callable[[Any, Any], object] | None = None
    standing: Any = None
    """Answers questions without a person: an object with `answer(request)`, of the same snapshot as those who ask."""
    inline: bool = True
    """Called directly: it has no deadline, or it is async and its deadline is kept by awaiting."""

    @property
    def is_observer(self) -> bool:
        """Observers run last, always, and change nothing."""
        return self.priority < 0


class Behaviour(Struct, frozen=True):
    """The callables of an interceptor, whichever style it was written in."""

    consult: Consult
    look: Callable[[Any, Verdict[Any]], object]
    observe: Callable[[Any, Any], object] | None = None
    is_async: bool = False


def class_style(interceptor: Any) -> Behaviour:
    """The behaviour of an object with `intercept`."""
    intercept = interceptor.intercept

    def look(payload: Any, _verdict: Verdict[Any]) -> object:
        return intercept(payload)

    return Behaviour(intercept, look, getattr(interceptor, "observe", None), is_async(intercept))


def handler_style(point: HookPoint, handler: Callable[[Any, Any], object]) -> Behaviour:
    """The behaviour of a function `handler(input, output)`."""
    spec = POINTS[point]
    make_input, make_output = spec.input, spec.output
    said = _Returned(handler)

    def consult(payload: Any) -> object:
        output = make_output(payload)
        answer = handler(make_input(payload), output)
        if answer is None:
            return output.decision()
        return _Late(answer, output, said) if is_awaitable(answer) else said(answer, output)

    def look(payload: Any, verdict: Verdict[Any]) -> object:
        output = make_output(payload)
        output.show(verdict)
        return handler(make_input(payload), output)

    return Behaviour(consult, look, is_async=is_async(handler))


class _Returned:
    """What a handler's return value means: a decision counts, anything else is ignored with one warning.

    INVARIANT: only the exact type is asked. What a handler left in its output counts all the same: the stricter wins.
    """

    def __init__(self, handler: Callable[..., object]) -> None:
        self._handler, self._warned = handler, False

    def __call__(self, answer: object, output: Any) -> object:
        if type(answer) in _STRICTNESS:
            left = output.decision()
            return answer if _STRICTNESS[type(answer)] >= _STRICTNESS[type(left)] else left
        if type(answer) is Report:
            left = output.decision()
            return answer if type(left) is Allow else replace(answer, decisions=(left, *answer.decisions))
        if answer is not None and not self._warned:
            self._warned = True
            import logging

            name = getattr(self._handler, "__qualname__", None) or name_of(self._handler)
            text = "%s returned %s, which is ignored: change `output`, or return Allow, Transform, Confirm or Deny"
            logging.getLogger("interpose").warning(text, name, name_of(answer))
        return output.decision()


_STRICTNESS: dict[type, int] = {Allow: 0, Transform: 1, Confirm: 2, Deny: 3}


class _Late:
    """What an async handler will have said. Can be closed unheard, as a coroutine can."""

    __slots__ = ("_answer", "_output", "_said")

    def __init__(self, answer: Any, output: Any, said: _Returned) -> None:
        self._answer, self._output, self._said = answer, output, said

    def __await__(self) -> Generator[Any, Any, object]:
        return self._said((yield from self._answer.__await__()), self._output)

    def close(self) -> None:
        self._answer.close()
