"""Every way in which the ledger can't be written names the file, the cause and the next step, on every surface.

Seen to fail on: an error of the system that is passed on as it is (no file), one table of remedies less.
"""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interpose.composition.build import open_ledger
from interpose.core.config.ledger import LogSettings
from interpose.core.errors import LedgerError, StoreError
from interpose.core.formats.unwritable import AGAIN, reason_and_remedy
from interpose.engine.engine import Engine
from interpose.record.ledger import Ledger, LedgerSettings
from tests.e2e.processes import ServerProcess, clean_environment
from tests.support.ledgers import Faulty, ListStore, guarded, run
from tests.support.timing.patience import PATIENCE

CAUSES = [
    # note, error number, cause, next step
    ("a full disk", errno.ENOSPC, "the disk is full", "Make room on it: `df -h "),
    ("a quota", errno.EDQUOT, "the disk quota is used up", "Make room"),
    ("read-only", errno.EROFS, "the file system is read-only", "name another place as `ledger.directory`"),
    ("another's, or a mode", errno.EACCES, f"user {os.geteuid()} may not write there", "`chmod -R u+rwX "),
    ("a failing disk", errno.EIO, "the disk fails", "Look at `dmesg`"),
    ("too many files", errno.EMFILE, "too many files open", "`ulimit -n`"),
    ("something else", errno.EINVAL, "EINVAL", "`interpose doctor` looks at it"),
]


def _unnumbered(text: str) -> str:
    return re.sub(r"\d+\.journal", "N.journal", text)


@pytest.mark.parametrize(("note", "number", "cause", "step"), CAUSES, ids=[case[0] for case in CAUSES])
def test_an_error_of_the_system_becomes_a_file_a_cause_and_a_step(
    note: str, number: int, cause: str, step: str, tmp_path: Path
) -> None:
    faulty = Faulty()
    with Ledger(tmp_path, ListStore(), LedgerSettings(), journals=faulty.folder) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        faulty.error = number
        reason = str(run(engine, "echo hi")["reason"])
        problem = ledger.status().problem
        faulty.error = 0
        assert run(engine, "echo after") == "done"
    assert reason.startswith(f"audit_unavailable: {tmp_path}/journals/"), note
    assert cause in reason
    assert step in reason
    assert reason.endswith(AGAIN)
    # The ledger tries again by itself, in another file.
    assert _unnumbered(reason) == _unnumbered(f"audit_unavailable: {problem}")


def test_a_log_that_must_be_written_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("no directory")
    log = LogSettings(path=str(tmp_path / "taken" / "audit.log"), on_failure="deny")
    with open_ledger(tmp_path / "ledger", LedgerSettings(log=log)) as ledger:
        reason = str(run(Engine(guarded(), recorder=ledger.recorder), "echo hi")["reason"])
    assert reason.startswith(f"audit_unavailable: {tmp_path}/taken"), reason
    assert reason.endswith(AGAIN)


def test_whose_the_place_is_decides_what_to_do(tmp_path: Path) -> None:
    assert "chmod -R u+rwX" in reason_and_remedy(str(tmp_path / "x"), errno.EACCES)[1]
    if os.geteuid() == 0:
        os.chown(tmp_path, 65534, 65534)
        assert f"sudo chown -R 0 {tmp_path}" in reason_and_remedy(str(tmp_path / "x"), errno.EPERM)[1]


def _garbage(ledger: Path) -> str:
    ledger.mkdir(parents=True, mode=0o700)
    (ledger / "ledger.db").write_bytes(b"no database" * 1000)
    (ledger / "ledger.db").chmod(0o600)
    return f"{ledger}/ledger.db: file is not a database. `interpose audit recover`"


def _file_in_its_place(ledger: Path) -> str:
    ledger.parent.mkdir(parents=True, mode=0o700)
    ledger.write_text("not a directory")
    return "the ledger's directory can't be made"


def _of_others(ledger: Path) -> str:
    ledger.mkdir(parents=True, mode=0o700)
    ledger.chmod(0o777)
    return f"run: chmod go-w {ledger}"


def _half_a_key(ledger: Path) -> str:
    ledger.mkdir(parents=True, mode=0o700)
    (ledger / "key").write_bytes(b"short")
    (ledger / "key").chmod(0o600)
    return f"key {ledger}/key does not have 32 bytes. Put your copy of it back"


BROKEN: list[Callable[[Path], str]] = [_garbage, _file_in_its_place, _of_others, _half_a_key]


@pytest.mark.parametrize("spoil", BROKEN)
def test_a_ledger_that_can_t_be_opened_names_its_file_and_the_step(
    spoil: Callable[[Path], str], tmp_path: Path
) -> None:
    """In the library, in a hook, and in `interpose run`."""
    ledger = tmp_path / ".local" / "state" / "interpose" / "ledger"
    said = spoil(ledger)
    with pytest.raises((LedgerError, StoreError)) as caught:
        open_ledger(ledger)
    assert said in str(caught.value)
    event = {
        "session_id": "s", "cwd": "/tmp", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "true"},
    }  # fmt: skip
    hook = _command(tmp_path, ["hook", "claude-code", "--in-process"], json.dumps(event))
    assert hook.returncode == 2
    assert said in hook.stderr
    ran = _command(tmp_path, ["run", "--", "touch", str(tmp_path / "ran")])
    assert ran.returncode != 0
    assert said in ran.stderr
    assert not (tmp_path / "ran").exists()


def _command(home: Path, words: list[str], given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "interpose", *words], input=given, env=clean_environment(home), cwd=home,
        capture_output=True, text=True, check=False, timeout=PATIENCE,
    )  # fmt: skip


def test_files_that_somebody_was_at_are_named_on_every_surface(tmp_path: Path) -> None:
    """By the server over HTTP, by its hooks and by `interpose run`: which file, and `interpose audit recover`."""
    with ServerProcess(tmp_path) as server:
        assert server.intercept("echo hi")["valid"]
        database = tmp_path / ".local" / "state" / "interpose" / "ledger" / "ledger.db"
        database.rename(database.with_name("moved"))
        # What was looked at a moment ago is not looked at again.
        answer = next(answer for _ in range(200) if not (answer := server.intercept("echo again"))["valid"])
        (result,) = answer["info"]["results"]
        wanted = f"{database} was removed or moved away. Nothing runs until `interpose audit recover` was run"
        assert (result["policy_name"], wanted in json.dumps(answer)) == ("audit_unavailable", True)
        said = json.loads(_hooked(tmp_path))["hookSpecificOutput"]["permissionDecisionReason"]
        assert said == f"Interpose refused this (audit_unavailable): {wanted}"
        ran = _command(tmp_path, ["run", "--", "touch", str(tmp_path / "ran")])
        assert wanted in ran.stderr
        assert not (tmp_path / "ran").exists()


def _hooked(home: Path) -> Any:
    event = {
        "session_id": "s", "cwd": "/tmp", "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": {"command": "true"},
    }  # fmt: skip
    done = _command(home, ["hook", "claude-code"], json.dumps(event))
    assert done.returncode == 0, done.stderr
    return done.stdout
