"""Where pins are kept: a file for each server, sealed with the ledger's key, so that anybody else's change shows.

The store counts the versions of each file. So a file that is gone, or an older one in its place, shows as well.
INVARIANT: what can't be read, or is not ours, is an error and never an empty answer: nothing is trusted anew by it.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import secrets
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import MsgspecError, Raw, Struct
from msgspec import json as fast
from msgspec.structs import replace

from interpose.core.errors import PinError, StoreError
from interpose.record.pins.pinned_server import ServerPins
from interpose.record.store.protocols import Counters

MOST_BYTES = 64 << 20
_MOST = (1 << 63) - 1
_ENDING = ".json"


class _Kept(Struct, frozen=True):
    content: Raw
    seal: str


class PinFiles:
    """The files of a directory. Safe for threads and processes."""

    def __init__(self, directory: Path, key: bytes, counters: Counters | None = None) -> None:
        """`counters` are the store's; without them, a file that is gone is taken for one that never was."""
        self._directory, self._counters = directory, counters
        self._key = hashlib.blake2b(key=key, person=b"mcp pins", digest_size=32).digest()
        self._lock = threading.RLock()
        self._paths: dict[str, Path] = {}

    def read(self, server: str) -> ServerPins:
        """What is kept of a server; empty if it never was seen. PinError if that is not what we wrote."""
        known = self._read(server)
        counted = self._counted(server)
        if known is None:
            if counted:
                raise PinError(f"its pins are gone: {self._file(server)} was removed")
            return ServerPins(server=server)
        if known.generation < counted:
            raise PinError(f"an older copy of its pins was put in their place: {self._file(server)}")
        return known

    def servers(self) -> list[str]:
        """Every server of which something is kept, by name; also those whose files are not ours any more."""
        names: set[str] = set()
        for file in self._directory.glob(f"*{_ENDING}"):
            try:
                kept = fast.decode(file.read_bytes()[:MOST_BYTES], type=_Kept)
                names.add(fast.decode(kept.content, type=ServerPins).server)
            except (OSError, MsgspecError):
                names.add(file.name.removesuffix(_ENDING).rpartition("-")[0] or file.name)
        return sorted(names)

    def stamp(self, server: str) -> tuple[int, int, int]:
        """What changes when the file does."""
        try:
            found = os.lstat(self._file(server))
        except OSError:
            return (0, 0, 0)
        return (found.st_ino, found.st_mtime_ns, found.st_size)

    def write(self, pins: ServerPins) -> ServerPins:
        """Keep this as the next version. Say so inside `held`. PinError if it can't be kept."""
        counted = self._counted(pins.server)
        next_one = replace(pins, generation=max(pins.generation, counted) + 1)
        content = fast.encode(next_one)
        if len(content) > MOST_BYTES:
            raise PinError(f"{self._file(pins.server)}: there is more to keep than {MOST_BYTES >> 20} MiB")
        kept = _Kept(Raw(content), self._seal(pins.server, content))
        try:
            _replace(self._file(pins.server), fast.encode(kept) + b"\n")
        except OSError as error:
            raise PinError(f"{self._file(pins.server)} can't be written: {error.strerror}") from None
        self._count(pins.server, next_one.generation - counted)
        return next_one

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else writes meanwhile. PinError if the directory can't be used."""
        with self._lock:
            try:
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                guard = os.open(self._directory / "lock", flags, 0o600)
            except OSError as error:
                raise PinError(f"{self._directory} can't be used: {error.strerror}") from None
            try:
                fcntl.flock(guard, fcntl.LOCK_EX)
                yield
            finally:
                os.close(guard)

    def _read(self, server: str) -> ServerPins | None:
        file = self._file(server)
        try:
            handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise PinError(f"its pins can't be read: {file}: {error.strerror}") from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise PinError(f"its pins can't be read: {file} is no regular file")
        with os.fdopen(handle, "rb") as opened:
            data = opened.read(2 * MOST_BYTES)
        try:
            kept = fast.decode(data, type=_Kept)
            if not hmac.compare_digest(kept.seal, self._seal(server, bytes(kept.content))):
                raise PinError(f"its pins were changed by somebody else: {file}")
            return fast.decode(kept.content, type=ServerPins)
        except (MsgspecError, TypeError, UnicodeDecodeError):
            raise PinError(f"its pins were damaged: {file}") from None

    def _file(self, server: str) -> Path:
        if (known := self._paths.get(server)) is not None:
            return known
        plain = "".join(char if char.isascii() and (char.isalnum() or char in "-_.") else "_" for char in server)[:60]
        mark = hashlib.sha256(server.encode("utf-8", "backslashreplace")).hexdigest()[:12]
        self._paths[server] = self._directory / f"{plain.lstrip('.')}-{mark}{_ENDING}"
        return self._paths[server]

    def _seal(self, server: str, content: bytes) -> str:
        return hmac.new(self._key, fast.encode(["pins", 1, server]) + content, hashlib.sha256).hexdigest()

    def _counter(self, server: str) -> str:
        where = f"{os.uname().nodename}:{self._file(server)}"
        return f"pins:{hashlib.blake2b(where.encode('utf-8', 'backslashreplace'), digest_size=12).hexdigest()}"

    def _counted(self, server: str) -> int:
        if self._counters is None:
            return 0
        try:
            return self._counters.spent(self._counter(server))
        except StoreError as error:
            raise PinError(f"the versions of its pins can't be looked up: {error}") from None

    def _count(self, server: str, more: int) -> None:
        """A version that is written and not counted still counts: the next one catches up."""
        if self._counters is not None and more > 0:
            try:
                self._counters.spend(self._counter(server), more, budget=_MOST)
            except StoreError:
                return


def _replace(file: Path, data: bytes) -> None:
    """The whole file or the old one, whatever happens meanwhile."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(handle)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
