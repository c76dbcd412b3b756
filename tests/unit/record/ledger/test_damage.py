"""A journal with a flipped bit, heads that are gone, columns that hide: skipped or refused, but never unsaid."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from interpose.composition.build import open_ledger
from interpose.engine.engine import Engine
from interpose.record.ledger import Ledger, LedgerSettings, recover_ledger, search, verify, verify_directory
from interpose.record.ledger.chain import Chain, Draft
from interpose.record.ledger.frames import frame, header, read_file
from interpose.record.store import open_store
from interpose.record.store.protocols import Query
from tests.support.ledgers import ListStore, all_records, guarded, run

CALLS = 12


def filled(directory: Path, count: int = CALLS) -> None:
    with open_ledger(directory, LedgerSettings(checkpoint_every=8)) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        for number in range(count):
            run(engine, f"rm -f /work/{number}.txt é", call_id=f"c{number}")


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a process that was killed leaves: a journal whose entries are not in the store."""
    directory = tmp_path_factory.mktemp("left") / "ledger"
    ledger = Ledger(directory, ListStore())
    engine = Engine(guarded(), recorder=ledger.recorder)
    for number in range(6):
        run(engine, f"rm -f /work/{number}.txt é", call_id=f"c{number}")
    copy = directory.with_name("copy")
    shutil.copytree(directory, copy)
    ledger.close()
    return copy


