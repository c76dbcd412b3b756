"""Edits, kinds, words, several questions at once, later, and `interpose approvals pause`, against a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interpose.core.answers import Approved, Edited, Pending
from interpose.core.types import Context, Deny, Finding, PermissionRequest, ToolCall
from interpose.doors.cli import main
from interpose.doors.cli.pause import minutes_of
from interpose.people.approvals.desk import Desk
from tests.unit.doors.cli.test_approvals import ME, ask, desk, queued, said

__all__ = ["desk"]  # the fixture


def request(command: str, rule: str = "git/push") -> PermissionRequest:
    context = Context(session_id="s1", agent_id="main", principal="user:dora", cwd="/work", source="hook:x")
    found = Finding(interceptor="g", said="ask", reason="It publishes", rule=rule)
    return PermissionRequest("?", ToolCall("exec", {"command": command, "timeout": 5}, context=context), (found,))


def test_show_says_what_it_does_and_what_it_could_be_widened_to(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    id = queued(desk, request("git push origin feature/x"))
    shown = said(capsys, "approvals", "show", id)[1]
    assert "  it   publishes to origin feature/x\n" in shown
    assert "  W1  the same command for other branches: publish to origin, feature/* (of the last 0" in shown


def test_edited_by_a_file(desk: Desk, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    id, file = queued(desk, request("git push --force")), tmp_path / "call.json"
    file.write_text('{"command": "git push", "timeout": 5}')
    code, out, _ = said(capsys, "approvals", "approve", id, "--edit", str(file), "--comment", "never force")
    assert (code, f"by {ME}" in out, ", edited" in out) == (0, True, True)
    assert '-  "command": "git push --force",' in out
    assert "Note  this agent's host has no place for a word" in out
    assert ask(desk, request("git push --force")) == Edited({"command": "git push", "timeout": 5}, ME, id)
    assert "once, 1 left, edited" in said(capsys, "grants", "list")[1]
    assert ask(desk, request("git push")) == Approved(f"grant:{id} of {ME}", "never force")


def test_edited_by_its_arguments(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    id = queued(desk, request("git push --force"))
    assert said(capsys, "approvals", "approve", id, "--set", "command=git push", "--set", "timeout=7")[0] == 0
    assert ask(desk, request("git push --force")) == Edited({"command": "git push", "timeout": 7}, ME, id)


def test_a_kind_of_call(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    id = queued(desk, request("git push origin feature/x"))
    code, out, _ = said(capsys, "approvals", "approve", id, "--kind", "w1", "--for", "30m", "--uses", "2")
    assert (code, "for this kind of call, 2 times" in out) == (0, True)
    assert "kind, 2 left" in said(capsys, "grants", "list")[1]
    assert ask(desk, request("git push origin feature/y")) == Approved(f"grant:{id} of {ME}")
    assert isinstance(ask(desk, request("git push origin main")), Pending)
    again = said(capsys, "approvals", "show", queued(desk, request("git push origin main")))[1]
    assert "Again  " in again
    assert "command differs in more than the one place" in again


def test_several_at_once(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    ids = [queued(desk, request(f"publish {number}")) for number in range(3)]
    other = queued(desk, request("publish elsewhere", "other"))
    code, out, _ = said(capsys, "approvals", "approve", *ids[:2], "--json")
    assert (code, [one["question"]["state"] for one in json.loads(out)["answers"]]) == (0, ["approved", "approved"])
    code, out, _ = said(capsys, "approvals", "approve", ids[0], ids[2])
    assert (code, out.count("approved"), "not done" in out) == (1, 2, True)
    code, _, err = said(capsys, "approvals", "deny", ids[2], other)
    assert (code, "are not alike: other rules ask" in err) == (1, True)
    more = [queued(desk, request(f"publish more {number}")) for number in range(2)]
    assert said(capsys, "approvals", "deny", *more, "--reason", "no", "--comment", "ask me tomorrow")[0] == 0
    refused = ask(desk, request("publish more 0"))
    assert isinstance(refused, Deny)
    assert refused.reason.endswith(f"no\n{ME} says: ask me tomorrow")


def test_later(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    id = queued(desk, request("publish"))
    code, out, _ = said(capsys, "approvals", "defer", id, "--comment", "after lunch")
    assert (code, f"put off    by {ME}" in out, "after lunch" in out) == (0, True, True)
    pending = ask(desk, request("publish"))
    assert isinstance(pending, Pending)
    assert "after lunch" in pending.word


def test_a_pause(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "pause", "list") == (0, "", "nothing is paused\n")
    code, out, _ = said(capsys, "pause", "10m", "--reason", "moving files", "--agent", "main")
    assert (code, out.startswith("paused: "), ", of main alone, " in out) == (0, True, True)
    (pause,) = json.loads(said(capsys, "pause", "list", "--json")[1])["pauses"]
    assert (pause["by"], pause["agent"], pause["reason"]) == (ME, "main", "moving files")
    assert ask(desk, request("publish")) == Approved(f"pause:{pause['id']} of {ME}")
    status = said(capsys, "status")[1]
    assert "PAUSED" in status
    assert f"interpose approvals pause end {pause['id']}" in " ".join(status.split())
    assert "every question of main: moving files" in said(capsys, "grants", "list")[1]
    assert said(capsys, "pause", "end", pause["id"]) == (0, f"ended {pause['id']}\n", "")
    assert said(capsys, "pause", "end", pause["id"])[0] == 1
    assert isinstance(ask(desk, request("publish")), Pending)


@pytest.mark.parametrize(("text", "minutes"), [("1m", 1), ("480m", 480), ("8h", 480), ("2h", 120)])
def test_how_long(text: str, minutes: int) -> None:
    assert minutes_of(text) == minutes


WRONG: list[tuple[str, list[str], int, str]] = [
    ("a kind for a session", ["approvals", "approve", "x", "--kind", "W1", "--session"], 64, "--kind goes with --for"),
    ("a time of no kind", ["approvals", "approve", "x", "--for", "10m"], 64, "belong to --kind"),
    ("two edits", ["approvals", "approve", "x", "--edit", "f", "--set", "a=b"], 64, "not both"),
    ("no such file", ["approvals", "approve", "x", "--edit", "/none.json"], 64, "can't be read"),
    ("an edit of several", ["approvals", "approve", "x", "y", "--set", "a=b"], 64, "one question at a time"),
    ("several later", ["approvals", "defer", "x", "y"], 64, "one question is put off"),
    ("no such question", ["approvals", "defer", "zzzzzzzz"], 1, "no question"),
    ("no time", ["pause", "soon"], 64, "is no time"),
    ("too long", ["pause", "9h"], 64, "8 hours"),
    ("no minutes", ["pause", "0m"], 64, "8 hours"),
    ("which one", ["pause", "end"], 64, "say which one"),
    ("two of them", ["pause", "10m", "x"], 64, "belongs to `pause end`"),
]


@pytest.mark.parametrize(("note", "words", "code", "text"), WRONG, ids=[row[0] for row in WRONG])
def test_what_goes_wrong(
    desk: Desk, capsys: pytest.CaptureFixture[str], note: str, words: list[str], code: int, text: str
) -> None:
    ended = main(words)
    err = capsys.readouterr().err
    assert (ended, text in err) == (code, True), (note, err)


@pytest.mark.parametrize("content", ["[1]", "{", '{"a": 1, "a": 2}', '"x"'])
def test_files_that_are_no_call(desk: Desk, capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str) -> None:
    file, id = tmp_path / "call.json", queued(desk, request("publish"))
    file.write_text(content)
    assert said(capsys, "approvals", "approve", id, "--edit", str(file))[0] == 64
    assert said(capsys, "approvals", "approve", id, "--set", "nothing")[0] == 64


def test_without_a_server_nothing_is_paused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    code, _, err = said(capsys, "pause", "10m")
    assert (code, "no server runs" in err) == (1, True)
