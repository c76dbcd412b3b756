"""Signed checkpoints: what a chain was at some moment, in words that only the holder of the key can write.

A checkpoint is an entry of its writer's chain and names the heads of the other writers, so that the chains of many
writers hold each other. Beside the store each writer keeps its newest head, signed too: a chain whose end was cut off
does not reach it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable
from pathlib import Path
from time import time_ns

from msgspec import MsgspecError, Struct
from msgspec.json import decode, encode

from interpose.record.ledger.chain import START, Chain, Draft
from interpose.record.store.protocols import EntryStore


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


class Broken(Struct, frozen=True):
    """A place where a chain does not hold. `writer` is empty for what belongs to no chain."""

    writer: str
    seq: int
    why: str


class Recovered(Struct, frozen=True):
    """What was broken when somebody ran `audit recover`: it is known, and what came after it is another chain."""

    breaks: tuple[Broken, ...]
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


def recovered(breaks: tuple[Broken, ...], key: bytes) -> Draft:
    """The note at the beginning of a new chain that says what came before it."""
    return Draft(kind="repair", body=encode(Recovered(breaks, sign(key, "recovery", breaks))), time_ns=time_ns())


class Heads:
    """The newest head of each writer, in files beside the store. The first one is kept before the first entry is."""

    def __init__(self, directory: Path, key: bytes | None = None) -> None:
        """Without the key heads can be read, and neither be made nor believed."""
        self._directory, self._key = directory / "heads", key

    def begin(self, writer: str) -> None:
        """A writer that has no entries yet. Raises OSError."""
        self.keep(Head(writer, 0, START.hex()))

    def keep(self, head: Head) -> None:
        """Replace a writer's head. A reader sees the old one or the new one. Raises OSError."""
        key = self._key
        assert key is not None  # noqa: S101 - only those who write keep heads
        self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._directory / head.writer
        draft = path.with_suffix(".new")
        draft.write_bytes(encode(Checkpoint((head,), sign(key, "head", (head,)))))
        os.replace(draft, path)  # noqa: PTH105 - atomic, and says so

    def flaw(self, writer: str, store: EntryStore) -> str:
        """Why what the store has of a writer is not what its head knows; empty if it is."""
        path = self._directory / writer
        if not path.exists():
            return "the head of this chain is missing: nobody can tell whether its end was cut off"
        kept = _read(path)
        if kept is None or len(kept.heads) != 1 or kept.heads[0].writer != writer:
            return "the head of this chain can't be read"
        if self._key is not None and not is_signed(self._key, "head", kept.heads, kept.mac):
            return "the signature of this chain's head is not ours"
        (head,) = kept.heads
        last = store.head(writer)
        if last is None or last.seq < head.seq:
            return f"the chain ends at {last.seq if last else 0}, but a signed head knows entry {head.seq}" * bool(
                head.seq
            )
        there = store.scan(writer, head.seq - 1, 1) if head.seq else []
        if there and there[0].seq == head.seq and there[0].hash.hex() != head.hash:
            return f"a signed head knows another entry {head.seq}"
        return ""

    def missing(self, writers: Iterable[str]) -> list[str]:
        """Those of these writers that have no head here."""
        return [writer for writer in writers if not (self._directory / writer).exists()]

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
