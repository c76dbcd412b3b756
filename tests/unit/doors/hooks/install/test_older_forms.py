"""Hooks that an older version wrote: doctor says so, installing again replaces them, uninstalling takes them out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from interpose.core.config.load import load
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.doctor import _commands, examine
from interpose.doors.hooks.install.places import InstallTarget
from interpose.doors.hooks.install.plan import plan_install
from tests.unit.doors.hooks.install.homes import installed, loose, new_home, target, tree, uninstalled

CASES = Path(__file__).parents[4] / "cases" / "install"
WITH_A_FILE = [name for name, host in HOSTS.items() if host.facts.setup.layout in ("groups", "flat")]
_NOW = re.compile(r"(?P<client>[^\s\"]*/interpose/hooks/[\w-]+) (?:&& exit 0; /bin/sh -c '[^']*'; exit 2|; exit 0)")
_TEXT = "Refused by Interpose. If no reason is given, run interpose doctor."


def _conditional(client: str) -> str:
    there = f"test -e {client} && test -e /opt/env/bin/python && test -e /opt/env/lib/interpose/__init__.py"
    gone = "Interpose refused this: its program is gone from this machine. Install it again, or take its hooks out of x"
    return f"{client} || /bin/sh -c 'if {there}; then echo {_TEXT} >&2; else echo {gone} >&2; fi; exit 2'"


def _plain(client: str) -> str:
    return f"{client} || /bin/sh -c 'echo {_TEXT} >&2; exit 2'"


OLDER: dict[str, Callable[[str], str]] = {
    "0.2, with a look at what is there": _conditional,
    "0.2, in a home with blanks": _plain,
    "0.1, the program itself": lambda _client: "/opt/env/bin/python -I -m interpose hook NAME",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return new_home(tmp_path / "home", monkeypatch)


def age(where: InstallTarget, form: Callable[[str], str]) -> str:
    """Put the older command lines into the place of those that were just installed."""
    name = where.facts.name
    text = where.path.read_text(encoding="utf-8")
    old, count = _NOW.subn(lambda found: form(found["client"]).replace("NAME", name), text)
    assert count >= len(where.facts.setup.events)
    where.path.write_text(old, encoding="utf-8")
    return old


@pytest.mark.parametrize("form", OLDER)
@pytest.mark.parametrize("name", WITH_A_FILE)
def test_installing_again_replaces_them(name: str, form: str, home: Path) -> None:
    where = loose(target(name))
    case = next(iter(sorted((CASES / name).glob("*.json"))))
    where.path.parent.mkdir(parents=True)
    where.path.write_bytes(case.read_bytes())
    before = tree(home)
    installed(where)
    now = where.path.read_text(encoding="utf-8")
    age(where, OLDER[form])
    assert _commands(HOSTS[name], where), "doctor still finds them"
    assert plan_install(where, load()).changed
    installed(where)
    assert where.path.read_text(encoding="utf-8") == now
    assert not installed(where).changed
    uninstalled(where)
    assert tree(home) == before


@pytest.mark.parametrize("form", OLDER)
@pytest.mark.parametrize("name", WITH_A_FILE)
def test_uninstalling_takes_them_out(name: str, form: str, home: Path) -> None:
    where = loose(target(name))
    case = next(iter(sorted((CASES / name).glob("*.json"))))
    where.path.parent.mkdir(parents=True)
    where.path.write_bytes(case.read_bytes())
    before = tree(home)
    installed(where)
    age(where, OLDER[form])
    uninstalled(where)
    assert tree(home) == before


def test_doctor_says_that_they_are_older_and_what_to_do(home: Path) -> None:
    where = target("claude-code")
    installed(where)
    age(where, _conditional)
    (open_,) = [check for check in examine(where, None, load(), None).checks if check.name == "installed"]
    assert (open_.level, open_.todo) == ("open", "run `interpose install claude-code`")
    assert str(where.path) in open_.text


def test_what_a_user_put_around_them_stays(home: Path) -> None:
    where = target("claude-code")
    where.path.parent.mkdir()
    where.path.write_text('{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "mine"}]}]}}\n')
    before = where.path.read_bytes()
    installed(where)
    age(where, _conditional)
    installed(where)
    first = json.loads(where.path.read_text())["hooks"]["PreToolUse"][0]
    assert first == {"hooks": [{"type": "command", "command": "mine"}]}
    uninstalled(where)
    assert where.path.read_bytes() == before
