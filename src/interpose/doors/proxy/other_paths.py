"""Answers at paths that nobody knows: they pass as they came, unless something in them looks like a call."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

import msgspec

from interpose.core.formats import strict_json
from interpose.core.formats.strict_json import StrictJsonError
from interpose.doors.proxy.call_smells import result_smell, smell_of
from interpose.doors.proxy.raw_events import DONE, RawEvents
from interpose.doors.proxy.wire_values import DoubtfulError

EVENTS = "text/event-stream"
_PASSING = ("image/", "audio/", "video/", "font/")
_BYTES = "application/octet-stream"
_FILES = frozenset({
    "application/pdf", "application/zip", "application/gzip", "application/x-tar",
})  # fmt: skip
_TEXTS = (
    "text/",
    "application/json",
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/xml",
)
_LETTERS = frozenset({"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1"})
BROUGHT = "it has something like a result of a tool, at a path where Interpose does not look at any"
REFUSED = "something like a call of a tool, at a path where Interpose does not judge any"


def passes_unseen(media_type: str) -> bool:
    """Whether an answer of this kind is a file: nobody runs what stands in one."""
    return media_type.startswith(_PASSING) or media_type in _FILES


def is_text(media_type: str) -> bool:
    """Whether an answer of this kind can be looked at."""
    return not media_type or media_type.startswith((*_TEXTS, _BYTES)) or media_type.endswith("+json")


def is_utf8(content_type: str) -> bool:
    """Whether every reader finds the letters that we find: some do what a `charset` says, and it may say UTF-7."""
    said = [word.strip().lower() for word in content_type.split(";")[1:]]
    return all(word.removeprefix("charset=").strip("\"' ") in _LETTERS for word in said if word.startswith("charset"))


def check_request(body: bytes, *, encoded: bool) -> None:
    """Raises DoubtfulError for a request that brings a result of a tool where nobody looks at any."""
    plain = body.strip()
    if encoded:
        raise DoubtfulError("its body is compressed. Send it as it is")
    for text in [plain] if _is_json(plain) else plain.splitlines():
        if (
            text.lstrip().startswith((b"{", b"["))
            and _is_json(text)
            and (found := result_smell(msgspec.json.decode(text)))
        ):
            raise DoubtfulError(f"{BROUGHT} ({found})")


def check_whole(body: bytes) -> None:
    """Raises DoubtfulError for an answer that has a call in it, as JSON or as lines of JSON."""
    for text in [body] if _is_json(body) else body.splitlines():
        _check(text.removeprefix(b"data:"))


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
