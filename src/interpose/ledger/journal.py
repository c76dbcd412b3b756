"""The journal: entries go to the end of a file before the answer leaves, and from there to the store in the background.

A frame is its length in four bytes and an entry in MessagePack. What a crash left half written ends a file: it was
never acknowledged. A file is removed when the store has all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import MsgspecError, Struct
from msgspec.msgpack import Decoder, Encoder

from interpose.ledger.chain import flaw
from interpose.ledger.folder import AppendFile, Folder
from interpose.store.protocols import StoredEntry

SEGMENT_BYTES = 16 << 20

_encode = Encoder().encode
_decode = Decoder(StoredEntry).decode


def frame(entry: StoredEntry) -> bytes:
    """An entry as it stands in a file."""
    data = _encode(entry)
    return len(data).to_bytes(4, "big") + data


class Journal:
    """The files of one writer, of which the last one grows."""

    def __init__(self, folder: Folder, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._folder, self._segment_bytes = folder, segment_bytes
        names = folder.names()
        self._number = int(names[-1].removesuffix(".journal")) if names else 0
        self._file: AppendFile | None = None
        self._name = ""
        self._size = self._last = 0
        self._torn = False
        self._full: list[tuple[str, int]] = []

    def append(self, entries: Sequence[StoredEntry], *, sync: bool) -> None:
        """Write entries, all or none: what a failed write left behind is cut off before the next one."""
        file = self._ready(sync)
        data = b"".join([frame(entry) for entry in entries])
        self._torn = True
        file.append(data)
        if sync:
            file.sync()
        self._torn = False
        self._size += len(data)
        self._last = entries[-1].seq

    def forget(self, through_seq: int) -> None:
        """The store has everything up to here: remove the files that only hold that."""
        while self._full and self._full[0][1] <= through_seq:
            try:
                self._folder.remove(self._full[0][0])
            except OSError:
                return  # a file too many does no harm, and the next opening takes it away
            del self._full[0]

    def close(self, through_seq: int) -> None:
        """Stop writing, and leave no file behind that the store has all of."""
        if self._file is not None:
            self._leave(self._file)
        self.forget(through_seq)

    def _ready(self, sync: bool) -> AppendFile:
        if self._file is not None and self._torn:
            # INVARIANT: nothing is ever written behind a torn frame, or a reader would stop before it.
            # A new file, because a failed sync says nothing about what a later one of the same file covers.
            self._file.cut(self._size)
            if sync:
                self._file.sync()
            self._torn = False
            self._leave(self._file)
        if self._file is not None and self._size >= self._segment_bytes:
            self._leave(self._file)
        if self._file is None:
            self._number += 1
            self._name = f"{self._number:010d}.journal"
            self._file, self._size = self._folder.create(self._name), 0
            if sync:
                self._folder.sync()
        return self._file

    def _leave(self, file: AppendFile) -> None:
        file.close()
        self._full.append((self._name, self._last))
        self._file = None


class Remains(Struct, frozen=True):
    """What a writer left in its files: the entries past a number, and how many bytes could not be used."""

    entries: tuple[StoredEntry, ...]
    torn_bytes: int
    broken: str = ""


def remains(folder: Folder, writer: str, seq: int, head: bytes) -> Remains:
    """The writer's entries that follow link `seq`, whose hash is `head`."""
    kept: list[StoredEntry] = []
    torn = 0
    for name in folder.names():
        data = folder.read(name)
        at = 0
        while (entry := _entry_at(data, at)) is not None:
            at += 4 + int.from_bytes(data[at : at + 4], "big")
            if entry.seq <= seq:
                continue
            if why := flaw(entry, writer, seq + 1, head):
                return Remains(tuple(kept), torn + len(data) - at, f"{name}: entry {entry.seq}: {why}")
            kept.append(entry)
            seq, head = entry.seq, entry.hash
        torn += len(data) - at
    return Remains(tuple(kept), torn)


def _entry_at(data: bytes, at: int) -> StoredEntry | None:
    size = int.from_bytes(data[at : at + 4], "big")
    if not size or at + 4 + size > len(data):
        return None
    try:
        return _decode(memoryview(data)[at + 4 : at + 4 + size])
    except MsgspecError:
        return None
