"""What dialects and the gate say to each other: calls that were found in an answer, and what becomes of each.

A dialect knows how an API writes things and decides nothing. It hands out bytes that may pass, and calls with a
function that writes what becomes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from interpose.core.formats import strict_json
from interpose.core.formats.strict_json import StrictJsonError
from interpose.doors.proxy.raw_events import RawEvent

MOST_CALLS = 128
"""Calls in one answer. Each is judged, and recorded."""
LONGEST_NAME = 512
UNREADABLE = "unreadable"
"""The argument under which the record has what is no object of arguments."""
_SHOWN = 4000

CallShape = Literal["object", "text", "fixed"]
"""How arguments are written: as an object, as one text (`input`), or in a form of their own, never written anew."""


class FoundCall(Struct, frozen=True, kw_only=True):
    """A call in an answer. `key` is the model's own name for it, and may be empty."""

    key: str
    tool: str
    arguments: dict[str, Any]
    shape: CallShape = "object"
    wrong: str = ""
    """Why it can't be passed on, whatever it would do."""

    def misfit(self, arguments: dict[str, Any]) -> str:
        """Why rewritten arguments can't be written in its form; empty if they can."""
        match self.shape:
            case "object":
                return ""
            case "text":
                text = arguments.keys() == {"input"} and isinstance(arguments["input"], str)
                return "" if text else "a tool that takes free text takes nothing else"
            case "fixed":
                return "a call of this kind is not written anew"


class PassedCall(Struct, frozen=True):
    """It goes on as it came."""


class ChangedCall(Struct, frozen=True):
    """It goes on with these arguments."""

    arguments: dict[str, Any]


class TextInstead(Struct, frozen=True):
    """A text takes its place."""

    text: str


Ruling = PassedCall | ChangedCall | TextInstead
PASSED = PassedCall()


class CallsToJudge(Struct, frozen=True):
    """Calls that wait. `written` is given one ruling for each, and writes what takes the place of all that was held."""

    calls: tuple[FoundCall, ...]
    written: Callable[[Sequence[Ruling]], Iterable[bytes]]


StreamStep = bytes | CallsToJudge


class AnswerStream(Protocol):
    """A streamed answer of one dialect. Each method raises DoubtfulError for what can't be passed on.

    INVARIANT: the steps of an event are taken one by one, and what is written for calls is written before the next:
    what follows depends on it.
    """

    def event(self, event: RawEvent, /) -> Iterator[StreamStep]:
        """One event of the model's server."""
        ...

    def end(self) -> Iterator[StreamStep]:
        """No more events come, and that is how it should be."""
        ...

    def broken(self, why: str, /) -> bytes:
        """An error, as this API says one in the middle of a stream."""
        ...

    @property
    def waiting(self) -> bytes:
        """What keeps a client patient while a person is asked; empty if the API has nothing."""
        ...


class JudgedAnswer(Struct, frozen=True):
    """A whole answer. `written` is given one ruling for each call, and says the answer that takes its place."""

    calls: tuple[FoundCall, ...]
    written: Callable[[Sequence[Ruling]], Any]


def object_call(key: object, tool: object, arguments: object, *, wrong: str = "") -> FoundCall:
    """A call whose arguments are an object. What is none is still a call, and refused."""
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        arguments, wrong = {UNREADABLE: str(arguments)[:_SHOWN]}, wrong or "its arguments are no object"
    return _call(key, tool, arguments, "object", wrong)


def json_call(key: object, tool: object, arguments: object, *, wrong: str = "") -> FoundCall:
    """A call whose arguments are an object written as JSON. Some models write nothing where there are none."""
    if not isinstance(arguments, str):
        return _call(key, tool, {}, "object", wrong or "its arguments are no text")
    if not arguments.strip():
        return _call(key, tool, {}, "object", wrong)
    try:
        value = strict_json.decode(arguments.encode())
    except (StrictJsonError, UnicodeEncodeError) as error:
        why = f"its arguments can't be read without doubt: {error}"
        return _call(key, tool, {UNREADABLE: arguments[:_SHOWN]}, "object", wrong or why)
    return object_call(key, tool, value, wrong=wrong)


def text_call(key: object, tool: object, text: object, *, wrong: str = "") -> FoundCall:
    """A call of a tool that takes free text."""
    if not isinstance(text, str):
        text, wrong = "", wrong or "its input is no text"
    return _call(key, tool, {"input": text}, "text", wrong)


def fixed_call(key: object, tool: object, arguments: dict[str, Any], *, wrong: str = "") -> FoundCall:
    """A call that an API writes in a form of its own."""
    return _call(key, tool, arguments, "fixed", wrong)


def unknown_call(kind: object, value: dict[str, Any]) -> FoundCall:
    """Something that could be a call and that nobody knows."""
    name = kind[:60] if isinstance(kind, str) else "nameless"
    wrong = f"nobody here knows what {name!r} would do"
    return _call("", f"unknown:{name}", {UNREADABLE: str(value)[:_SHOWN]}, "fixed", wrong)


def _call(key: object, tool: object, arguments: dict[str, Any], shape: CallShape, wrong: str) -> FoundCall:
    if not isinstance(tool, str) or not tool.strip() or len(tool) > LONGEST_NAME:
        tool, wrong = "nameless", wrong or "it names no tool"
    if not isinstance(key, str) or len(key) > LONGEST_NAME:
        key = ""
    return FoundCall(key=key, tool=tool, arguments=arguments, shape=shape, wrong=wrong)
