"""Hooks are put only where their host reads them: most hosts pass over a whole file that is no plain JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interpose.core.config.load import load
from interpose.core.errors import SetupError
from interpose.doors.cli import main
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.jsonc import JsoncError, departures
from interpose.doors.hooks.install.plan import plan_install
from tests.unit.doors.hooks.install.homes import installed, new_home, target, tree, uninstalled

JSON_HOSTS = [name for name, host in HOSTS.items() if host.facts.setup.layout in ("groups", "flat")]
TEXTS = {
    "comment": '{\n  // mine\n  "x": 1\n}\n',
    "trailing comma": '{\n  "x": 1,\n}\n',
    "byte order mark": '\ufeff{\n  "x": 1\n}\n',
}
SEEN = {
    "claude-code": {"byte order mark"},
    "codex": set[str](),
    "copilot": set[str](),
    "gemini-cli": {"comment"},
    "qwen-code": {"comment", "byte order mark"},
}
"""What the real agents were seen to read (`scripts/agents --readers`). Of others, plain JSON is believed only."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return new_home(tmp_path / "home", monkeypatch)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", []),
        ("{}", []),
        ('{"a": "// no /* comment", "b": [1, 2]}', []),
        ("\ufeff", [("byte order mark", 0)]),
        ("\ufeff{}", [("byte order mark", 0)]),
        ("// x\n{}", [("comment", 0)]),
        ("{} /* x */", [("comment", 3)]),
        ('{"a": 1,}', [("trailing comma", 7)]),
        ("[1, [2,], ]", [("trailing comma", 6), ("trailing comma", 8)]),
        ('{"a": [1, /* b */ 2 // c\n, ] }', [("comment", 10), ("comment", 20), ("trailing comma", 25)]),
    ],
)
def test_where_a_text_is_no_plain_json(text: str, want: list[tuple[str, int]]) -> None:
    assert departures(text) == want
    if text and not want:
        json.loads(text)


def test_what_is_nothing_at_all() -> None:
    with pytest.raises(JsoncError):
        departures('{"a"')


def test_who_reads_what() -> None:
    assert {name: set(HOSTS[name].facts.setup.takes) for name in JSON_HOSTS} == {
        name: SEEN.get(name, set[str]()) for name in JSON_HOSTS
    }


@pytest.mark.parametrize("what", TEXTS)
@pytest.mark.parametrize("name", JSON_HOSTS)
def test_nothing_is_installed_where_nobody_would_read_it(name: str, what: str, home: Path) -> None:
    where = target(name)
    where.path.parent.mkdir(parents=True)
    where.path.write_text(TEXTS[what], encoding="utf-8")
    before = tree(home)
    if what in SEEN.get(name, ()):
        installed(where)
        uninstalled(where)
    else:
        with pytest.raises(SetupError, match=f"line [12], column .*: a {what}, which is no plain JSON"):
            plan_install(where, load())
    assert tree(home) == before


def test_a_comment_that_came_later_is_an_open_gate(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = target("claude-code")
    installed(where)
    text = where.path.read_text(encoding="utf-8")
    where.path.write_text(text.replace("{", "{ // mine", 1), encoding="utf-8")
    assert main(["doctor", "claude-code", "--json"]) == 1
    (host,) = json.loads(capsys.readouterr().out)["hosts"]
    found = {check["name"]: check for check in host["checks"]}
    assert found["installed"]["level"] == "open"
    assert "line 1, column 3: a comment" in found["installed"]["text"]
    assert main(["status", "--json"]) == 0
    (warned,) = json.loads(capsys.readouterr().out)["unguarded"]
    assert (warned["level"], "line 1, column 3: a comment" in warned["text"]) == ("open", True)
    uninstalled(where)
    assert "interpose" not in where.path.read_text(encoding="utf-8")
    assert main(["uninstall", "--all", "--purge"]) == 0  # the server that was started for the canaries, too
