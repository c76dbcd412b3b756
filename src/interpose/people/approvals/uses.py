"""How often each grant was used, kept outside the store: a store that is set back gives no use back.

A file that only grows, a line for each use: `[number, grant, uses so far, end of the grant, time]`. A line takes away
and never gives, so it needs no signature. That lines are missing shows by the number of the last one, which the store
counts, too. Whoever cuts this file AND sets the store back to the same moment while no server runs is not noticed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import MsgspecError, Struct
from msgspec import json as fast

from interpose.core.errors import StoreError
from interpose.core.platforms.system import sync_data
from interpose.record.store.protocols import Counters

REVOKED = 1 << 62
"""More uses than any grant has."""
_VOID = ""
"""In the place of a grant: all that were given until then are void."""
_MOST = (1 << 63) - 1


class UseLine(Struct, frozen=True, array_like=True):
    """One line."""

    number: int
    grant: str
    spent: int
    ends_ns: int
    at_ns: int


class Uses:
    """The uses that are known: in memory, and in a file if there is one. Safe for threads and processes."""

    def __init__(
        self, path: Path | None = None, counters: Counters | None = None, *, alarm: Callable[[str, str], object]
    ) -> None:
        """`alarm` is told a key and what is wrong. Raises StoreError if the file can't be used."""
        self._path, self._counters, self._alarm = path, counters, alarm
        self._lock = threading.RLock()
        self._holding = False
        self._lines: dict[str, UseLine] = {}
        self._last = 0
        self._read_to = 0
        self._identity: tuple[int, int] | None = None
        self.latest_ns = 0
        where = f"{os.uname().nodename}:{path}"
        self._counter = f"uses:{hashlib.blake2b(where.encode(), digest_size=12).hexdigest()}"

    def open(self, now_ns: int) -> None:
        """Read the file, and see whether it and the store tell the same."""
        if self._path is None:
            return
        with self.held():
            counted = self._counters.spent(self._counter) if self._counters is not None else 0
            if self._last < counted:
                self._alarm(
                    "uses-cut",
                    f"{self._path}: uses of grants were removed from this file: no grant given until now counts",
                )
                self._last = counted
                self._append(_VOID, now_ns, _MOST, now_ns)
            elif self._last > counted + 1:  # one alone may be a crash between the two
                self._alarm(
                    "store-set-back",
                    f"the store knows of {counted} uses of grants and {self._path} of {self._last}: "
                    "an older copy of the store was put in its place; uses count as the file has them",
                )
            self._compact(now_ns)

    def read(self) -> None:
        """Read the file and change nothing, for those who only show grants."""
        if self._path is not None and self._path.is_file():
            with self._lock:
                self._catch_up()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else counts meanwhile. What others wrote is known inside."""
        with self._lock:
            if self._path is None or self._holding:
                yield
                return
            try:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                guard = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise self._unusable(error) from None
            try:
                fcntl.flock(guard, fcntl.LOCK_EX)
                self._holding = True
                self._catch_up()
                yield
            finally:
                self._holding = False
                os.close(guard)

    def spent(self, grant: str) -> int:
        """How many uses of a grant are known to be spent; `REVOKED` if it was taken back."""
        with self._lock:
            line = self._lines.get(grant)
            return 0 if line is None else line.spent

    def known(self) -> dict[str, int]:
        """All uses that are known to be spent."""
        with self._lock:
            return {grant: line.spent for grant, line in self._lines.items()}

    @property
    def void_until_ns(self) -> int:
        """Grants that were given until then don't count."""
        return self.spent(_VOID)

    def note(self, grant: str, spent: int, *, ends_ns: int, now_ns: int) -> None:
        """Keep that so many uses are spent. StoreError if that can't be kept: then there was no use."""
        with self.held():
            self._append(grant, spent, ends_ns, now_ns)

    def _append(self, grant: str, spent: int, ends_ns: int, now_ns: int) -> None:
        line = UseLine(self._last + 1, grant, spent, ends_ns, now_ns)
        if self._path is not None:
            data = fast.encode(line) + b"\n"
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
                handle = os.open(self._path, flags, 0o600)
                try:
                    os.write(handle, data)
                    sync_data(handle)
                    found = os.fstat(handle)
                finally:
                    os.close(handle)
            except OSError as error:
                raise self._unusable(error) from None
            self._identity, self._read_to = (found.st_dev, found.st_ino), found.st_size
        self._take_in(line)
        if self._counters is not None and (behind := self._last - self._counters.spent(self._counter)) > 0:
            self._counters.spend(self._counter, behind, budget=_MOST)

    def _take_in(self, line: UseLine) -> None:
        known = self._lines.get(line.grant)
        if known is None or line.spent > known.spent:
            self._lines[line.grant] = line
        self._last = max(self._last, line.number)
        self.latest_ns = max(self.latest_ns, line.at_ns)

    def _catch_up(self) -> None:
        """Read what is new. INVARIANT: what is known here is never forgotten because a file says less."""
        assert self._path is not None  # noqa: S101 - asked before
        try:
            handle = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            if self._identity is not None:
                self._written_anew("was removed")
            return
        except OSError as error:
            raise self._unusable(error) from None
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            identity = (found.st_dev, found.st_ino)
            same = self._identity in (None, identity) and found.st_size >= self._read_to
            file.seek(self._read_to if same else 0)
            before = self._last
            for text in file:
                self._read_line(text)
            self._identity, self._read_to = identity, file.tell()
        if not same and self._numbers_in_file() < before:
            self._written_anew("was replaced or cut")

    def _read_line(self, text: bytes) -> None:
        try:
            self._take_in(_decoded(text))
        except MsgspecError:
            self._alarm("uses-unreadable", f"{self._path}: a line can't be read: {text[:80]!r}")

    def _numbers_in_file(self) -> int:
        assert self._path is not None  # noqa: S101 - asked before
        highest = 0
        for text in self._path.read_bytes().splitlines():
            try:
                highest = max(highest, _decoded(text).number)
            except MsgspecError:
                continue
        return highest

    def _written_anew(self, what: str) -> None:
        self._alarm("uses-changed", f"{self._path}: the file {what} while the server ran; it was written again")
        self._rewrite([*self._lines.values()])

    def _compact(self, now_ns: int) -> None:
        """Forget grants that are over: they can't be used whatever the store says. The last line always stays."""
        kept = [line for line in self._lines.values() if line.ends_ns > now_ns or line.number == self._last]
        if len(kept) < len(self._lines):
            self._rewrite(kept)
            self._lines = {line.grant: line for line in kept}

    def _rewrite(self, lines: list[UseLine]) -> None:
        assert self._path is not None  # noqa: S101 - asked before
        draft = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                for line in sorted(lines, key=lambda one: one.number):
                    os.write(handle, fast.encode(line) + b"\n")
                os.fsync(handle)
                found = os.fstat(handle)
            finally:
                os.close(handle)
            draft.replace(self._path)
        except OSError as error:
            raise self._unusable(error) from None
        self._identity, self._read_to = (found.st_dev, found.st_ino), found.st_size

    def _unusable(self, error: OSError) -> StoreError:
        return StoreError(f"{self._path}: uses of grants can't be kept: {error.strerror}")


_decoded = fast.Decoder(UseLine).decode
