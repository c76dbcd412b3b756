"""`interpose governance session`, from the list to a person's word, at a server and without one."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import time_ns

import pytest

from interpose.composition.build import open_service
from interpose.composition.service.service import Service
from interpose.core.config.load import load
from interpose.doors.cli import main
from interpose.doors.cli.governing.session_text import tree
from interpose.doors.http import governed_sessions
from interpose.doors.http_server.listener import Unix
from interpose.rules.governance.sessions.halts import with_halt
from interpose.rules.governance.sessions.session_views import ShownAgent
from tests.support.governance.governed import NOW, kept, session_of
from tests.support.servers.servers import running

MINUTE = 60_000_000_000


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("INTERPOSE_CONFIG_DIR", raising=False)
    with tempfile.TemporaryDirectory(prefix="ip") as runtime:  # short: a Unix socket has no long path
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        yield tmp_path


@pytest.fixture(params=["token"])
def proof(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def service(home: Path, monkeypatch: pytest.MonkeyPatch, proof: str) -> Iterator[Service]:
    """A server of the user whose directories these are."""
    monkeypatch.setenv("INTERPOSE_APPROVALS_PROOF", proof)
    config = load().config
    with (
        open_service(config, follow=False, serving=True) as opened,
        running(governed_sessions.routes(opened), more=[Unix(config.server.socket)]),
    ):
        yield opened


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["session", *words])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_from_the_list_to_a_lift(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "list") == (0, "", "no session was active since 1d\n")
    kept(service.store, session_of(), session_of("t-9", agents=(), active_ns=time_ns() - 20 * MINUTE))
    code, out, _ = said(capsys, "list", "--since", "3650d")
    assert code == 0
    head, *rows = out.splitlines()
    assert head.split() == ["session", "state", "role", "host", "agents", "calls", "denied", "asked", "last", "active"]
    assert [row.split()[:4] for row in rows] == [
        ["s-12", "active", "coordinator", "claude-code"], ["t-9", "idle", "-", "claude-code"],
    ]  # fmt: skip
    assert rows[0].index("claude-code") == rows[1].index("claude-code")
    kept(service.store, session_of("u-7", active_ns=time_ns() - 90 * MINUTE))
    for state, id in (("idle", "t-9"), ("interrupted", "u-7"), ("active", "s-12")):
        rows = said(capsys, "list", "--since", "3650d", "--state", state)[1].splitlines()[1:]
        assert [row.split()[:2] for row in rows] == [[id, state]], "nothing was called for so long"

    code, out, _ = said(capsys, "halt", "s-12", "--reason", "it deletes too much")
    assert code == 0
    assert out.startswith("HALTED  s-12\n")
    assert "it deletes too much" in out
    assert "to go on    interpose governance session lift s-12" in out
    code, out, _ = said(capsys, "list", "--since", "3650d", "--state", "halted")
    assert [row.split()[:2] for row in out.splitlines()[1:]] == [["s-12", "halted"], ["s-12", "halted:"]]

    code, out, _ = said(capsys, "show", "s-12")
    shown = [line.rstrip() for line in out.splitlines()]
    assert "    main  coordinator" in shown
    assert "      worker  worker  a1" in shown
    assert "        helper  helper  a2" in shown
    assert "  counted  9 calls, 2 denials, 1 questions, 3 errors" in shown
    assert any(line.startswith("    pending   coordinator -> worker") for line in shown)
    assert any(line.endswith("deny   coordinator  write  governance/role") for line in shown)
    told = json.loads(said(capsys, "show", "s-12", "--json")[1])
    assert (told["state"], told["halt"]["reason"]) == ("halted", "it deletes too much")

    code, out, _ = said(capsys, "lift", "s-12", "--comment", "fine now")
    assert (code, out.splitlines()[0]) == (0, "ACTIVE  s-12")
    assert said(capsys, "lift", "s-12")[0] == 1
    rows = json.loads(said(capsys, "list", "--json", "--since", "3650d")[1])["sessions"]
    assert {row["id"]: row["governed"]["state"] for row in rows} == {
        "s-12": "active", "t-9": "idle", "u-7": "interrupted",
    }  # fmt: skip


WRONG: list[tuple[str, list[str], int, str]] = [
    ("no such session", ["show", "none"], 1, "there is no governed session 'none'"),
    ("nothing to lift", ["lift", "s-12"], 1, "session 's-12' is not halted"),
    ("a blank reason", ["halt", "s-12", "--reason", " "], 64, "say why"),
    ("no time", ["list", "--since", "yesterday"], 64, "no time"),
    ("too many", ["list", "-n", "0"], 64, "--limit is from 1 to 1000"),
]


@pytest.mark.parametrize(("note", "words", "code", "text"), WRONG, ids=[row[0] for row in WRONG])
def test_what_goes_wrong(
    service: Service, capsys: pytest.CaptureFixture[str], note: str, words: list[str], code: int, text: str
) -> None:
    kept(service.store, session_of())
    got, _, err = said(capsys, *words)
    assert (got, text in err) == (code, True), err


@pytest.mark.parametrize("proof", ["terminal"], indirect=True)
def test_who_has_no_terminal_of_their_own_lifts_nothing(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    kept(service.store, session_of())
    assert said(capsys, "halt", "s-12", "--reason", "x")[0] == 0  # that needs no proof
    code, _, err = said(capsys, "lift", "s-12")
    assert (code, "this answer does not count" in err) == (1, True), err
    assert "interpose governance session lift s-12" in err
    assert json.loads(said(capsys, "show", "s-12", "--json")[1])["state"] == "halted"


def test_without_a_server_the_store_is_looked_at(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_service(load().config, follow=False) as opened:
        kept(opened.store, with_halt(session_of(), "21 errors", "governance/stall", NOW))
    code, out, _ = said(capsys, "list", "--since", "3650d")
    assert (code, "halted: 21 errors" in out) == (0, True)
    assert "halted by" not in out
    code, out, _ = said(capsys, "show", "s-12")
    assert (code, "governance/stall" in out) == (0, True)
    code, _, err = said(capsys, "list", "--since", "yesterday")
    assert (code, "no time" in err) == (64, True)
    code, _, err = said(capsys, "show", "none")
    assert (code, "there is no governed session" in err) == (1, True)


def test_hostile_names_steer_no_terminal(service: Service, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[2J\nHALTED\u202e"
    kept(service.store, session_of(hostile, key="k-1", host=hostile, project=hostile))
    for words in (("list", "--since", "3650d"), ("show", "k-1"), ("halt", "k-1", "--reason", hostile)):
        code, out, _ = said(capsys, *words)
        assert code == 0
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "\nHALTED" not in out


def agent(id: str, parent: str = "", depth: int = 1) -> ShownAgent:
    return ShownAgent(id=id, name=f"n{id}", role="r", parent=parent, depth=depth, seen=None)


def test_a_tree_whose_parents_are_gone_or_in_a_circle_is_shown_whole() -> None:
    lines = tree([agent("", depth=0), agent("a", "b"), agent("b", "a"), agent("c", "gone"), agent("d", "")])
    assert len(lines) == 5
    assert {line.split()[0] for line in lines} == {"n", "na", "nb", "nc", "nd"}
    assert tree([]) == []
