"""One settings file may be run by several hosts: each is known by its payload and answered in its own language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from interpose.surfaces.hooks.hosts import HOSTS, speaking

CASES = Path(__file__).parents[3] / "cases" / "hosts"
MARKED = ("claude_code", "cursor", "codex", "copilot", "vscode")
READERS = ("claude-code", "copilot", "vscode", "cursor")
"""Hosts that read `.claude/settings.json` or `.github/hooks`."""


def _events(file: str) -> list[dict[str, Any]]:
    content = yaml.safe_load((CASES / f"{file}.yaml").read_text(encoding="utf-8"))
    return [
        {key: value for key, value in {**content["base"], **case["event"]}.items() if value != "$ABSENT"}
        for case in content["cases"]
    ]


@pytest.mark.parametrize("named", READERS)
@pytest.mark.parametrize("file", MARKED)
def test_the_payload_says_who_speaks(file: str, named: str) -> None:
    for raw in _events(file):
        assert speaking(raw, HOSTS[named]).facts.name == file.replace("_", "-"), raw


def test_gemini_is_known_by_its_events() -> None:
    raw = next(raw for raw in _events("gemini_cli") if raw["hook_event_name"] == "BeforeTool")
    assert speaking(raw, HOSTS["claude-code"]).facts.name == "gemini-cli"


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_a_hosts_own_events_are_its_own(name: str) -> None:
    for raw in _events(name.replace("-", "_")):
        assert speaking(raw, HOSTS[name]) is HOSTS[name], raw


def test_what_could_be_several_hosts_is_the_one_that_was_named() -> None:
    raw = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/w", "tool_name": "Bash", "tool_input": {}}
    for name in ("claude-code", "droid", "qwen-code"):
        assert speaking(raw, HOSTS[name]) is HOSTS[name]


def test_no_argument_of_a_call_changes_who_speaks() -> None:
    """Only the host writes the top of its payload."""
    marks = {"cursor_version": "1", "turn_id": "1", "model": "m", "hookEventName": "PreToolUse", "timestamp": "1"}
    raw = {"hook_event_name": "PreToolUse", "prompt_id": "p", "tool_name": "Bash", "tool_input": marks}
    assert speaking(raw, HOSTS["claude-code"]) is HOSTS["claude-code"]


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_facts_name_events_that_the_host_has(name: str) -> None:
    """A capability of an event that never comes would be a promise that nobody keeps."""
    facts = HOSTS[name].facts
    seen = set()
    for raw in _events(name.replace("-", "_")):
        try:
            seen.add(HOSTS[name].read(raw).name)
        except ValueError:
            continue
    assert {*facts.asks, *facts.rewrites, *facts.replaces} <= seen


def test_only_hearsay_is_experimental() -> None:
    assert [name for name, host in HOSTS.items() if host.facts.experimental] == ["windsurf"]
