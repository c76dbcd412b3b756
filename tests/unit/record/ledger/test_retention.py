"""What is too old or too much goes, and what stays still verifies."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from interpose.composition.build import open_ledger
from interpose.engine.engine import Engine
from interpose.record.ledger import Ledger, LedgerSettings, retain, verify_directory
from interpose.record.ledger.retention import Retention
from interpose.record.store import open_store
from interpose.record.store.protocols import StoredEntry
from tests.support.ledgers import ListStore, all_records, guarded, run
from tests.support.timing.patience import PATIENCE

DAY = 86_400_000_000_000


def test_old_entries_go_and_the_chain_still_verifies(tmp_path: Path) -> None:
    with open_ledger(tmp_path, LedgerSettings(max_age_days=1, checkpoint_every=5)) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        for number in range(20):
            run(engine, f"echo {number}")
        ledger.flush()
        last = all_records(ledger.store)[0].time_ns
        assert retain(ledger, now_ns=last) == 0
        assert retain(ledger, now_ns=last + DAY) > 30
        run(engine, "echo after")
        ledger.flush()
        assert next(record.arguments for record in all_records(ledger.store)) == {"command": "echo after"}
        assert len(all_records(ledger.store)) < 5
        assert retain(ledger, now_ns=last + 2 * DAY) > 0
        found = verify_directory(tmp_path, ledger.store)
        assert found.ok, found.broken


def test_a_size_is_kept(tmp_path: Path) -> None:
    store = ListStore()
    with Ledger(tmp_path, store, LedgerSettings(checkpoint_every=50)) as ledger:
        for number in range(100):
            run(Engine(guarded(), recorder=ledger.recorder), f"echo {number}")
        ledger.flush()
        assert store.size() > 8000
        ledger.settings = LedgerSettings(max_bytes=8000)
        assert retain(ledger) > 0
        assert store.size() <= 8000
        assert len(all_records(store)) > 5
        assert verify_directory(tmp_path, store).ok


def test_a_removal_that_nobody_signed_for_is_found(tmp_path: Path) -> None:
    store = ListStore()
    with Ledger(tmp_path, store, LedgerSettings(max_age_days=1)) as ledger:
        for number in range(10):
            run(Engine(guarded(), recorder=ledger.recorder), f"echo {number}")
        ledger.flush()
        chain = store.chains[ledger.writer_name]
        middle = replace(chain[9], position=0).time_ns
        retain(ledger, now_ns=middle + DAY)
        assert verify_directory(tmp_path, store).ok
        store.drop(ledger.writer_name, store.chains[ledger.writer_name][1].seq)
        (broken,) = verify_directory(tmp_path, store).broken
        assert broken.seq == 1


class Rounds:
    """A pause that ends when the test says so, and tells it that a round is over."""

    def __init__(self) -> None:
        self.waited: list[float] = []
        self.over, self.go_on = threading.Semaphore(0), threading.Semaphore(0)
        self.ended = False

    def __call__(self, seconds: float) -> bool:
        self.waited.append(seconds)
        self.over.release()
        assert self.go_on.acquire(timeout=PATIENCE)
        return self.ended

    def next(self) -> None:
        self.go_on.release()
        assert self.over.acquire(timeout=PATIENCE)


def test_it_runs_by_itself_and_goes_on_after_a_failure(tmp_path: Path) -> None:
    store, rounds = ListStore(), Rounds()
    with Ledger(tmp_path, store, LedgerSettings(checkpoint_every=50, retain_every=7)) as ledger:
        for number in range(60):
            run(Engine(guarded(), recorder=ledger.recorder), f"echo {number}")
        ledger.flush()
        ledger.settings = replace(ledger.settings, max_bytes=8000)
        retention = Retention(ledger, rounds)
        assert rounds.over.acquire(timeout=PATIENCE)
        assert store.size() <= 8000, "at the start"
        ledger.settings = replace(ledger.settings, max_bytes=6000)
        broken, ledger.store = ledger.store, None  # type: ignore[assignment]  # a store that fails in any way
        rounds.next()
        assert retention.problem
        ledger.store = broken
        rounds.next()
        assert retention.problem == ""
        assert store.size() <= 6000
        rounds.ended = True
        rounds.go_on.release()
        retention.close(10)
        assert rounds.waited == [7, 7, 7]
        assert verify_directory(tmp_path, store).ok


def test_a_ledger_retains_at_its_start(tmp_path: Path) -> None:
    with open_ledger(tmp_path) as ledger:
        for number in range(60):
            run(Engine(guarded(), recorder=ledger.recorder), f"echo {number}")
    gone = threading.Event()

    class Told(ListStore):
        def drop(self, writer: str, through_seq: int) -> int:
            count = super().drop(writer, through_seq)
            gone.set()
            return count

    told = Told()
    told.append([entry for writer in ledger_entries(tmp_path) for entry in writer])
    with Ledger(tmp_path, told, LedgerSettings(max_age_days=1e-9)) as ledger:
        assert gone.wait(PATIENCE)
        assert ledger.status().retention_problem == ""


def ledger_entries(directory: Path) -> list[list[StoredEntry]]:
    store = open_store(directory / "ledger.db", read_only=True)
    try:
        return [store.scan(writer, 0, 1000) for writer in store.writers()]
    finally:
        store.close()


def test_few_go_at_a_time_and_every_step_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a removal is broken off, the chain verifies."""
    monkeypatch.setattr("interpose.record.ledger.retention.AT_ONCE", 10)
    store = ListStore()
    with Ledger(tmp_path, store, LedgerSettings(checkpoint_every=50)) as ledger:
        for number in range(30):
            run(Engine(guarded(), recorder=ledger.recorder), f"echo {number}")
        ledger.flush()
        ledger.settings = LedgerSettings(max_age_days=1)
        last = store.chains[ledger.writer_name][-1].time_ns
        steps = 0

        def broken_off() -> bool:
            nonlocal steps
            steps += 1
            assert verify_directory(tmp_path, store).ok
            return steps > 4

        assert retain(ledger, now_ns=last + DAY, stopped=broken_off) == 40
