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

from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from re import Pattern
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from msgspec import Struct, field
from msgspec.structs import replace

from interpose.core.driving import is_async, is_awaitable
from interpose.core.errors import name_of
from interpose.core.late import late_logger
from interpose.core.points import POINTS
from interpose.core.types import (
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

log = late_logger("interpose")

In = TypeVar("In")
Consult = Callable[[Any], object]
"""Asks an interceptor: a decision, or an awaitable of one, or whatever a broken interceptor returns."""


@runtime_checkable
class Interceptor(Protocol[In]):
    """Looks at one input and decides. May have `observe(input, outcome)` too; both may be async."""

    def intercept(self, input: In, /) -> Decision[In] | Report[In] | Awaitable[Decision[In] | Report[In]]:
        """Allow, Transform(new), Confirm(message) or Deny(reason), or a Report of several."""


class RemarkOnce:
    """Something that is said in the log the first time it is true of an interceptor, and not again."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said = False

    def __call__(self, text: str, *about: object) -> None:
        """Say it, unless it was said."""
        if not self._said:
            self._said = True
            log.warning(text, *about)


def _unregistered(*_payload: object) -> object:
    raise TypeError("a registration that was written by hand runs once it was given to registry.add()")


class Registration(Struct, frozen=True, kw_only=True):
    """One interceptor at one hook point. Written by hand, `registry.add(Registration(...))` checks and completes it."""

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
    consult: Consult = _unregistered
    look: Callable[[Any, Verdict[Any]], object] = _unregistered
    """Shows the final state to an observer."""
    observe: Callable[[Any, Any], object] | None = None
    standing: Any = None
    """Answers questions without a person: an object with `answer(request)`, of the same snapshot as those who ask."""
    inline: bool = True
    """Called directly: it has no deadline, or it is async and its deadline is kept by awaiting."""
    only_watches: RemarkOnce = field(default_factory=RemarkOnce)
    """Said of an observer that answers as if it could decide."""

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
        answer = handler(make_input(payload), output)
        if is_awaitable(answer):
            return _Late(answer, output, seen)
        return seen(answer, output)

    return Behaviour(consult, look, is_async=is_async(handler))


def seen(answer: object, output: Any) -> object:
    """What an observer's handler would have decided, if it could."""
    return answer if type(answer) in _STRICTNESS else output.objection()


class _Returned:
    """What a handler's return value means: a decision counts. What only looks like one is an error (`_resembling`).
    Anything else is ignored with one warning.

    INVARIANT: only the exact type is asked. What a handler left in its output counts all the same: the stricter wins.
    """

    def __init__(self, handler: Callable[..., object]) -> None:
        self._handler, self._warn = handler, RemarkOnce()

    def __call__(self, answer: object, output: Any) -> object:
        if type(answer) in _STRICTNESS:
            left = output.decision()
            return answer if _STRICTNESS[type(answer)] >= _STRICTNESS[type(left)] else left
        if type(answer) is Report:
            left = output.decision()
            return answer if type(left) is Allow else replace(answer, decisions=(left, *answer.decisions))
        left = output.decision()
        if answer is None:
            return left
        if type(left) is not Deny and (shown := _resembling(answer)):
            raise TypeError(
                f"it returned {shown}, which decides nothing: set output.block = True and output.block_reason, change "
                "output, or return Allow(), Transform(...), Confirm(...) or Deny(...)"
            )
        name = getattr(self._handler, "__qualname__", None) or name_of(self._handler)
        text = "%s returned %s, which is ignored: change `output`, or return Allow, Transform, Confirm or Deny"
        self._warn(text, name, name_of(answer))
        return left


_STRICTNESS: dict[type, int] = {Allow: 0, Transform: 1, Confirm: 2, Deny: 3}
_DECISIONS = tuple(_STRICTNESS)


def _resembling(answer: object) -> str:
    """What was returned in the place of a decision, in words: `False`, an object such as `{"block": True}`, an
    exception, a decision in a list, a class (`return Deny`) or one of a class of its own. Empty if it says nothing."""
    kind = type(answer)
    if answer is False:
        return "False"
    if issubclass(kind, type):
        said = cast("type", answer)
        return f"the class {said.__name__}" if issubclass(said, (*_DECISIONS, BaseException)) else ""
    if issubclass(kind, (*_DECISIONS, BaseException)) or (issubclass(kind, Mapping) and answer):
        return f"a {name_of(answer)}"
    if issubclass(kind, list | tuple):
        several = cast("Iterable[object]", answer)
        return f"a {name_of(answer)} of decisions" if any(type(each) in _STRICTNESS for each in several) else ""
    return ""


class _Late:
    """What an async handler will have said. Can be closed unheard, as a coroutine can."""

    __slots__ = ("_answer", "_output", "_said")

    def __init__(self, answer: Any, output: Any, said: Callable[[object, Any], object]) -> None:
        self._answer, self._output, self._said = answer, output, said

    def __await__(self) -> Generator[Any, Any, object]:
        return self._said((yield from self._answer.__await__()), self._output)

    def close(self) -> None:
        self._answer.close()
