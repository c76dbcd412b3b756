"""The matching engine: RE2, which takes linear time on any text. The only module that knows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from interpose.reading.secrets.effort import MATCH, spend

_ROOM = 64 * 1024 * 1024
"""With less, the states of so many patterns are thrown away and built again, over and over."""

_MUCH = 64 * 1024
"""Letters of text from which on it pays to have all patterns in one."""
_LOOK = 512
"""As many letters as a look at even the shortest text counts for."""
_FEW = 24
"""Patterns that are compiled one by one rather than with all the others."""


@cache
def _re2() -> Any:
    """The package, loaded when the first pattern is made: a process that searches nothing need not wait for it."""
    import re2  # type: ignore[import-untyped]  # the package ships no types

    return re2


def _options(*, roomy: bool = False) -> Any:
    re2 = _re2()
    options = re2.Options()
    if roomy:
        options.max_mem = _ROOM
    options.encoding = re2.Options.Encoding.LATIN1  # bytes, whatever they mean
    options.log_errors = False
    return options


class PatternMatch:
    """One match. Groups are named; 0 is the whole of it."""

    __slots__ = ("_groups", "_match")

    def __init__(self, match: Any, groups: Mapping[str, int]) -> None:
        self._match, self._groups = match, groups

    def __getitem__(self, name: str) -> bytes:
        """What the group matched; empty if it took no part."""
        text: bytes | None = self._match.group(self._groups[name])
        return b"" if text is None else text

    def span(self, name: str = "") -> tuple[int, int]:
        """Where the group, or the whole match, begins and ends; (-1, -1) if it took no part."""
        start, end = self._match.span(self._groups[name] if name else 0)
        return start, end

    def text(self) -> bytes:
        """The whole match."""
        whole: bytes = self._match.group(0)
        return whole

    def which(self, names: Sequence[str]) -> str:
        """The first of these groups that took part."""
        return next(name for name in names if self.span(name)[0] >= 0)


class Pattern:
    """A pattern over bytes."""

    def __init__(self, pattern: str, *, roomy: bool = False) -> None:
        self._compiled = _re2().compile(pattern.encode("latin-1"), _options(roomy=roomy))
        self._groups = {name.decode(): index for name, index in self._compiled.groupindex.items()}

    def covers(self, data: bytes) -> bool:
        """Whether the pattern matches the whole of the data."""
        return self._compiled.fullmatch(data) is not None

    def occurs(self, data: bytes, start: int = 0, end: int | None = None) -> bool:
        """Whether the pattern matches anywhere."""
        return self._compiled.search(data, start, end) is not None

    def matches(self, data: bytes, start: int = 0, end: int | None = None) -> Iterator[PatternMatch]:
        """All matches, in order."""
        for match in self._compiled.finditer(data, start, end):
            spend(MATCH)
            yield PatternMatch(match, self._groups)

    def first(self, data: bytes, start: int) -> tuple[int, int] | None:
        """Where the first match from there on begins and ends, at no cost."""
        match = self._compiled.search(data, start)
        return None if match is None else match.span()

    def spans(self, data: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
        """Where matches begin and end. Whoever asks counts the work."""
        for match in self._compiled.finditer(data, start, end):
            yield match.span()

    def starts(self, data: bytes) -> Iterator[int]:
        """Where matches begin, at no cost: for patterns that were made for this text."""
        for match in self._compiled.finditer(data):
            yield match.start()

    def without(self, data: bytes) -> bytes:
        """The data without what matches."""
        rest: bytes = self._compiled.sub(b"", data)
        return rest


@cache
def pattern(text: str) -> Pattern:
    """The compiled pattern, made once."""
    return Pattern(text)


def escaped(text: bytes) -> str:
    """The pattern that matches this very text."""
    quoted: str = _re2().escape(text.decode("latin-1"))
    return quoted


class Gate:
    """Which of many patterns occur in a text, found in one pass over it.

    That needs all of them compiled into one, which takes longer than a short text is worth: until it was asked about
    much text, it looks for what each pattern needs, and only then for those patterns.
    """

    def __init__(self, patterns: Sequence[str], needed: Sequence[Sequence[bytes]]) -> None:
        """`needed` are texts in lower case for each pattern, of which one is in every match of it; none if that is
        not known."""
        self._patterns, self._needed = tuple(patterns), tuple(needed)
        self._set: Any = None
        self._seen = 0

    def hits(self, data: bytes) -> Sequence[int]:
        """The numbers of the patterns that occur, in the order of the patterns."""
        if self._set is None:
            self._seen += len(data) + _LOOK
            if self._seen <= _MUCH and len(maybe := self._possible(data)) <= _FEW:
                return [number for number in maybe if pattern(self._patterns[number]).occurs(data)]
            self._set = self._compiled()
        return sorted(self._set.Match(data) or ())

    def _possible(self, data: bytes) -> Sequence[int]:
        lower = data.lower()
        return [
            number for number, texts in enumerate(self._needed) if not texts or any(text in lower for text in texts)
        ]

    def _compiled(self) -> Any:
        made = _re2().Set.SearchSet(_options(roomy=True))
        for one in self._patterns:
            made.Add(one.encode("latin-1"))
        made.Compile()
        return made
