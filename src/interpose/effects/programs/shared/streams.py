"""What flows into a command, its files and its standard input as one stream, and out of it into a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from interpose.effects.invocation import EMPTY_STREAM, UNKNOWN, Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.options import Options
from interpose.effects.streams import joined

MAX_TEXT = 64 * 1024
"""Text that grew longer than this is no longer followed: computing on it must stay cheap."""

INFORM = ("--help", "--version")

TERMINAL = Stream(taints=frozenset({"input"}))


def informs(opts: Options) -> bool:
    """Whether the command only prints its help or version."""
    return opts.has(*INFORM)


def says_nothing(opts: Options, low: Lowering) -> None:
    """The command prints nothing, unless it was told to say what it does."""
    if not opts.has("-v", "--verbose", "-c", "--changes"):
        low.output(EMPTY_STREAM)


def standard_input(inv: Invocation) -> Stream:
    """What the command finds on its standard input."""
    return TERMINAL if inv.stdin is None else inv.stdin


def inputs(inv: Invocation, files: Iterable[Word], low: Lowering, **details: Any) -> Stream:
    """The content of `files`, or standard input when there are none. `-` is standard input among files."""
    words = tuple(files)
    if not words:
        return standard_input(inv)
    return joined(_input(inv, word, low, details) for word in words)


def _input(inv: Invocation, word: Word, low: Lowering, details: dict[str, Any]) -> Stream:
    if word.text == "-":
        return standard_input(inv)
    return EMPTY_STREAM if word.text == "/dev/null" else low.read(word, **details)


def mapped(stream: Stream, change: Callable[[str], str | None], *taints: str) -> Stream:
    """What comes out when `change` is applied to the text. `taints` say what an unknown result is, besides."""
    text = None if stream.text is None or UNKNOWN in stream.text else change(stream.text)
    if text is None or len(text) > MAX_TEXT:
        return Stream(None, stream.taints | frozenset(taints))
    return Stream(text, stream.taints)


def written(word: Word | None, low: Lowering, content: Stream | None = None) -> bool:
    """Write the file an option names (`-o file`), unless it is standard output. Whether there was one."""
    if word is None or word.text in ("-", "/dev/stdout"):
        return False
    low.write(word, content)
    return True
