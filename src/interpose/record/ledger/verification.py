"""Verification: every chain from its first entry to its last, without a server and without the engine.

What it finds: content that was changed, entries that were removed, moved, repeated or taken from elsewhere, ends that
were cut off before a signed head, heads that are missing, removals that no signed note of retention explains, journals
that were damaged, and columns and indexes that would hide an entry from those who search.

What somebody was told of and answered with `audit recover` is still said, as known: see `recovered`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import MsgspecError, Struct
from msgspec.json import decode

from interpose.core.errors import DamagedStoreError, LedgerError, text_of
from interpose.record.ledger.anchor_places import AnchorPlace
from interpose.record.ledger.anchoring import anchored_heads
from interpose.record.ledger.chain import START, flaw, pages_of
from interpose.record.ledger.checkpoints import Broken, Checkpoint, Head, Heads, Retained, is_signed
from interpose.record.ledger.journal import Damage
from interpose.record.ledger.keys import load_keys
from interpose.record.ledger.recovery import JOURNALS, damages_in
from interpose.record.store.protocols import EntryStore, Kind, Query, SearchFlaw, StoredEntry

_PAGE = 2000


class Verification(Struct, frozen=True, kw_only=True):
    """`ok` if nothing is broken but what is `known`. Without a key no signature is looked at: `signed` is False."""

    ok: bool
    entries: int
    writers: int
    checkpoints: int
    repairs: int
    signed: bool
    broken: tuple[Broken, ...] = ()
    known: tuple[Broken, ...] = ()


class _AnyRepair(Struct, frozen=True):
    """What notes of repairs say: see `Repair` and `Recovered`."""

    damages: tuple[Damage, ...] = ()
    breaks: tuple[Broken, ...] = ()
    mac: str = ""


class _Claims:
    """What signed notes say about chains: which entry had which hash, and what was removed."""

    def __init__(self, key: bytes | None) -> None:
        self._key = key
        self.heads: dict[str, dict[int, str]] = {}
        self.removed: dict[str, dict[int, str]] = {}
        self.checkpoints = 0
        self.false: dict[str, dict[int, str]] = {}
        self.damages: list[Damage] = []
        self.answered: set[tuple[str, int]] = set()

    def read(self, entry: StoredEntry) -> None:
        """Take in a note, or why it is not to be believed."""
        if flaw(entry, entry.writer, entry.seq, entry.prev):
            return  # the walk along its chain will say so
        if why := self._read(entry):
            self.false.setdefault(entry.writer, {})[entry.seq] = why

    def _read(self, entry: StoredEntry) -> str:
        try:
            if entry.kind == "retention":
                note = decode(entry.body, type=Retained)
                if not self._is_signed("retention", note.removed, note.mac):
                    return "its signature is not ours"
                self.removed.setdefault(note.removed.writer, {})[note.removed.seq] = note.removed.hash
            elif entry.kind == "checkpoint":
                note_of_heads = decode(entry.body, type=Checkpoint)
                if not self._is_signed("checkpoint", note_of_heads.heads, note_of_heads.mac):
                    return "its signature is not ours"
                self.checkpoints += 1
                for head in note_of_heads.heads:
                    self._claim(head)
            elif entry.kind == "repair":
                return self._read_repair(entry)
        except MsgspecError:
            return f"it is no {entry.kind}"
        return ""

    def _read_repair(self, entry: StoredEntry) -> str:
        note = decode(entry.body, type=_AnyRepair)
        if note.mac:
            if not self._is_signed("recovery", note.breaks, note.mac):
                return "its signature is not ours"
            self.answered |= {(known.writer, known.seq) for known in note.breaks}
        self.damages += note.damages
        return ""

    def read_kept(self, writer: str, kept: Checkpoint | None) -> str:
        """Take in a head that was kept beside the store."""
        if kept is None or len(kept.heads) != 1 or kept.heads[0].writer != writer:
            return "its kept head can't be read"
        if not self._is_signed("head", kept.heads, kept.mac):
            return "the signature of its kept head is not ours"
        self._claim(kept.heads[0])
        return ""

    def read_anchored(self, heads: tuple[Head, ...]) -> None:
        """Take in heads that were kept elsewhere."""
        for head in heads:
            self._claim(head)

    def _claim(self, head: Head) -> None:
        if head.seq:
            self.heads.setdefault(head.writer, {})[head.seq] = head.hash

    def _is_signed(self, use: str, value: object, mac: str) -> bool:
        return self._key is None or is_signed(self._key, use, value, mac)


def verify_directory(directory: Path, store: EntryStore, anchors: Sequence[AnchorPlace] = ()) -> Verification:
    """Verify a store with the key, the heads and the journals that the ledger's directory has, and with anchors."""
    keys = load_keys(directory)
    return verify(store, None if keys is None else keys.checkpoints, directory, anchors)


