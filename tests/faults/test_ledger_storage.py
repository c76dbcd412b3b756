"""Storage that is full, read-only or hangs: the answer is a refusal, in time, and it ends by itself.

Seen to fail on: a journal that swallows the error of a write (calls ran), one that does not cut off half a write
(records were lost), a submit that waits behind a hanging write instead of saying so at once.
"""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from interpose.engine.engine import Engine
from interpose.record.ledger import Ledger, LedgerSettings, verify_directory
from interpose.record.store.sqlite import SqliteStore
from tests.support.ledgers import Faulty, ListStore, all_records, guarded, run, shell_call
from tests.support.timing.patience import PATIENCE

HANG = 2.0
"""A deadline that is told from `at once` on a busy machine, too."""

FAULTS = [("disk full", errno.ENOSPC), ("an error of the disk", errno.EIO), ("read-only", errno.EROFS),
          ("quota", errno.EDQUOT)]  # fmt: skip


def is_unavailable(answer: Any) -> bool:
    return isinstance(answer, dict) and str(answer.get("reason", "")).startswith("audit_unavailable")


@pytest.mark.parametrize("level", ["written", "durable"])
@pytest.mark.parametrize("partial", [False, True], ids=["nothing written", "half written"])
@pytest.mark.parametrize(("note", "error"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_no_record_no_execution(tmp_path: Path, note: str, error: int, partial: bool, level: Any) -> None:
    store, faulty, ran = ListStore(), Faulty(), list[Any]()
    with Ledger(tmp_path, store, LedgerSettings(level=level), journals=faulty.folder) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        assert run(engine, "echo before") == "done"
        faulty.error, faulty.partial = error, partial
        answers = [engine.run_tool(shell_call(f"echo {number}"), ran.append) for number in range(20)]
        assert all(is_unavailable(answer) for answer in answers), note
        assert not ran
        assert run(engine, "rm -rf /")["reason"] == "no removal"
        faulty.error, faulty.partial = 0, False
        assert run(engine, "echo after") == "done"
    found = all_records(store)
    assert len(found) == 23
    assert {record.outcome for record in found} == {"success", "denied"}
    assert sum(record.rule == "audit_unavailable" for record in found) == 20
    assert verify_directory(tmp_path, store).ok


def test_an_operator_may_choose_to_go_on(tmp_path: Path) -> None:
    store, faulty = ListStore(), Faulty()
    with Ledger(tmp_path, store, LedgerSettings(on_failure="allow"), journals=faulty.folder) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        faulty.error = errno.ENOSPC
        assert run(engine, "echo unrecorded") == "done"
        assert ledger.status().problem
        faulty.error = 0
        assert run(engine, "echo recorded") == "done"
    assert [record.outcome for record in all_records(store)] == ["success", "success"]


def test_records_come_late_without_another_call(tmp_path: Path) -> None:
    store, faulty = ListStore(), Faulty()
    with Ledger(tmp_path, store, journals=faulty.folder) as ledger:
        faulty.error = errno.ENOSPC
        assert is_unavailable(run(Engine(guarded(), recorder=ledger.recorder), "echo 1"))
        faulty.error = 0
    assert [record.rule for record in all_records(store)] == ["audit_unavailable"]


def test_storage_that_hangs_is_answered_in_time(tmp_path: Path) -> None:
    store, faulty, ran = ListStore(), Faulty(), list[Any]()
    with Ledger(tmp_path, store, LedgerSettings(deadline=HANG), journals=faulty.folder) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        run(engine, "echo before")
        faulty.gate.clear()
        took: list[float] = []
        for number in range(5):
            start = monotonic()
            assert is_unavailable(engine.run_tool(shell_call(f"echo {number}"), ran.append))
            took.append(monotonic() - start)
        assert max(took) < 2 * HANG
        assert max(took[1:]) < HANG / 2, "while one write hangs, the others are told at once"
        faulty.gate.set()
        assert _until_it_works(engine)
    assert not ran
    found = [record for record in all_records(store) if record.rule == "audit_unavailable"]
    assert len(found) >= 5
    assert {record.outcome for record in all_records(store)} == {"success", "denied"}
    assert verify_directory(tmp_path, store).ok


def _until_it_works(engine: Engine) -> bool:
    end = monotonic() + PATIENCE
    while monotonic() < end:
        if run(engine, "echo again") == "done":
            return True
    return False


def test_a_hang_does_not_hold_an_event_loop(tmp_path: Path) -> None:
    faulty = Faulty()
    settings = LedgerSettings(deadline=HANG)

    async def calls(engine: Engine) -> tuple[list[Any], int]:
        beats = 0

        async def heart() -> None:
            nonlocal beats
            while True:
                await asyncio.sleep(0.01)
                beats += 1

        beating = asyncio.create_task(heart())
        work = [engine.arun_tool(shell_call(f"echo {number}"), lambda _arguments: "ran") for number in range(10)]
        answers = await asyncio.gather(*work)
        beating.cancel()
        return answers, beats

    with Ledger(tmp_path, ListStore(), settings, journals=faulty.folder) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        faulty.gate.clear()
        start = monotonic()
        answers, beats = asyncio.run(calls(engine))
        assert monotonic() - start < 2 * HANG, "and not ten times"
        assert all(is_unavailable(answer) for answer in answers)
        assert beats >= 5
        faulty.gate.set()


def test_a_store_that_is_away_loses_nothing(tmp_path: Path) -> None:
    store = ListStore()
    store.away = "no connection"
    with Ledger(tmp_path, store) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        for number in range(50):
            assert run(engine, f"echo {number}") == "done"
        ledger.flush(0.1)
        assert ledger.status().problem == "no connection"
        ledger.close(timeout=0.2)
    assert not all_records(store)
    store.away = ""
    with Ledger(tmp_path, store):
        assert len(all_records(store)) == 50
    assert verify_directory(tmp_path, store).ok


def test_half_a_write_hides_nothing_behind_it(tmp_path: Path) -> None:
    store, faulty = ListStore(), Faulty()
    store.away = "no connection"
    with Ledger(tmp_path, store, journals=faulty.folder) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        assert run(engine, "echo before") == "done"
        faulty.error, faulty.partial = errno.ENOSPC, True
        assert is_unavailable(run(engine, "echo full"))
        faulty.error, faulty.partial = 0, False
        assert run(engine, "echo after") == "done"
        ledger.close(timeout=0.2)
    store.away = ""
    with Ledger(tmp_path, store):
        assert sorted(str(record.arguments) for record in all_records(store)) == [
            "{'command': 'echo after'}", "{'command': 'echo before'}", "{'command': 'echo full'}",
        ]  # fmt: skip


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    import subprocess

    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(disk)], check=False)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        _fill_and_free(disk)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def _write_for_ever(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def _fill_and_free(disk: Path) -> None:
    ballast = disk / "ballast"
    store = SqliteStore(disk / "ledger.db")
    with Ledger(disk, store, owns_store=True) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        assert run(engine, "echo before") == "done"
        ledger.flush()
        with pytest.raises(OSError, match="No space"):
            _write_for_ever(ballast)
        answers = [run(engine, f"echo {number}", "x" * 2000) for number in range(100)]
        refused = [answer for answer in answers if is_unavailable(answer)]
        assert len(refused) > 50
        ballast.unlink()
        assert _until_it_works(engine)
        assert ledger.flush(5)
        found = all_records(store)
        assert len(found) >= 102
        assert sum(record.rule == "audit_unavailable" for record in found) == len(refused)
        assert verify_directory(disk, store).ok
