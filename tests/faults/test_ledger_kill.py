"""kill -9 at random moments under load: nothing that was acknowledged is lost, and the chain verifies.

Seen to fail on the broken variant that is tested here too: a journal with a buffer of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from interpose.build import open_ledger
from interpose.ledger import verify_directory
from tests.faults.ledger_kills import kill_once


@pytest.mark.parametrize("group", range(6))
def test_thirty_kills_lose_nothing(tmp_path: Path, group: int) -> None:
    for number in range(5):
        killed = kill_once(tmp_path, group * 5 + number, "durable" if group % 3 == 2 else "written")
        assert killed.lost == 0
        assert killed.verified


def test_a_buffering_journal_is_found_out(tmp_path: Path) -> None:
    assert sum(kill_once(tmp_path / str(seed), seed, "written", "buffered").lost for seed in range(3)) > 0


def test_a_torn_end_is_repaired_and_noted(tmp_path: Path) -> None:
    kill_once(tmp_path, 5)
    with open_ledger(tmp_path) as ledger:
        before = verify_directory(tmp_path, ledger.store)
        journal = tmp_path / "journals" / ledger.writer_name
    (journal / "9999999999.journal").write_bytes(b"\0\0\1\0half an entry")
    with open_ledger(tmp_path) as ledger:
        after = verify_directory(tmp_path, ledger.store)
        assert (after.ok, after.repairs) == (True, before.repairs + 1)


def test_two_writers_and_one_is_killed(tmp_path: Path) -> None:
    with open_ledger(tmp_path) as survivor:
        killed = kill_once(tmp_path, 7)
        assert (killed.lost, killed.verified) == (0, True)
        assert verify_directory(tmp_path, survivor.store).writers >= 1
