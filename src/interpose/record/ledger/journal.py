"""The journal: entries go to the end of a file before the answer leaves, and from there to the store in the background.

What a crash left half written ends a file: it was never acknowledged. A file is removed when the store has all of it.
Before each write the file is looked at: whoever cut it, changed it or took it away is noticed before anything is said
to be recorded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from interpose.core.errors import TamperedError
from interpose.record.ledger.folder import AppendFile, Folder
from interpose.record.ledger.frames import frame, header, read_file
from interpose.record.store.protocols import StoredEntry

SEGMENT_BYTES = 16 << 20


class Journal:
    """The files of one writer, of which the last one grows."""

    def __init__(self, folder: Folder, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._folder, self._segment_bytes = folder, segment_bytes
        self._header = header(folder.path.name)
        self._number = max((int(name.split(".")[0]) for name in folder.every_name()), default=0)
        self._file: AppendFile | None = None
        self._name = ""
        self._size = self._last = 0
        self._torn = False
        self._full: list[tuple[str, int]] = []

    def append(self, entries: Sequence[StoredEntry], *, sync: bool) -> None:
        """Write entries, all or none: what a failed write left behind is cut off before the next one.

        TamperedError if the file is not as it was left.
        """
        file = self._ready(sync)
        data = b"".join([frame(entry) for entry in entries])
        if not self._size:
            data = self._header + data
        self._torn = True
        file.append(data)
        if sync:
            file.sync()
        self._torn = False
        self._size += len(data)
        self._last = entries[-1].seq

    @property
    def place(self) -> Path:
        """The folder."""
        return self._folder.path

    @property
    def file(self) -> Path:
        """The file that grows, or the one that comes next."""
        return self._folder.path / (self._name or "0000000001.journal")

    def look(self, *, closer: bool = True) -> None:
        """TamperedError if the file is not as it was left, or its folder is gone. `closer` also reads its beginning."""
        if self._file is None:
            if not self._folder.path.is_dir():
                raise TamperedError(f"the journal's folder {self._folder.path} was removed or moved away")
        elif why := self._file.tampered(self._size, self._header if closer else b"", torn=self._torn):
            raise TamperedError(f"{self._folder.path / self._name} {why}")

    def forget(self, through_seq: int, *, kept: int = 1) -> None:
        """The store has everything up to here: remove the files that only hold that, but for the newest.

        What a database took last lies in its write-ahead log for a while. If somebody cuts that, it is still here.
        """
        while len(self._full) > kept and self._full[0][1] <= through_seq:
            try:
                self._folder.remove(self._full[0][0])
            except OSError:
                return  # a file too many does no harm, and the next opening takes it away
            del self._full[0]

    def close(self, through_seq: int) -> None:
        """Stop writing, and leave no file behind that the store has all of."""
        if self._file is not None:
            self._leave(self._file)
        self.forget(through_seq, kept=0)

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


class Damage(Struct, frozen=True):
    """A place where a writer's chain was damaged: the first entry that is missing or wrong, and the file."""

    writer: str
    seq: int
    file: str
    why: str


class Remains(Struct, frozen=True):
    """What a writer left in its files: the entries past a number, and what could not be used."""

    entries: tuple[StoredEntry, ...]
    torn_bytes: int
    damages: tuple[Damage, ...] = ()


def remains(folder: Folder, writer: str, seq: int, head: bytes, remembered: Sequence[StoredEntry] = ()) -> Remains:
    """The writer's entries that follow link `seq`, whose hash is `head`. What is damaged is left out and named.

    `remembered` are entries that the writer itself still has: each gets its place among those of the files.
    """
    kept: list[StoredEntry] = []
    damages: list[Damage] = []
    torn = 0
    waiting = deque(remembered)
    for name in folder.names():
        content = read_file(folder.read(name), writer)
        torn += content.torn_bytes
        why = "; ".join(f"byte {found.at}: {found.why}" for found in content.flaws)
        first = 0
        for written in content.entries:
            for entry in (*_through(waiting, written.seq), written):
                if entry.seq <= seq:
                    continue
                if entry.seq != seq + 1 or entry.prev != head:
                    why = why or f"entry {entry.seq} does not follow entry {seq}"
                    first = first or seq + 1
                kept.append(entry)
                seq, head = entry.seq, entry.hash
        if why:
            damages.append(Damage(writer, first or seq + 1, name, why))
    rest = [entry for entry in waiting if entry.seq > seq]
    if rest and rest[0].seq > seq + 1:
        damages.append(Damage(writer, seq + 1, "journal", lost(seq + 1, rest[0].seq - 1)))
    return Remains((*kept, *rest), torn, tuple(damages))


def _through(waiting: deque[StoredEntry], seq: int) -> Iterator[StoredEntry]:
    while waiting and waiting[0].seq <= seq:
        yield waiting.popleft()


def lost(first: int, last: int) -> str:
    """That nobody has these entries any more."""
    return f"entry {first} is lost" if first == last else f"entries {first} to {last} are lost"
