"""Signed checkpoints: what a chain was at some moment, in words that only the holder of the key can write.

A checkpoint is an entry of its writer's chain and names the heads of the other writers, so that the chains of many
writers hold each other. Beside the store each writer keeps its newest head, signed too: a chain whose end was cut off
does not reach it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path
from time import time_ns

from msgspec import MsgspecError, Struct
from msgspec.json import decode, encode

from interpose.ledger.chain import Chain, Draft


class Head(Struct, frozen=True):
    """A writer's last entry."""

    writer: str
    seq: int
    hash: str


class Checkpoint(Struct, frozen=True):
    """The heads of all writers that were known, the writer's own first. `mac` is over all of them."""

    heads: tuple[Head, ...]
    mac: str


class Retained(Struct, frozen=True):
    """The last entry of a writer that was removed with all before it."""

    removed: Head
    mac: str


def sign(key: bytes, use: str, value: object) -> str:
    """HMAC-SHA256 of a value, for one use."""
    return hmac.new(key, use.encode() + b"\n" + encode(value), hashlib.sha256).hexdigest()


def is_signed(key: bytes, use: str, value: object, mac: str) -> bool:
    """Whether the holder of the key said so."""
    return hmac.compare_digest(sign(key, use, value).encode(), mac.encode())


def checkpoint(chain: Chain, others: tuple[Head, ...], key: bytes) -> Draft:
    """A checkpoint that goes to the end of a chain as it is now."""
    heads = (Head(chain.writer, chain.seq, chain.head.hex()), *others)
    body = encode(Checkpoint(heads, sign(key, "checkpoint", heads)))
    return Draft(kind="checkpoint", body=body, time_ns=time_ns())


def retained(removed: Head, key: bytes) -> Draft:
    """The note that a writer's entries were removed up to here."""
    return Draft(kind="retention", body=encode(Retained(removed, sign(key, "retention", removed))), time_ns=time_ns())


class Heads:
    """The newest head of each writer, in files beside the store."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "heads"

    def keep(self, head: Head, key: bytes) -> None:
        """Replace a writer's head. A reader sees the old one or the new one."""
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._directory / head.writer
        draft = path.with_suffix(".new")
        draft.write_bytes(encode(Checkpoint((head,), sign(key, "head", (head,)))))
        os.replace(draft, path)  # noqa: PTH105 - atomic, and says so

    def all(self) -> list[tuple[str, Checkpoint | None]]:
        """Each writer's head as it was kept; None if the file is no checkpoint."""
        if not self._directory.is_dir():
            return []
        return [(path.name, _read(path)) for path in sorted(self._directory.iterdir()) if path.suffix != ".new"]


def _read(path: Path) -> Checkpoint | None:
    try:
        return decode(path.read_bytes(), type=Checkpoint)
    except (MsgspecError, OSError):
        return None
