"""Mixed calls with faults in between end with exactly one whole record for each call, and it says what callers heard.

Seen to fail on a recorder that forgets decisions which could not be written when they were made, and on a journal with
a buffer of its own.
"""

from __future__ import annotations

from pathlib import Path

from tests.faults.ledger_mixed import mixed
from tests.support.servers.postgres import Server


def test_every_call_has_one_whole_record(tmp_path: Path) -> None:
    result = mixed(tmp_path, 4000, kills=2)
    assert result.wrong == ()
    assert result.unrecorded > 0, "no fault was met"
    assert result.verified


def test_every_call_has_one_whole_record_over_postgresql(tmp_path: Path) -> None:
    with Server() as server:
        result = mixed(tmp_path, 2400, kills=1, server=server, restarts=1)
    assert result.wrong == ()
    assert result.verified
