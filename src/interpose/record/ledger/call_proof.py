"""The place of one call in its writer's chain, and whether the chain holds from there to the next checkpoint.

This looks at a bounded part. Whether everything holds, and whether checkpoints are signed, `audit verify` says.
"""

from __future__ import annotations

from msgspec import MsgspecError, Struct
from msgspec.json import decode

from interpose.record.ledger.chain import flaw
from interpose.record.ledger.checkpoints import Checkpoint
from interpose.record.ledger.record import Record
from interpose.record.store.protocols import EntryStore, StoredEntry

LOOKED_AT = 2000
"""Entries after the call among which a checkpoint is looked for."""
_PAGE = 500


class CallProof(Struct, frozen=True, kw_only=True):
    """`hash` is that of the call's decision, `before` that of the entry which it follows. `holds` is about all entries
    that were looked at: the call's, and those up to the checkpoint. `checkpoint_seq` is 0 if there is none yet."""

    writer: str
    seq: int
    hash: str
    before: str
    holds: bool
    problem: str = ""
    checkpoint_seq: int = 0
    checkpoint_ns: int = 0


def call_proof(store: EntryStore, record: Record) -> CallProof | None:
    """The proof of a call's decision; None if its entry is no more there."""
    page = store.scan(record.writer, record.seq - 1, 1)
    if not page or page[0].seq != record.seq:
        return None
    first = page[0]
    before = store.scan(record.writer, record.seq - 2, 1) if record.seq > 1 else []
    # What retention removed can't be followed; what is there must be what this one says it follows.
    prev = before[0].hash if before and before[0].seq == record.seq - 1 else first.prev
    problem, checkpoint = _along(store, first, prev)
    return CallProof(
        writer=first.writer, seq=first.seq, hash=first.hash.hex(), before=first.prev.hex(), holds=not problem,
        problem=problem, checkpoint_seq=checkpoint.seq if checkpoint else 0,
        checkpoint_ns=checkpoint.time_ns if checkpoint else 0,
    )  # fmt: skip


def _along(store: EntryStore, first: StoredEntry, prev: bytes) -> tuple[str, StoredEntry | None]:
    """What is wrong between an entry and the next checkpoint, and that checkpoint."""
    seq, after = first.seq, first.seq - 1
    while seq < first.seq + LOOKED_AT:
        page = store.scan(first.writer, after, _PAGE)
        for entry in page:
            if why := flaw(entry, first.writer, seq, prev):
                return f"entry {seq}: {why}", None
            if entry.kind == "checkpoint":
                return ("" if _says(entry, prev) else f"entry {seq}: it is no checkpoint of this chain"), entry
            seq, prev = seq + 1, entry.hash
        if len(page) < _PAGE:
            return "", None
        after = page[-1].seq
    return "", None


def _says(entry: StoredEntry, head: bytes) -> bool:
    """Whether a checkpoint names the entry before it as the head of its own chain."""
    try:
        said = decode(entry.body, type=Checkpoint)
    except MsgspecError:
        return False
    return bool(said.heads) and (said.heads[0].writer, said.heads[0].hash) == (entry.writer, head.hex())
