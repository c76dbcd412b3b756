"""Putting together what several commands print."""

from __future__ import annotations

from collections.abc import Iterable

from interpose.effects.invocation import EMPTY_STREAM, UNKNOWN, Stream

_MAX_TEXT = 131_072


def joined(streams: Iterable[Stream]) -> Stream:
    """One after the other. Unknown text stands as UNKNOWN between what is known."""
    taints: frozenset[str] = frozenset()
    pieces: list[str] = []
    size = 0
    known = False
    for stream in streams:
        taints |= stream.taints
        text = UNKNOWN if stream.text is None else stream.text
        known = known or stream.text is not None
        size += len(text)
        pieces.append(text)
    if not pieces:
        return EMPTY_STREAM
    if not known or size > _MAX_TEXT:
        return Stream(None, taints)
    return Stream("".join(pieces), taints)


def either(streams: list[Stream]) -> Stream:
    """One of these, not known which."""
    first = streams[0]
    if all(stream == first for stream in streams):
        return first
    return Stream(None, frozenset().union(*(stream.taints for stream in streams)))
