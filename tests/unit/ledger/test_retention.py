"""What is too old or too much goes, and what stays still verifies."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from interpose.build import open_ledger
from interpose.engine import Engine
from interpose.ledger import Ledger, LedgerSettings, retain, verify_directory
from tests.ledgers import ListStore, all_records, guarded, run

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
    with Ledger(tmp_path, store, LedgerSettings(max_bytes=8000, checkpoint_every=50)) as ledger:
        for number in range(100):
            run(Engine(guarded(), recorder=ledger.recorder), f"echo {number}")
        ledger.flush()
        assert store.size() > 8000
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
