"""Going on after `audit recover`: everything that was acknowledged is there, and only a recovery of now counts."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from interpose.engine.engine import Engine
from interpose.record.ledger import Ledger, verify_directory
from interpose.record.ledger.recovery import Recovery
from tests.support.hosts.hooked import until
from tests.support.ledgers import Faulty, ListStore, guarded, run


def _recorded(engine: Engine, name: str, count: int) -> set[str]:
    calls = {f"{name}-{number}" for number in range(count)}
    assert {run(engine, "echo 1", call_id=call_id) for call_id in calls} == {"done"}
    return calls


def _runs(engine: Engine) -> bool:
    return bool(run(engine, "echo 1", call_id="later") == "done")


def _known(store: ListStore) -> set[str]:
    return {entry.call_id for chain in store.chains.values() for entry in chain}


@pytest.mark.parametrize("kept", [0, 1, 39, 40], ids="the store kept {} of 40".format)
@pytest.mark.parametrize("cut", [False, True], ids=["the journal is whole", "the journal is cut"])
def test_what_the_store_lost_comes_from_the_journal_while_later_entries_wait(
    tmp_path: Path, kept: int, cut: bool
) -> None:
    """Seen to fail where what waited went to the store first: the journal's entries before it were taken for known."""
    store = ListStore()
    with Ledger(tmp_path, store) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        writer = ledger.writer_name
        _recorded(engine, "shipped", 20)
        assert ledger.flush()
        store.away = "database is locked"
        _recorded(engine, "waiting", 20)
        del store.chains[writer][kept:]
        if cut:
            (journal,) = tmp_path.glob("journals/*/*.journal")
            journal.write_bytes(b"")
        store.harmed = "ledger.db-wal was overwritten"
        until(lambda: not _runs(engine))
        store.away = ""
        Recovery(tmp_path).done()
        until(lambda: _runs(engine))
        assert ledger.flush()
        lost = {*range(kept + 1, 41)} if cut else set()
        assert {*range(1, 81)} - {entry.seq for entry in store.chains[writer]} == lost
        found = verify_directory(tmp_path, store)
        assert found.ok, found.broken
        assert any(" lost" in one.why for one in found.known) == bool(lost)


def test_a_recovery_of_before_answers_nothing_that_comes_after_it(tmp_path: Path) -> None:
    """Seen to fail where it did: the writer got other files by itself, and threw them away."""
    store = ListStore()
    with Ledger(tmp_path, store) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        Recovery(tmp_path).done()  # somebody ran it for another process
        for _ in range(3):
            before = _recorded(engine, "before", 2)
            ledger.writer._glanced = 0.0  # as if time had passed: it looks more closely
        store.harmed = "ledger.db was overwritten"
        until(lambda: not _runs(engine))
        assert not _runs(engine)
        assert store.harmed
        Recovery(tmp_path).done()
        until(lambda: _runs(engine))
        assert ledger.flush()
        assert before <= _known(store)
        assert verify_directory(tmp_path, store).ok


def test_who_finds_other_files_after_a_recovery_goes_on_by_itself(tmp_path: Path) -> None:
    """`audit recover` replaces a damaged file under processes that had not noticed anything."""
    store = ListStore()
    with Ledger(tmp_path, store) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        before = _recorded(engine, "before", 5)
        store.harmed = "ledger.db was replaced by another file"
        Recovery(tmp_path).done()
        until(lambda: not store.harmed)
        until(lambda: _runs(engine))
        assert ledger.flush()
        assert before <= _known(store)
        assert verify_directory(tmp_path, store).ok


@pytest.mark.parametrize("failing", ["journal", "store"])
def test_going_on_is_tried_until_the_storage_is_there(tmp_path: Path, failing: str) -> None:
    store, faulty = ListStore(), Faulty()
    with Ledger(tmp_path, store, journals=faulty.folder) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        before = _recorded(engine, "before", 5)
        store.harmed = "ledger.db was overwritten"
        until(lambda: not _runs(engine))
        if failing == "journal":
            faulty.error = errno.ENOSPC
        else:
            store.away = "database is locked"
        Recovery(tmp_path).done()
        until(lambda: "recover" not in ledger.status().problem)
        assert not _runs(engine)
        assert not _runs(engine)
        faulty.error, store.away = 0, ""
        until(lambda: _runs(engine))
        assert ledger.flush()
        assert before <= _known(store)
        found = verify_directory(tmp_path, store)
        assert found.ok, found.broken
