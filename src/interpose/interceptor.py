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

from interpose.driving import is_awaitable
from interpose.points import POINTS
from interpose.types import Decision, HookPoint, InterceptorKind, Mode, OnError, Report, Verdict

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

    return Behaviour(intercept, look, getattr(interceptor, "observe", None), _is_async(intercept))


def handler_style(point: HookPoint, handler: Callable[[Any, Any], object]) -> Behaviour:
    """The behaviour of a function `handler(input, output)`."""
    spec = POINTS[point]
    make_input, make_output = spec.input, spec.output

    def consult(payload: Any) -> object:
        output = make_output(payload)
        answer = handler(make_input(payload), output)
        if answer is None:
            return output.decision()
        return _finish(answer, output)

    def look(payload: Any, verdict: Verdict[Any]) -> object:
        output = make_output(payload)
        output.show(verdict)
        return handler(make_input(payload), output)

    return Behaviour(consult, look, is_async=_is_async(handler))


_CO_COROUTINE = 0x80  # inspect.CO_COROUTINE, without importing inspect


def _is_async(function: object) -> bool:
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return bool(code is not None and code.co_flags & _CO_COROUTINE)


def _finish(answer: object, output: Any) -> object:
    """A handler may be async, and may return a decision instead of changing its output. Anything else is malformed."""
    return _Late(answer, output) if is_awaitable(answer) else answer


class _Late:
    """What an async handler will have said. Can be closed unheard, as a coroutine can."""

    __slots__ = ("_answer", "_output")

    def __init__(self, answer: Any, output: Any) -> None:
        self._answer, self._output = answer, output

    def __await__(self) -> Generator[Any, Any, object]:
        late = yield from self._answer.__await__()
        return self._output.decision() if late is None else late

    def close(self) -> None:
        self._answer.close()
