"""Whatever is done to a ledger's entries is found, and the place is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import msgpack
from msgspec.structs import replace

from interpose.engine.engine import Engine
from interpose.record.ledger import Ledger, LedgerSettings, verify, verify_directory
from interpose.record.ledger.chain import START, Chain, Draft
from interpose.record.ledger.folder import Folder
from interpose.record.ledger.journal import remains
from interpose.record.ledger.keys import Keys
from interpose.record.store.protocols import StoredEntry
from tests.support.ledgers import ListStore, guarded, run

Entries = list[StoredEntry]
CALLS = 20


def filled(directory: Path, store: ListStore, prefix: str = "echo") -> str:
    """A ledger with 40 entries and a checkpoint every eight. Its writer."""
    with Ledger(directory, store, LedgerSettings(checkpoint_every=8)) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        for number in range(CALLS):
            run(engine, f"{prefix} {number}")
        return ledger.writer_name


def test_an_honest_ledger_verifies(tmp_path: Path) -> None:
    store = ListStore()
    filled(tmp_path, store)
    found = verify_directory(tmp_path, store)
    assert (found.ok, found.signed, found.broken) == (True, True, ())
    assert found.checkpoints >= 5
    assert found.entries == 2 * CALLS + found.checkpoints


def _flip(entries: Entries, at: int, bit: int) -> None:
    body = bytearray(entries[at].body)
    body[bit // 8] ^= 1 << bit % 8
    entries[at] = replace(entries[at], body=bytes(body))


def test_every_flipped_bit_is_found_in_its_place(tmp_path: Path) -> None:
    store = ListStore()
    writer = filled(tmp_path, store)
    entries = store.chains[writer]
    for at in (0, 17, len(entries) - 1):
        honest = entries[at]
        for bit in range(len(honest.body) * 8):
            _flip(entries, at, bit)
            (broken,) = verify(store).broken
            assert (broken.writer, broken.seq) == (writer, at + 1)
            entries[at] = honest
    assert verify(store).ok


COLUMNS: list[tuple[str, object]] = [
    ("kind", "repair"), ("call_id", "another"), ("time_ns", 5), ("session", "s2"), ("agent", "eve"), ("tool", "read"),
    ("decision", "deny"), ("rule", "other"), ("prev", bytes(32)), ("hash", bytes(32)), ("seq", 500),
    ("writer", "somebody"), ("text", "nothing to see"), ("effects", ("fs.read",)), ("paths", ("/",)),
    ("hosts", ("example.com",)), ("request", "another"), ("rules", ("mask",)),
]  # fmt: skip


@pytest.mark.parametrize(("column", "value"), COLUMNS, ids=[column for column, _ in COLUMNS])
def test_every_changed_column_is_found(tmp_path: Path, column: str, value: object) -> None:
    store = ListStore()
    writer = filled(tmp_path, store)
    store.chains[writer][10] = replace(store.chains[writer][10], **{column: value})
    assert [(broken.writer, broken.seq) for broken in verify(store).broken] == [(writer, 11)]


def test_what_was_written_before_there_were_requests_keeps_its_hash() -> None:
    draft = Draft(
        kind="decided", body=b"{}", time_ns=7, call_id="c", session="s", agent="a", tool="exec", decision="deny",
        rule="r", text="t", effects=("fs.read",), paths=("/p",), hosts=("h",),
    )  # fmt: skip
    written = "96f34e32cdc5ed252576b75eaa7728de696db0ae88f581aebcc7198a7a46a9ce"
    assert Chain("w").add(draft).hash.hex() == written
    hashes = {written}
    for request, rules in (("x", ()), ("", ("x",)), ("x", ("x",)), ("xx", ())):
        hashes.add(Chain("w").add(replace(draft, request=request, rules=rules)).hash.hex())
    assert len(hashes) == 5


def test_a_journal_of_before_is_read(tmp_path: Path) -> None:
    entry = Chain("w").add(Draft(kind="decided", body=b"{}", time_ns=7, call_id="c"))
    fields = [getattr(entry, name) for name in StoredEntry.__struct_fields__ if name not in ("request", "rules")]
    data = msgpack.encode(fields)
    folder = Folder(tmp_path)
    file = folder.create("0000000001.journal")
    file.append(len(data).to_bytes(4, "big") + data)
    file.close()
    assert remains(folder, "w", 0, START).entries == (entry,)


def _deleted(entries: Entries, _other: Entries) -> None:
    del entries[10]


def _reordered(entries: Entries, _other: Entries) -> None:
    entries[10], entries[11] = entries[11], entries[10]


def _duplicated(entries: Entries, _other: Entries) -> None:
    entries.insert(10, entries[9])


def _spliced(entries: Entries, other: Entries) -> None:
    entries[10] = replace(other[10], writer=entries[10].writer)


def _spliced_tail(entries: Entries, other: Entries) -> None:
    entries[10:] = other[10:]


def _cut_in_front(entries: Entries, _other: Entries) -> None:
    del entries[:10]


def _rewritten_to_the_end(entries: Entries, _other: Entries) -> None:
    """Somebody without the key who makes a whole new chain from here on."""
    chain = Chain(entries[9].writer, entries[9].seq, entries[9].hash)
    fields = ("kind", "body", "time_ns", "call_id", "session", "agent", "tool", "decision", "rule")
    drafts = [Draft(**{name: getattr(one, name) for name in fields}) for one in entries[10:]]
    drafts[0] = replace(drafts[0], decision="deny")
    entries[10:] = [chain.add(draft) for draft in drafts]


def _cut_off(entries: Entries, _other: Entries) -> None:
    del entries[-1]


def _cut_off_to_a_checkpoint(entries: Entries, _other: Entries) -> None:
    del entries[max(at for at, one in enumerate(entries[:-1]) if one.kind == "checkpoint") + 1 :]


def _all_removed(entries: Entries, _other: Entries) -> None:
    entries.clear()


Tamper = Callable[[Entries, Entries], None]
TAMPERED: list[tuple[str, Tamper, int | None]] = [
    ("an entry is deleted", _deleted, 11),
    ("two entries change places", _reordered, 11),
    ("an entry is repeated", _duplicated, 11),
    ("an entry of another ledger takes its place", _spliced, 11),
    ("another ledger's entries follow", _spliced_tail, 11),
    ("the start is gone", _cut_in_front, 1),
    ("a chain is made anew without the key", _rewritten_to_the_end, None),
    ("the last entry is gone", _cut_off, None),
    ("the end is gone, cleanly behind a checkpoint", _cut_off_to_a_checkpoint, None),
    ("everything is gone", _all_removed, 1),
]


@pytest.mark.parametrize(("note", "tamper", "seq"), TAMPERED, ids=[case[0] for case in TAMPERED])
def test_tampering_is_found_and_located(tmp_path: Path, note: str, tamper: Tamper, seq: int | None) -> None:
    store, other = ListStore(), ListStore()
    writer = filled(tmp_path / "one", store)
    foreign = other.chains[filled(tmp_path / "other", other, "printf")]
    before = list(store.chains[writer])
    tamper(store.chains[writer], foreign)
    (broken,) = verify_directory(tmp_path / "one", store).broken
    assert broken.writer == writer, note
    after = store.chains[writer]
    same = next((at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), len(after))
    if seq is not None:
        assert broken.seq == seq
    else:
        assert broken.seq >= same + 1


def test_a_cut_end_is_found_by_the_checkpoint_of_another_writer(tmp_path: Path) -> None:
    """Many writers over one store, each with a head of its own: the head of the cut chain is gone with its machine."""
    store = ListStore()
    with Ledger(tmp_path, store) as first:
        run(Engine(guarded(), recorder=first.recorder), "echo first")
        first.flush()
        with Ledger(tmp_path, store, LedgerSettings(checkpoint_every=2)) as second:
            for number in range(20):
                run(Engine(guarded(), recorder=second.recorder), f"echo {number}")
                second.flush()
        assert first.writer_name != second.writer_name
    keys = Keys.of((tmp_path / "key").read_bytes())
    assert verify(store, keys.checkpoints).ok
    del store.chains[first.writer_name][1:]
    (broken,) = verify(store, keys.checkpoints).broken
    assert (broken.writer, broken.seq) == (first.writer_name, 2)


def test_a_checkpoint_of_another_key_is_not_believed(tmp_path: Path) -> None:
    store = ListStore()
    writer = filled(tmp_path, store)
    (broken,) = verify(store, b"another key").broken
    first = next(one.seq for one in store.chains[writer] if one.kind == "checkpoint")
    assert (broken.writer, broken.seq) == (writer, first)
