"""The ledger's key: one file of 32 random bytes that only its owner may read, and the keys derived from it.

Who has the key can compare digests of hidden values and sign checkpoints. Who only has the ledger can do neither.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from msgspec import Struct

from interpose.core.errors import LedgerError
from interpose.core.formats.own_files import why_not_ours
from interpose.core.formats.unwritable import unwritable

NAME = "key"
_BYTES = 32


class Keys(Struct, frozen=True):
    """Keys for each purpose, so that what is made for one is worth nothing for another."""

    redaction: bytes
    digests: bytes
    checkpoints: bytes
    secret: bytes
    """What they are derived from, so that a process can put a key file back that somebody removed."""

    @staticmethod
    def of(secret: bytes) -> Keys:
        """The keys that a secret stands for."""
        redaction, digests, checkpoints = (
            hashlib.blake2b(key=secret, person=use, digest_size=32).digest() for use in _USES
        )
        return Keys(redaction, digests, checkpoints, secret)


_USES = (b"redaction", b"digests", b"checkpoints")


def load_keys(directory: Path) -> Keys | None:
    """The keys of a ledger; None if it has no key file."""
    try:
        with (directory / NAME).open("rb") as opened:
            if why := why_not_ours(directory / NAME, os.fstat(opened.fileno()), private=True):
                raise LedgerError(f"the ledger's key {directory / NAME} can't be used: {why}")
            secret = opened.read(_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"the ledger's key can't be read: {unwritable(directory / NAME, error)}") from error
    if len(secret) != _BYTES:
        raise LedgerError(
            f"the ledger's key {directory / NAME} does not have {_BYTES} bytes. Put your copy of it back; without one,"
            " move it away: a new key is made, and signatures under the old one can't be checked any more"
        )
    return Keys.of(secret)


def make_keys(directory: Path, known: Keys | None = None) -> Keys:
    """The keys of a ledger, made on first use. Of several that make them at once, all get the same. A key file that is
    gone becomes what is known of it."""
    if (there := load_keys(directory)) is not None:
        return there
    draft = directory / f".{NAME}.{os.urandom(8).hex()}"
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, known.secret if known else os.urandom(_BYTES))
            os.fsync(handle)
        finally:
            os.close(handle)
        try:
            os.link(draft, directory / NAME)  # fails if somebody else was faster, and never shows half a key
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    except OSError as error:
        raise LedgerError(f"the ledger's key can't be made: {unwritable(directory / NAME, error)}") from error
    keys = load_keys(directory)
    if keys is None:
        raise LedgerError(f"the ledger's key {directory / NAME} was taken away while it was made")
    return keys
