"""`scripts/first-hour` needs the real agent; this holds that it would notice what is left."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.agents.fetch import name_of
from tests.package.first_hour import AGENT as CLAUDE
from tests.package.first_hour import BEGINNINGS, COMMENTED, FailedError, NewUser, Steps
from tests.package.remains import processes_of, remains


def _directory(home: Path) -> None:
    (home / ".local" / "state" / "interpose").mkdir(parents=True)


def _hook(home: Path) -> None:
    (home / "settings.json").write_text('{"hooks": {"PreToolUse": "/x/Interpose/hooks/claude-code"}}')


def _link(home: Path) -> None:
    (home / "x").symlink_to("/nowhere/interpose")


@pytest.mark.parametrize("leave", [_directory, _hook, _link])
def test_what_is_left_is_found(leave: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("mine")
    assert remains(tmp_path) == []
    leave(tmp_path)
    assert len(remains(tmp_path)) == 1


def test_what_the_agent_wrote_down_is_its_own(tmp_path: Path) -> None:
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    (tmp_path / ".claude" / "projects" / "session.jsonl").write_text("Refused by Interpose")
    assert remains(tmp_path) == []


def test_a_process_is_found_by_its_home(tmp_path: Path) -> None:
    assert processes_of(tmp_path) == []
    code = "print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], env={"HOME": str(tmp_path)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert [f"process {child.pid} " in one for one in processes_of(tmp_path)] == [True]
        child.kill()


@pytest.fixture
def user(tmp_path: Path) -> NewUser:
    return NewUser(tmp_path, Path(sys.executable).parent, {name_of(CLAUDE.packages[0]): tmp_path}, BEGINNINGS[1])


def test_other_bytes_in_the_settings_are_noticed(user: NewUser) -> None:
    assert "same bytes" in user.clean()
    user.settings.write_bytes(user.settings.read_bytes() + b"\n")
    with pytest.raises(FailedError, match="is not what it was"):
        user.clean()


def test_a_step_that_fails_is_told(user: NewUser, capsys: pytest.CaptureFixture[str]) -> None:
    steps = Steps()
    taken = [steps.take("one", lambda: "fine"), steps.take("two", lambda: user.interpose("frobnicate"))]
    assert (taken, steps.failed) == ([True, False], True)
    shown = capsys.readouterr().out.splitlines()
    assert (shown[0].split()[:2], shown[1].split()[:2]) == (["ok", "one"], ["FAIL", "two"])


def test_comments_are_refused(tmp_path: Path) -> None:
    user = NewUser(tmp_path, Path(sys.executable).parent, {name_of(CLAUDE.packages[0]): tmp_path}, COMMENTED)
    assert "a comment" in user.refused()
    assert user.clean()
