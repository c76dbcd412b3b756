"""A ledger that others could have written is not used, nor a key that others could have read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interpose.composition.build import open_ledger
from interpose.core.errors import LedgerError


@pytest.mark.parametrize(
    ("name", "mode", "fix"),
    [
        ("", 0o775, "go-w"),
        ("", 0o777, "go-w"),
        ("ledger.db", 0o666, "go-w"),
        ("key", 0o640, "go-rwx"),
        ("key", 0o604, "go-rwx"),
    ],
)
def test_what_others_can_reach_is_refused_and_says_what_to_do(tmp_path: Path, name: str, mode: int, fix: str) -> None:
    directory = tmp_path / "ledger"
    open_ledger(directory).close()
    loose = directory / name if name else directory
    before = loose.stat().st_mode
    loose.chmod(mode)
    with pytest.raises(LedgerError, match=rf"mode {mode:04o}\); run: chmod {fix} {loose}"):
        open_ledger(directory)
    loose.chmod(before)
    open_ledger(directory).close()


@pytest.mark.skipif(os.geteuid() != 0, reason="GIVING FILES TO ANOTHER USER NEEDS ROOT")
@pytest.mark.parametrize("name", ["", "key", "ledger.db"])
def test_what_is_another_users_is_refused(tmp_path: Path, name: str) -> None:
    directory = tmp_path / "ledger"
    open_ledger(directory).close()
    os.chown(directory / name, 64_123, 64_123)
    with pytest.raises(LedgerError, match="belongs to another user"):
        open_ledger(directory)