def test_every_flipped_bit_is_skipped_and_named(left_behind: Path, tmp_path: Path) -> None:
    """Of a journal that a crash left: whatever bit is wrong, the others' records are there and the place is named."""
    (journal,) = left_behind.glob("journals/*/*.journal")
    writer, honest = journal.parent.name, journal.read_bytes()
    entries = read_file(honest, writer).entries
    assert len(entries) == 12
    for bit in range(0, len(honest) * 8, 61):
        flipped = bytearray(honest)
        flipped[bit // 8] ^= 1 << bit % 8
        content = read_file(bytes(flipped), writer)
        assert content.flaws, bit
        assert content.torn_bytes == 0, bit
        assert len(content.entries) >= len(entries) - 1, bit
        assert all(one in entries for one in content.entries), "nothing is taken that was not written"


@pytest.mark.parametrize("share", [0.0, 0.3, 0.55, 0.99], ids=["the header", "a text", "another", "the end"])
def test_a_ledger_with_a_flipped_bit_goes_on_and_verify_says_where(
    share: float, left_behind: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "ledger"
    shutil.copytree(left_behind, directory)
    (journal,) = directory.glob("journals/*/*.journal")
    data = bytearray(journal.read_bytes())
    data[int(share * (len(data) - 1))] ^= 0x80
    journal.write_bytes(data)
    with open_ledger(directory) as ledger:
        assert run(Engine(guarded(), recorder=ledger.recorder), "echo after", call_id="after") == "done"
        ledger.flush()
        assert ledger.writer_name != journal.parent.name, "new entries go to a new chain"
        known = {record.call_id for record in all_records(ledger.store)}
        assert "after" in known
        assert len(known & {f"c{number}" for number in range(6)}) >= 5
        found = verify_directory(directory, ledger.store)
        assert not found.ok
        assert any(f"{journal.name}: byte " in broken.why for broken in found.broken), found.broken
    assert list(journal.parent.glob("*.broken")), "what is damaged is kept"


def test_what_a_crash_tore_is_no_damage() -> None:
    chain = Chain("w0123456789ab")
    entries = [chain.add(Draft(kind="decided", body=b'{"x":1}', time_ns=7, call_id=f"c{n}")) for n in range(3)]
    data = header(chain.writer) + b"".join(map(frame, entries))
    for end in range(len(data)):
        content = read_file(data[:end], chain.writer)
        assert not content.flaws, end
    for end in range(len(data)):
        assert not read_file(data[:end] + bytes(9), chain.writer).flaws or end > len(header(chain.writer))


def _delete_heads(directory: Path) -> None:
    shutil.rmtree(directory / "heads")


def _run_sql(directory: Path, sql: str) -> None:
    with sqlite3.connect(directory / "ledger.db") as database:
        database.execute(sql)
    database.close()


CUT = [
    ("cut", "DELETE FROM entries WHERE seq > 9"),
    ("edited to the end", "DELETE FROM entries WHERE seq > 5"),
    ("emptied", "DELETE FROM entries"),
    ("as it was", "SELECT 1"),
]


@pytest.mark.parametrize("reopened", [False, True], ids=["looked at", "written to afterwards"])
@pytest.mark.parametrize(("note", "sql"), CUT, ids=[case[0] for case in CUT])
def test_a_ledger_without_heads_is_not_whole(note: str, sql: str, reopened: bool, tmp_path: Path) -> None:
    filled(tmp_path)
    _run_sql(tmp_path, sql)
    _delete_heads(tmp_path)
    if reopened:  # the next head must not hide that there was none
        filled(tmp_path, 1)
    store = open_store(tmp_path / "ledger.db", read_only=True)
    found = verify_directory(tmp_path, store)
    store.close()
    assert not found.ok
    assert any("head" in broken.why and "missing" in broken.why for broken in found.broken), found.broken


HIDING = [
    ("terms without their first line end", "UPDATE entries SET terms = substr(terms, 2) WHERE terms <> ''"),
    ("terms with another line end", "UPDATE entries SET terms = replace(terms, char(10), char(10) || ' ') "),
    ("terms emptied", "UPDATE entries SET terms = ''"),
    ("text changed", "UPDATE entries SET text = 'nothing'"),
    ("calls left out of their index", "DELETE FROM calls"),
    ("words left out of theirs", "INSERT INTO words (words) VALUES ('delete-all')"),
    ("an index that says it has everything", "UPDATE indexed SET through = 1000000"),
]
PROVEN = {"terms emptied", "text changed", "terms with another line end"}
"""What can't be made good without the journal: the chain says that it was changed."""


@pytest.mark.parametrize(("note", "sql"), HIDING, ids=[case[0] for case in HIDING])
def test_nothing_hides_records_from_those_who_search(note: str, sql: str, tmp_path: Path) -> None:
    filled(tmp_path, 150)  # enough that there is an index
    _run_sql(tmp_path, sql)
    store = open_store(tmp_path / "ledger.db")
    assert not verify(store).ok, note
    if note not in PROVEN:
        store.reindex()
        assert verify(store).ok, verify(store).broken
        assert len(search(store, Query(path="/work/7.txt"), 10)) == 1
        assert len(search(store, Query(text="/work/7.txt"), 10)) == 1
        assert len(store.of_calls(["c7"])) == 2
    store.close()


def test_a_recovered_ledger_says_what_was_broken(tmp_path: Path) -> None:
    filled(tmp_path)
    _run_sql(tmp_path, "DELETE FROM entries WHERE seq > 9")
    done = recover_ledger(tmp_path, lambda: open_store(tmp_path / "ledger.db"))
    assert done.broken
    store = open_store(tmp_path / "ledger.db", read_only=True)
    found = verify_directory(tmp_path, store)
    assert (found.ok, {one.seq for one in found.known}) == (True, {one.seq for one in done.broken}), found
    store.close()
    _run_sql(tmp_path, "DELETE FROM entries WHERE seq = 4")
    store = open_store(tmp_path / "ledger.db", read_only=True)
    assert [broken.seq for broken in verify_directory(tmp_path, store).broken] == [4], "what is new is not known"
    store.close()


POSTGRES = [
    ("a row edited", "UPDATE interpose.entries SET decision = 'deny' WHERE seq = 3"),
    ("terms misspelled", "UPDATE interpose.entries SET terms = substr(terms, 2) WHERE terms <> ''"),
    ("the digests of words emptied", "UPDATE interpose.entries SET grams = '{}'"),
    ("the table truncated", "TRUNCATE interpose.entries"),
]


@pytest.mark.parametrize(("note", "sql"), POSTGRES, ids=[case[0] for case in POSTGRES])
def test_over_postgresql_verify_finds_the_same(note: str, sql: str, postgres_address: str, tmp_path: Path) -> None:
    with open_ledger(tmp_path, store_url=postgres_address) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        for number in range(5):
            run(engine, f"cat /work/{number}.txt")
        ledger.flush()
        assert verify_directory(tmp_path, ledger.store).ok
        changing = f"WITH x AS ({sql} RETURNING 1) SELECT 1" if sql.startswith("UPDATE") else sql
        ledger.store.write(changing)  # type: ignore[attr-defined]  # the store behind the protocol
        assert not verify_directory(tmp_path, ledger.store).ok, note
