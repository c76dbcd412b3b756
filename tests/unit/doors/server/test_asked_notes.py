"""What a status line shows while a hook waits: the question, its rule, its id and the time left, and nothing else."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from time import time

import pytest
from msgspec.structs import replace

from interpose.core.types import Finding, HookPoint
from interpose.doors.hooks.clients.client_files import notes_directory
from interpose.doors.server.asked_notes import AskedNotes
from interpose.people.approvals.questions import Question
from tests.support.hosts.hooked import Hooks
from tests.support.timing.patience import PATIENCE

NOW = datetime(2026, 1, 31, 8, tzinfo=UTC)
ASKED = Question(
    id="kj4m2qxr", asked=NOW, expires=NOW, message="Overwrites what others\nhave pushed.", point=HookPoint.TOOL_BEFORE,
    tool="exec", arguments={}, session="7f3a-1",
    findings=(Finding(interceptor="x", said="ask", reason="r", rule="push"),),
)  # fmt: skip


@pytest.fixture
def hooks(tmp_path: Path) -> Hooks:
    return Hooks(tmp_path)


@pytest.fixture
def notes(hooks: Hooks) -> AskedNotes:
    return AskedNotes(notes_directory(str(hooks.socket)))


def shown(hooks: Hooks, session: str = "7f3a-1", **more: str) -> list[str]:
    told = json.dumps({"session_id": session, "version": "2.1.327", **more}).encode()
    done = subprocess.run([str(hooks.line)], check=True, capture_output=True, input=told, timeout=PATIENCE)
    assert done.stderr == b""
    return done.stdout.decode().splitlines()


def test_a_question_is_shown_as_long_as_it_is_waited_for(hooks: Hooks, notes: AskedNotes) -> None:
    assert shown(hooks) == []
    notes.put(ASKED, 30)
    first, second = shown(hooks)
    left, _, text = first.partition(" s left: ")
    assert 0 < int(left) <= 30
    assert text == "Interpose asks kj4m2qxr (push): Overwrites what others\\nhave pushed."
    assert second == "Answer: interpose approvals approve kj4m2qxr (or: interpose approvals watch), in another terminal"
    assert shown(hooks, "another") == []
    notes.remove(ASKED)
    assert shown(hooks) == []


def test_several_are_shown_and_those_that_are_over_are_not(hooks: Hooks, notes: AskedNotes) -> None:
    notes.put(ASKED, 30)
    notes.put(replace(ASKED, id="aaaa2222"), 60)
    notes.put(replace(ASKED, id="bbbb3333"), -1)  # a server that was killed left it
    text = "\n".join(shown(hooks))
    assert "kj4m2qxr" in text
    assert "aaaa2222" in text
    assert "bbbb3333" not in text
    notes.clear()
    assert shown(hooks) == []


@pytest.mark.parametrize("session", ["../x", "", "a" * 200, "a/b", "a.b", "*"])
def test_a_session_that_can_be_no_file_has_no_note(
    hooks: Hooks, notes: AskedNotes, session: str, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    notes.put(replace(ASKED, session=session), 30)
    notes.remove(replace(ASKED, session=session))
    assert sorted(tmp_path.rglob("*")) == before
    assert shown(hooks, session) == []


def test_nothing_that_others_put_there_is_shown(hooks: Hooks, notes: AskedNotes) -> None:
    notes.put(ASKED, 30)
    place = notes_directory(str(hooks.socket))
    (place / "7f3a-1.link").symlink_to(place / "7f3a-1.kj4m2qxr")
    (place / "7f3a-1.words").write_text("soon something\nelse\n")
    (place / "7f3a-1.half").write_text(f"{time() + 9:.0f} no second line")
    assert len(shown(hooks)) == 2


def test_a_question_that_can_not_be_noted_waits_all_the_same(tmp_path: Path) -> None:
    notes = AskedNotes(tmp_path / "gone" / "asked")
    notes.put(ASKED, 30)
    notes.remove(ASKED)


def test_letters_that_steer_a_terminal_are_spelled_out(hooks: Hooks, notes: AskedNotes) -> None:
    notes.put(replace(ASKED, message="\x1b[2J wiped \u202e"), 30)
    assert shown(hooks)[0].endswith("\\x1b[2J wiped \\u202e")


def test_a_name_in_what_the_agent_says_is_not_its_session(hooks: Hooks, notes: AskedNotes) -> None:
    notes.put(ASKED, 30)
    assert shown(hooks, "other", cwd='/tmp/"session_id":"7f3a-1"') == []
