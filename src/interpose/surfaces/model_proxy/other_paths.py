"""Answers at paths that nobody knows: they pass as they came, unless something in them looks like a call."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

import msgspec

from interpose.formats import strict_json
from interpose.formats.strict_json import StrictJsonError
from interpose.surfaces.model_proxy.call_smells import smell_of
from interpose.surfaces.model_proxy.raw_events import DONE, RawEvents
from interpose.surfaces.model_proxy.wire_values import DoubtfulError

EVENTS = "text/event-stream"
_PASSING = ("image/", "audio/", "video/", "font/")
_FILES = frozenset({
    "application/octet-stream", "application/pdf", "application/zip", "application/gzip", "application/x-tar",
})  # fmt: skip
_TEXTS = (
    "text/",
    "application/json",
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/xml",
)
REFUSED = "something like a call of a tool, at a path where Interpose does not judge any"


def passes_unseen(media_type: str) -> bool:
    """Whether an answer of this kind is a file: nobody runs what stands in one."""
    return media_type.startswith(_PASSING) or media_type in _FILES


def is_text(media_type: str) -> bool:
    """Whether an answer of this kind can be looked at."""
    return not media_type or media_type.startswith(_TEXTS) or media_type.endswith("+json")


def check_whole(body: bytes) -> None:
    """Raises DoubtfulError for an answer that has a call in it, as JSON or as lines of JSON."""
    for text in [body] if _is_json(body) else body.splitlines():
        _check(text)


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _check(text: bytes) -> None:
    plain = text.strip()
    if not plain.startswith((b"{", b"[")) or plain == DONE:
        return
    try:
        value = strict_json.decode(plain)
    except StrictJsonError:
        if _is_json(plain):
            raise DoubtfulError("it can be read in two ways") from None
        return
    if found := smell_of(value):
        raise DoubtfulError(f"{REFUSED} ({found})")


async def checked_events(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """A stream of events as it came, up to the first that has a call in it: there it breaks off (DoubtfulError)."""
    events = RawEvents()
    async for piece in pieces:
        for event in events.feed(piece):
            if event.data is not None:
                _check(event.data)
            yield event.raw
    if (last := events.finish()) is not None:
        if last.data is not None:
            _check(last.data)
        yield last.raw
