"""Which agents are found: every one of the table, by its program and by its directory, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.found_agents import found_agents
from interpose.effects.agents.known_agents import BY_NAME


def environ(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "PATH": str(home / "bin"), **more}


def names(home: Path, scope: str = "user", **more: str) -> list[str]:
    return [one.host for one in found_agents(scope, (), environ(home, **more))]  # type: ignore[arg-type]  # a scope


def test_none_where_none_is(tmp_path: Path) -> None:
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", [name for name, host in HOSTS.items() if host.facts.setup.program])
def test_by_its_program(name: str, tmp_path: Path) -> None:
    place = tmp_path / "bin" / HOSTS[name].facts.setup.program
    place.parent.mkdir()
    place.write_text("#!/bin/sh\n")
    assert names(tmp_path) == [], "a file that can't be started is no program"
    place.chmod(0o755)
    (one,) = found_agents("user", (), environ(tmp_path))
    assert (one.host, one.seen_at, one.command) == (name, str(place), f"interpose install {name}")


@pytest.mark.parametrize("name", [name for name in HOSTS if BY_NAME[name].directories])
def test_by_its_directory(name: str, tmp_path: Path) -> None:
    directory = next(one for one in BY_NAME[name].directories if one.startswith("~/"))
    place = tmp_path / directory.removeprefix("~/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("a file")
    assert names(tmp_path) == []
    place.unlink()
    place.mkdir()
    assert name in names(tmp_path)


def test_where_a_variable_moved_it(tmp_path: Path) -> None:
    assert names(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path)) == ["claude-code"]
    assert names(tmp_path, CLAUDE_CONFIG_DIR="claude") == []


def test_only_those_with_a_file_in_that_place(tmp_path: Path) -> None:
    for name in (".claude", ".kiro"):
        (tmp_path / name).mkdir()
    assert names(tmp_path) == ["claude-code", "kiro"]
    assert names(tmp_path, "managed") == ["claude-code"]
    (one,) = found_agents("managed", (), environ(tmp_path))
    assert one.command == "sudo interpose install claude-code --managed"
