"""The hash chain: each entry's hash covers the entry before it, so that no link can be changed, moved or left out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from msgspec import Struct
from msgspec.json import Encoder

from interpose.record.store.protocols import EntryStore, Kind, StoredEntry

START = bytes(32)
"""What the first entry of a chain follows."""

_PAGE = 500
"""Few enough that the rows stay in the processor's cache, and that the garbage collector is not called for them."""
_encode = Encoder().encode


class Draft(Struct, frozen=True, kw_only=True, gc=False):
    """An entry that has no place in a chain yet."""

    kind: Kind
    body: bytes
    time_ns: int
    call_id: str = ""
    session: str = ""
    agent: str = ""
    tool: str = ""
    decision: str = ""
    rule: str = ""
    text: str = ""
    effects: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    request: str = ""
    rules: tuple[str, ...] = ()


def digest(prev: bytes, entry: StoredEntry | Draft, writer: str, seq: int) -> bytes:
    """The hash of an entry in its place. It covers every column: one that is only searched can hide an entry, too."""
    head: tuple[object, ...] = (
        writer, seq, entry.kind, entry.call_id, entry.time_ns, entry.session, entry.agent, entry.tool, entry.decision,
        entry.rule, entry.text, entry.effects, entry.paths, entry.hosts,
    )  # fmt: skip
    if entry.request or entry.rules:  # what was written before there were these keeps its hash
        head = (*head, entry.request, entry.rules)
    return hashlib.blake2b(prev + _encode(head) + entry.body, digest_size=32).digest()


class Chain:
    """Where a writer's chain ends."""

    def __init__(self, writer: str, seq: int = 0, head: bytes = START) -> None:
        self.writer, self.seq, self.head = writer, seq, head

    def copy(self) -> Chain:
        """The chain as it is now, for a try that may fail."""
        return Chain(self.writer, self.seq, self.head)

    def add(self, draft: Draft) -> StoredEntry:
        """Give a draft the next place."""
        prev, seq = self.head, self.seq + 1
        self.seq, self.head = seq, digest(prev, draft, self.writer, seq)
        return StoredEntry(
            self.writer, seq, draft.kind, draft.time_ns, prev, self.head, draft.body, draft.call_id, draft.session,
            draft.agent, draft.tool, draft.decision, draft.rule, draft.text, draft.effects, draft.paths, draft.hosts,
            request=draft.request, rules=draft.rules,
        )  # fmt: skip


def flaw(entry: StoredEntry, writer: str, seq: int, prev: bytes) -> str:
    """Why an entry is not the writer's link number `seq` after `prev`; empty if it is."""
    if entry.writer != writer or entry.seq != seq:
        return f"entry {entry.seq} stands where entry {seq} belongs"
    if entry.prev != prev:
        return "it does not follow the entry before it"
    if entry.hash != digest(prev, entry, writer, seq):
        return "its content is not what was written"
    return ""


def pages_of(store: EntryStore, writer: str) -> Iterator[list[StoredEntry]]:
    """All entries of a writer, in order."""
    after = 0
    while page := store.scan(writer, after, _PAGE):
        yield page
        after = page[-1].seq


def entries_of(store: EntryStore, writer: str) -> Iterator[StoredEntry]:
    """The same, one by one."""
    for page in pages_of(store, writer):
        yield from page
