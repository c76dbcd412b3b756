"""Whether a call failed, and with what words: hosts say it in many ways.

An error is what the transport calls one. Of a shell it is a program that ended with another code than 0 and says in its
words that something went wrong: `grep` that finds nothing, `diff` that finds something, or what waits and says how far
it has come end so, too, and are results like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct

from interpose.core.types import ToolOutcome
from interpose.effects.late_patterns import late
from interpose.rules.governance.stalls.volatile_text import unnumbered

MOST_TEXT = 20_000
_MOST_LINES = 40
_LONGEST_LINE = 300
_MOST_TEXTS = 200
_ENOUGH_LETTERS = 16
"""An error of fewer letters says so little that the same one is another error of another call."""
_CODES = ("exit_code", "exitCode", "returncode", "exit")
_INSIDE = ("metadata", "shellExecution", "structuredContent")
_OUTPUT = ("output", "content", "text", "stdout")
_SAID_CODE = late(r"(?im)^.{0,40}exit(?:ed with)?[ _](?:code|status)[\"']?[:= ]{1,3}(-?[0-9]{1,9})>?[ ,.]{0,2}$")
"""A line in which a shell's host says how the program ended."""
_TELLING = late(
    r"(?i)error|fail|exception|assert|panic|fatal|traceback|cannot|can't|could not|unable|not found|no such|undefined|"
    r"unknown|invalid|unexpected|expected|missing|denied|refused|timed? ?out|conflict|unresolved|unrecogni|usage:|"
    r"fault|abort|crash|killed|core dumped|no space|permission|forbidden|unauthori|rejected|illegal|not a |must be"
)
_EMPTY = late(r"(?i)exit(?:ed with)?[ _](?:code|status)|command|failed|error|none|empty|process|signal|[^a-z]")


class SaidFailure(Struct, frozen=True):
    """What went wrong, in lines without numbers. `vague`: so few words that they could mean anything."""

    lines: tuple[str, ...]
    vague: bool


def failure_of(outcome: ToolOutcome) -> SaidFailure | None:
    """What went wrong; None if nothing did."""
    if not outcome.is_error and not _code(outcome.result, shell=outcome.call.name == "exec"):
        return None
    text = _shortened("\n".join(_texts(outcome.result)))
    shell = outcome.call.name == "exec"
    if shell:
        text = _SAID_CODE.sub("", text)
    lines = [unnumbered(line.strip()[:_LONGEST_LINE]) for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line)]
    if not telling and shell:
        return None
    telling = telling or lines
    kept = tuple(dict.fromkeys(telling))[:_MOST_LINES]
    letters = sum(len(_EMPTY.sub("", line)) for line in kept)
    return SaidFailure(kept, vague=letters < _ENOUGH_LETTERS)


def _code(result: object, *, shell: bool) -> int:
    """The code that a program ended with, where the result says it; 0 if it doesn't. Only shells say it in a text."""
    kind = type(result)
    if issubclass(kind, dict):
        fields = cast("dict[str, Any]", result)
        if fields.get("isError") is True or fields.get("success") is False:
            return 1
        for place in (fields, *(inner for name in _INSIDE if isinstance(inner := fields.get(name), dict))):
            if found := next((code for name in _CODES if type(code := place.get(name)) is int), 0):
                return found
        return next((_code(text, shell=shell) for name in _OUTPUT if type(text := fields.get(name)) is str), 0)
    if kind is str and shell:
        text = cast("str", result)
        said = _SAID_CODE.search(text[:500]) or _SAID_CODE.search(text[-300:])
        return int(said[1]) if said is not None else 0
    return 0


def _texts(value: object, depth: int = 8) -> Iterator[str]:
    """Every text in a result, the first ones."""
    left = [_MOST_TEXTS]

    def walk(value: object, depth: int) -> Iterator[str]:
        kind = type(value)
        if depth <= 0 or left[0] <= 0:
            return
        if kind is str:
            left[0] -= 1
            yield cast("str", value)
        elif issubclass(kind, dict):
            for item in cast("dict[Any, Any]", value).values():
                yield from walk(item, depth - 1)
        elif issubclass(kind, list | tuple):
            for item in cast("list[Any]", value)[:_MOST_TEXTS]:
                yield from walk(item, depth - 1)

    yield from walk(value, depth)


def _shortened(text: str) -> str:
    """The beginning and the end of a long text: what went wrong stands in one of them."""
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT // 2]}\n{text[-MOST_TEXT // 2 :]}"