def verify(
    store: EntryStore, key: bytes | None = None, directory: Path | None = None, anchors: Sequence[AnchorPlace] = ()
) -> Verification:
    """Verify all chains of a store, with what is known in a ledger's directory and in other places."""
    claims = _Claims(key)
    broken: list[Broken] = []
    hidden: list[SearchFlaw] = []
    writers: list[str] = []
    try:
        writers = store.writers()
        for note in _notes(store):
            claims.read(note)
        hidden = store.search_flaws()
    except DamagedStoreError as error:
        broken.append(Broken("", 0, _damaged(error)))
    if directory is not None:
        broken += _beside(directory, store, claims, writers)
    for place in anchors:
        try:
            claims.read_anchored(anchored_heads(place, key))
        except LedgerError as error:
            broken.append(Broken("", 0, f"anchor: {text_of(error)}"))
    repairs = entries = 0
    for writer in sorted({*writers, *claims.heads}):
        walk = _Walk(writer, claims)
        try:
            for page in pages_of(store, writer):
                if not walk.along(page):
                    break
        except DamagedStoreError as error:
            walk.stop(_damaged(error))
        walk.end()
        entries += walk.count
        repairs += walk.repairs
        if walk.broken is not None:
            broken.append(walk.broken)
    places = {(one.writer, one.seq) for one in broken}
    broken += [Broken(one.writer, one.seq, one.why) for one in hidden if (one.writer, one.seq) not in places]
    named = {(damage.writer, damage.seq) for damage in claims.damages}
    broken = [one for one in broken if (one.writer, one.seq) not in named]  # the note says it better
    broken += [Broken(damage.writer, damage.seq, f"{damage.file}: {damage.why}") for damage in claims.damages]
    known = tuple(one for one in broken if (one.writer, one.seq) in claims.answered)
    left = tuple(one for one in broken if (one.writer, one.seq) not in claims.answered)
    return Verification(
        ok=not left, entries=entries, writers=len(writers), checkpoints=claims.checkpoints, repairs=repairs,
        signed=key is not None, broken=left, known=known,
    )  # fmt: skip


def verify_notes(directory: Path, store: EntryStore) -> tuple[Broken, ...]:
    """What is known to be damaged and nobody has answered with `audit recover`. Follows no chain: for a quick look."""
    keys = load_keys(directory)
    claims = _Claims(None if keys is None else keys.checkpoints)
    for note in _notes(store, ("repair",)):
        claims.read(note)
    found = list(_beside(directory, store, claims, store.writers()))
    found += [Broken(one.writer, one.seq, f"{one.file}: {one.why}") for one in claims.damages]
    return tuple(one for one in found if (one.writer, one.seq) not in claims.answered)


def _beside(directory: Path, store: EntryStore, claims: _Claims, writers: list[str]) -> Iterator[Broken]:
    """What is wrong with the heads and the journals beside a store."""
    kept = dict(Heads(directory).all())
    for writer, head in kept.items():
        if why := claims.read_kept(writer, head):
            yield Broken(writer, 0, why)
    folders = {path.name for path in (directory / JOURNALS).glob("*/")}
    # In a store that many machines share, only those are ours that have a journal here.
    ours = folders if store.is_shared else folders | set(writers)
    for writer in sorted(ours - set(kept)):
        yield Broken(writer, 0, f"heads/{writer} is missing: nobody can tell whether the end of its chain was cut off")
    claims.damages += damages_in(directory, store)


class _Walk:
    """One chain, link by link."""

    def __init__(self, writer: str, claims: _Claims) -> None:
        self._writer, self._false = writer, claims.false.get(writer, {})
        self._heads, self._removed = claims.heads.get(writer, {}), claims.removed.get(writer, {})
        self._seq, self._head = 0, START
        self.count = self.repairs = 0
        self.broken: Broken | None = None

    def along(self, page: list[StoredEntry]) -> bool:
        """Look at the next links. False if the chain ends here because it is broken."""
        if not self.count and page[0].seq > 1 and self._removed.get(page[0].seq - 1) == page[0].prev.hex():
            self._seq, self._head = page[0].seq - 1, page[0].prev  # what came before was removed, and signed for
        writer, seq, head, heads, false = self._writer, self._seq, self._head, self._heads, self._false
        for entry in page:
            seq += 1
            why = flaw(entry, writer, seq, head)
            if not why and seq in false:
                why = false[seq]
            if not why and seq in heads and heads[seq] != entry.hash.hex():
                why = "a signed checkpoint knows another entry in this place"
            if why:
                self.stop(why)
                return False
            self.count += 1
            if entry.kind == "repair":
                self.repairs += 1
            self._seq = seq
            self._head = head = entry.hash
        return True

    def stop(self, why: str) -> None:
        """The chain does not hold behind the last good link."""
        self.broken = Broken(self._writer, self._seq + 1, why)

    def end(self) -> None:
        """After the last link: a chain must reach every head that was signed for."""
        last = max(self._heads, default=0)
        if self.broken is None and self._seq < last and self._removed.get(last) != self._heads[last]:
            why = f"the chain ends at {self._seq}, but a signed head knows entry {last}"
            self.stop(why)


def _damaged(error: DamagedStoreError) -> str:
    return f"the store is damaged: {text_of(error)}"


def _notes(store: EntryStore, kinds: tuple[Kind, ...] = ("checkpoint", "retention", "repair")) -> Iterator[StoredEntry]:
    after: int | None = None
    while page := store.query(Query(kinds=kinds), _PAGE, after):
        yield from page
        after = page[-1].position
