"""A passphrase that only a person knows. What is kept is its scrypt hash, in a file that its owner alone can read."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from msgspec import MsgspecError, Struct
from msgspec import json as fast

from interpose.core.errors import NotProvenError, ServerError

SHORTEST = 8
MOST_ATTEMPTS = 5
PAUSE_SECONDS = 60.0
_COST = 1 << 15
_MEMORY = 128 << 20


class PassphraseHash(Struct, frozen=True):
    """What the file holds."""

    salt: bytes
    hash: bytes
    n: int = _COST


def _hashed(passphrase: str, salt: bytes, cost: int) -> bytes:
    return hashlib.scrypt(passphrase.encode(), salt=salt, n=cost, r=8, p=1, maxmem=_MEMORY, dklen=32)


def set_passphrase(file: Path, passphrase: str) -> None:
    """Keep a passphrase in the place of any that there was. ServerError if it is too short or can't be kept."""
    if len(passphrase) < SHORTEST:
        raise ServerError(f"a passphrase has at least {SHORTEST} characters")
    salt = secrets.token_bytes(16)
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, fast.encode(PassphraseHash(salt, _hashed(passphrase, salt, _COST))))
            os.fsync(handle)
        finally:
            os.close(handle)
        draft.replace(file)
    except OSError as error:
        raise ServerError(f"{file}: the passphrase can't be kept: {error.strerror}") from None


def read_passphrase(file: Path) -> PassphraseHash:
    """What is kept. ServerError says what is wrong with the file."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise ServerError(
            f"{file}: no passphrase is set; run: interpose approvals operator init --passphrase"
        ) from None
    except OSError as error:
        raise ServerError(f"{file}: the passphrase can't be read: {error.strerror}") from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_uid not in {os.geteuid(), 0} or found.st_mode & 0o077:
            raise ServerError(f"{file}: the passphrase is not its owner's alone; run: chmod 600 {file}")
        return fast.decode(os.read(handle, 4096), type=PassphraseHash)
    except MsgspecError:
        raise ServerError(
            f"{file}: this is no passphrase; run: interpose approvals operator init --passphrase"
        ) from None
    finally:
        os.close(handle)


class Attempts:
    """Limits how often somebody may guess."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._wrong: list[float] = []

    def begin(self) -> None:
        """Count an attempt as wrong until it was right. NotProvenError if there were too many."""
        with self._lock:
            now = self._clock()
            self._wrong = [at for at in self._wrong if now - at < PAUSE_SECONDS]
            if len(self._wrong) >= MOST_ATTEMPTS:
                raise NotProvenError(
                    f"{MOST_ATTEMPTS} wrong answers within {PAUSE_SECONDS:g} seconds: wait a minute",
                    "too_many_attempts",
                )
            self._wrong.append(now)

    def succeeded(self) -> None:
        """The last one was right."""
        with self._lock:
            self._wrong.clear()


class Passphrase:
    """Checks what somebody says. The hash is that of the start: a file that is changed later counts from the next."""

    def __init__(self, kept: PassphraseHash, attempts: Attempts | None = None) -> None:
        self._kept, self._attempts = kept, attempts or Attempts()

    def prove(self, said: str) -> None:
        """Raises NotProvenError unless it is the one. Takes its time: not for the event loop."""
        if not said:
            raise NotProvenError("an answer needs the operator's passphrase", "passphrase_needed")
        self._attempts.begin()
        if not hmac.compare_digest(_hashed(said, self._kept.salt, self._kept.n), self._kept.hash):
            raise NotProvenError("the passphrase is wrong", "passphrase_wrong")
        self._attempts.succeeded()
