"""Mixed calls with faults in between end with exactly one whole record for each call.

Seen to fail on a recorder that forgets decisions which could not be written when they were made.
"""

from __future__ import annotations

from pathlib import Path

from tests.faults.ledger_mixed import mixed


def test_every_call_has_one_whole_record(tmp_path: Path) -> None:
    result = mixed(tmp_path, 4000)
    assert result.missing == 0
    assert result.records == result.answers, "what the ledger says is what callers were told"
    assert result.verified
