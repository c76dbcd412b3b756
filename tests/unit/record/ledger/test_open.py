"""Opening a ledger: over SQLite in its directory or over PostgreSQL, and what is said when that is not possible."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from interpose.composition.build import open_ledger
from interpose.core.errors import InterposeError, LedgerError, StoreError
from interpose.engine.engine import Engine
from interpose.record.ledger import LedgerSettings, verify_directory
from tests.support.ledgers import all_records, guarded, run


def test_over_postgresql_the_directory_keeps_key_and_journal(tmp_path: Path, postgres_address: str) -> None:
    with open_ledger(tmp_path / "state", store_url=postgres_address) as ledger:
        run(Engine(guarded(), recorder=ledger.recorder), "ls")
        ledger.flush()
        assert [record.outcome for record in all_records(ledger.store)] == ["success"]
        assert verify_directory(tmp_path / "state", ledger.store).ok
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == ["heads", "journals", "key"]
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


WRONG: list[tuple[str, str, str, type[InterposeError], str]] = [
    ("another sort of store", "state", "mysql://localhost/x", StoreError, "postgresql://"),
    ("a path for an address", "state", "/var/lib/ledger.db", StoreError, "not at all for SQLite"),
    ("no server there", "state", "postgresql://x@/x?host=/nope", StoreError, ""),
    ("a directory under a file", "file/state", "", LedgerError, "can't be made"),
]


@pytest.mark.parametrize(("note", "where", "url", "kind", "said"), WRONG, ids=[case[0] for case in WRONG])
def test_what_can_not_be_opened_is_said(
    tmp_path: Path, note: str, where: str, url: str, kind: type[InterposeError], said: str
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(kind) as refused:
        open_ledger(tmp_path / where, store_url=url)
    assert said in str(refused.value), note


@pytest.mark.parametrize(
    ("note", "free", "blocks", "settings", "said"),
    [
        ("plenty", 100 << 30, 200 << 30, LedgerSettings(), ""),
        ("nearly full, and nothing is ever removed", 512 << 20, 200 << 30, LedgerSettings(), "set ledger.max_bytes"),
        (
            "nearly full, and records are removed",
            512 << 20,
            200 << 30,
            LedgerSettings(max_age_days=9),
            "free some",
        ),
        ("a small disk with room", 512 << 20, 4 << 30, LedgerSettings(), ""),
        ("a small disk", 100 << 20, 4 << 30, LedgerSettings(), "100 MB are left"),
    ],
)
def test_a_disk_that_fills_is_said_in_time(
    note: str,
    free: int,
    blocks: int,
    settings: LedgerSettings,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with open_ledger(tmp_path, settings) as ledger:
        with monkeypatch.context() as patched:
            disk = SimpleNamespace(f_bavail=free >> 12, f_blocks=blocks >> 12, f_frsize=4096, f_flag=0)
            patched.setattr("os.statvfs", lambda _path: disk)
            problem = ledger.status().space_problem
        assert (said in problem) if said else problem == "", note
