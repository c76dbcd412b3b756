"""What `install` says that a failing hook does, for each agent and for the version of it that is here."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpose.core.config.load import load
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.host_version import HostVersion, host_version
from interpose.doors.hooks.install.plan import plan_install, plan_uninstall
from interpose.doors.hooks.install.summary import if_it_fails, summary
from tests.unit.doors.hooks.install.homes import installed, new_home, target

FAILS = [
    ("claude-code", "2.1.294", "A CRASH OR A TIMEOUT LETS THE CALL RUN: version 2.1.294 does not know"),
    ("claude-code", "2.1.295", 'the call is denied: "onFailure": "block", which Claude Code knows since 2.1.295'),
    ("claude-code", "2.2", "the call is denied: "),
    ("claude-code", "10.0.0", "the call is denied: "),
    ("claude-code", "", "the call is denied from Claude Code 2.1.295 on"),
    ("cursor", "", 'the call is denied: "failClosed": true'),
    ("codex", "0.166.0", "the hook's own line denies the call; what Codex CLI runs all the same is named below"),
    ("opencode", "", "the call does not run: our plugin throws"),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return new_home(tmp_path / "home", monkeypatch)


@pytest.mark.parametrize(("name", "version", "said"), FAILS)
def test_what_a_failing_hook_does(name: str, version: str, said: str) -> None:
    facts = HOSTS[name].facts
    assert if_it_fails(facts, HostVersion("/bin/x", version), fail_open=False).startswith(said)
    assert "--fail-open" in if_it_fails(facts, HostVersion("/bin/x", version), fail_open=True)


@pytest.mark.parametrize("name", HOSTS)
def test_five_lines_for_every_agent(name: str, home: Path) -> None:
    plan = plan_install(target(name), load())
    lines = {line.label: line.text for line in summary(plan, HostVersion())}
    assert list(lines) == ["agent", "file", "events", "changes", "if it fails"]
    assert all(text and "\n" not in text for text in lines.values())
    assert lines["file"].startswith("~/")
    for event in plan.target.facts.setup.events:
        assert (event.name in lines["events"]) is event.gate
    installed(target(name))
    gone = {line.label: line.text for line in summary(plan_uninstall(target(name), load()), HostVersion())}
    assert list(gone) == ["agent", "file", "changes"]
    assert "removes" in gone["changes"]


def test_older_hooks_are_replaced(home: Path) -> None:
    where = target("claude-code")
    installed(where)
    where.path.write_text(where.path.read_text().replace("exit 2", "exit  2"))
    lines = {line.label: line.text for line in summary(plan_install(where, load()), HostVersion())}
    assert lines["changes"] == "replaces 10 hooks and the statusLine of ours, and changes nothing else"


def test_the_version_is_what_the_program_says(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = HOSTS["claude-code"].facts.setup
    monkeypatch.setenv("PATH", str(home))
    assert host_version(setup) == HostVersion()
    place = home / "claude"
    for says, want in (("echo '2.1.400 (Claude Code)'", "2.1.400"), ("echo hello", ""), ("exit 3", "")):
        place.write_text(f"#!/bin/sh\n{says}\n")
        place.chmod(0o755)
        assert host_version(setup) == HostVersion(str(place), want)
    place.write_text("no program")
    assert host_version(setup).problem.startswith(f"{place} --version: ")
