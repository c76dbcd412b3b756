"""A home in which nothing happened yet: lists are empty, and looking makes no file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from interpose.doors.cli import main
from interpose.doors.cli.helping.command_tree import command_tree

WRITTEN = frozenset({"policy list", "governance role list"})
"""Lists that are not of what happened: packs come with Interpose, roles stand in a file that somebody writes."""
EMPTY: dict[str, object] = {
    "governance session list": {"sessions": []},
    "session list": {"sessions": []},
    "approvals list": {"approvals": []},
    "approvals list --all": {"approvals": []},
    "approvals grants list": {"grants": []},
    "grants list": {"grants": []},
    "pause list": {"pauses": []},
    "notify list": {"channels": [], "muted_until": None, "muted_by": ""},
    "command bypasses": {"bypasses": []},
    "mcp pins list": {"pins": []},
    "pins list": {"pins": []},
    "serve token list": [],
    "operator handover": {"hand_overs": [], "counts": False, "ended": []},
}
"""A list, and what it is as JSON."""
ROWS = ("audit search", "audit search --rule no-such-rule", "audit tail", "audit export")
"""Lists whose JSON is one text a line: with nothing in them they are empty."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ip") as runtime:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "INTERPOSE_CONFIG_DIR"):
            monkeypatch.delenv(name, raising=False)
        yield tmp_path


def test_every_list_is_tried() -> None:
    lists = {act.name for act in command_tree().walk() if act.path[-1:] == ("list",)}
    assert lists <= {*EMPTY, *WRITTEN}


@pytest.mark.parametrize("words", [*EMPTY, *ROWS])
def test_a_list_is_empty(words: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(words.split())
    out, err = capsys.readouterr()
    assert (code, out) == (0, ""), err
    assert len(err.splitlines()) == 1, "says in a line that there is nothing"
    assert not list(home.rglob("*")), "looking makes nothing"


@pytest.mark.parametrize("words", EMPTY)
def test_a_list_is_empty_as_json(words: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words.split(), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == EMPTY[words]


@pytest.mark.parametrize("words", ["audit search", "audit tail"])
def test_rows_are_empty_as_json(words: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words.split(), "--json"]) == 0
    assert capsys.readouterr().out == ""


def test_nothing_was_counted(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "stats", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["decisions"] == {}


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        ("audit verify", 70, "nothing was recorded yet"),
        ("audit search --ledger /nope/ledger.db", 70, "there is no ledger at /nope/ledger.db"),
        ("audit show 1", 1, "there is no call"),
        ("approvals show abcd", 1, "there is no question"),
        ("session show s-1", 1, "no governed session"),
        ("grants revoke abcd", 1, "no grant"),
    ],
)
def test_what_is_not_there_is_an_error(
    words: str, code: int, why: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    got = main(words.split())
    err = capsys.readouterr().err
    assert (got, why in err) == (code, True), err


@pytest.mark.parametrize("words", ["audit search", "approvals list", "session list", "grants list", "audit verify"])
def test_a_ledger_that_is_gone_is_no_empty_one(words: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    heads = home / ".local/state/interpose/ledger/heads"
    heads.mkdir(parents=True)
    (heads / "w1").write_text("{}")
    assert main(words.split()) == 70
    assert "ledger.db is gone" in capsys.readouterr().err
