"""A journal's file, byte by byte: a line that says whose it is, then frames.

A frame is its length in four bytes and an entry in MessagePack. What a crash left half written ends a file: it was
never acknowledged, and is `torn`. Anything else that is no entry is a flaw: it is named, and reading goes on behind it.
"""

from __future__ import annotations

from msgspec import MsgspecError, Struct
from msgspec.msgpack import Decoder, Encoder

from interpose.record.ledger.chain import flaw
from interpose.record.store.protocols import StoredEntry

_MAGIC = b"interpose journal 1 "
_LENGTH = 4
_BEFORE_WRITER = _LENGTH + 3
"""Bytes of a frame before its writer's name: the length, and the mark of a MessagePack array."""

_encode = Encoder().encode
_decode = Decoder(StoredEntry).decode


class FileFlaw(Struct, frozen=True):
    """Bytes of a file that are no entry, and where they stand."""

    at: int
    why: str


class FileContent(Struct, frozen=True):
    """The whole entries of a file, what is wrong with it, and how many bytes at its end a crash left half written."""

    entries: list[StoredEntry]
    flaws: list[FileFlaw]
    torn_bytes: int


def header(writer: str) -> bytes:
    """What a file begins with."""
    return _MAGIC + writer.encode() + b"\n"


def frame(entry: StoredEntry) -> bytes:
    """An entry as it stands in a file."""
    data = _encode(entry)
    return len(data).to_bytes(_LENGTH, "big") + data


def read_file(data: bytes, writer: str) -> FileContent:
    """Everything that can be read of a writer's file. Files of before had no header."""
    start = header(writer)
    at = len(start) if data.startswith(start) else 0
    entries: list[StoredEntry] = []
    flaws: list[FileFlaw] = []
    while at < len(data):
        end = at + _LENGTH + int.from_bytes(data[at : at + _LENGTH], "big")
        entry = _whole(data[at + _LENGTH : end], writer) if end <= len(data) else None
        if entry is None:
            following = _next_frame(data, at + 1, writer)
            if following < 0 and _is_torn(data, at, end, writer, start):
                return FileContent(entries, flaws, len(data) - at)
            end = following if following >= 0 else len(data)
            flaws.append(FileFlaw(at, f"{end - at} bytes are no entry"))
            entry = _whole(data[at + _LENGTH : end], writer)  # only its length may be wrong
        if entry is not None:
            entries.append(entry)
        at = end
    return FileContent(entries, flaws, 0)


def _whole(data: bytes, writer: str) -> StoredEntry | None:
    """The entry that these bytes are. INVARIANT: its own hash says that it is as it was written."""
    try:
        entry = _decode(data)
    except (MsgspecError, UnicodeError, ValueError):  # a damaged text is no MsgspecError
        return None
    # A position is the store's to give: in a journal it is 0, and the hash does not cover it.
    return None if entry.position or flaw(entry, writer, entry.seq, entry.prev) else entry


def _next_frame(data: bytes, start: int, writer: str) -> int:
    """Where the next whole entry begins; -1 if there is none."""
    name = _encode(writer)
    found = data.find(name, start + _BEFORE_WRITER)
    while found >= 0:
        at = found - _BEFORE_WRITER
        end = at + _LENGTH + int.from_bytes(data[at : at + _LENGTH], "big")
        if end <= len(data) and _whole(data[at + _LENGTH : end], writer) is not None:
            return at
        found = data.find(name, found + 1)
    return -1


def _is_torn(data: bytes, at: int, end: int, writer: str, start: bytes) -> bool:
    """Whether the rest of a file is the beginning of something, and not something that was changed."""
    rest = data[at:]
    if not rest.strip(b"\0") or (not at and start.startswith(rest.rstrip(b"\0"))):
        return True  # what a power loss left: zeros, or a part of the first line
    return end > len(data) and _whole(rest[_LENGTH:], writer) is None
