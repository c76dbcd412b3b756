"""The smallest change that would make a call allowed. The engine was asked about every suggestion, and allows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations

from msgspec import Struct

from interpose.core.types import ToolCall
from interpose.effects.shell import analyse

Allowed = Callable[[ToolCall], bool]

MAX_TEXT = 4_000
MAX_ATTEMPTS = 150
MAX_SUGGESTIONS = 3

_TOKEN = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""", re.DOTALL)
_BETWEEN = re.compile(r"&&|\|\||;|\||&|\n")
_BUNDLE = re.compile(r"-[A-Za-z]{2,6}")


class AllowedChange(Struct, frozen=True):
    """A call that would be allowed, and how it differs."""

    command: str
    how: str


def smallest_changes(call: ToolCall, command: str, advice: str, allowed: Allowed) -> list[AllowedChange]:
    """The smallest changes to a command that the engine allows, the least first: advice, flags, parts."""
    found: list[AllowedChange] = []
    size = 0
    for attempts, (cost, change) in enumerate(_candidates(command, advice)):
        if attempts >= MAX_ATTEMPTS or len(found) >= MAX_SUGGESTIONS or (found and cost > size):
            break
        if all(change.command != other.command for other in found) and allowed(_with(call, change.command)):
            found.append(change)
            size = cost
    return found


def commands_in(advice: str) -> list[str]:
    """The commands that an advice in words names, between backticks."""
    return re.findall(r"`([^`]+)`", advice)


def allowed_advice(call: ToolCall, advice: str, allowed: Allowed) -> str:
    """The advice, if the engine allows every command that it names."""
    return advice if all(allowed(_with(call, command)) for command in commands_in(advice)) else ""


def _with(call: ToolCall, command: str) -> ToolCall:
    return call.with_arguments({**call.arguments, "command": command})


def _candidates(command: str, advice: str) -> Iterator[tuple[int, AllowedChange]]:
    if len(command) > MAX_TEXT:
        return
    if advice and advice != command and _same_programs(command, advice):
        yield 1, AllowedChange(advice, "as the guard advises")
    words = list(_TOKEN.finditer(command))
    for word in words:
        yield from ((1, change) for change in _lighter(command, word))
    flags = [word for word in words if word[0].startswith("-") and word[0] not in ("-", "--")]
    for word in flags:
        yield 1, _without(command, [word])
    for pair in combinations(flags, 2):
        yield 2, _without(command, list(pair))
    yield from ((3, change) for change in _parts(command))


def _same_programs(command: str, advice: str) -> bool:
    """Advice that runs something else is advice, but no smaller form of this call."""
    ours, theirs = (sorted(ran.name for ran in analyse(text).commands) for text in (command, advice))
    return bool(theirs) and theirs == ours


def _without(command: str, words: list[re.Match[str]]) -> AllowedChange:
    text = command
    for word in sorted(words, key=lambda word: -word.start()):
        start = word.start()
        while start and text[start - 1] in " \t":
            start -= 1
        text = text[:start] + text[word.end() :]
    return AllowedChange(text.strip(), f"without {' and '.join(word[0] for word in words)}")


def _lighter(command: str, word: re.Match[str]) -> Iterator[AllowedChange]:
    """`-rf` without one of its letters, `+main` without its plus."""
    text = word[0]
    if text.startswith("+") and len(text) > 1:
        yield AllowedChange(
            command[: word.start()] + text[1:] + command[word.end() :], "without the + before the branch"
        )
    if _BUNDLE.fullmatch(text):
        for letter in dict.fromkeys(text[1:]):
            less = text.replace(letter, "")
            if less != "-":
                yield AllowedChange(command[: word.start()] + less + command[word.end() :], f"without -{letter}")


def _parts(command: str) -> Iterator[AllowedChange]:
    """The command without one of the commands that it is made of, as the analysis sees them."""
    tops = [ran for ran in analyse(command).commands if not ran.via]
    spans = sorted({ran.span for ran in tops})
    if len(spans) < 2:
        return
    for start, end in spans:
        before, after = command[:start].rstrip(), command[end:].lstrip()
        opening, closing = _BETWEEN.match(after), re.search(r"(?:&&|\|\||;|\||&|\n)$", before)
        if opening is not None and opening[0] == "|":
            continue  # what comes after a pipe reads from it
        if opening is not None:
            after = after[opening.end() :].lstrip()
        elif closing is not None:
            before = before[: closing.start()].rstrip()
        left = f"{before} {after}".strip()
        if left:
            yield AllowedChange(left, f"without `{command[start:end]}`")
