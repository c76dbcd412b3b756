"""One settings file may be run by several hosts: each is known by its payload and answered in its own language."""

from __future__ import annotations

import pytest

from interpose.doors.hooks.hosts.all_hosts import HOSTS, speaking
from tests.support.servers.hosting import events_of

MARKED = ("claude-code", "cursor", "codex", "copilot", "vscode")
READERS = ("claude-code", "copilot", "vscode", "cursor")
"""Hosts that read `.claude/settings.json` or `.github/hooks`."""


@pytest.mark.parametrize("named", READERS)
@pytest.mark.parametrize("name", MARKED)
def test_the_payload_says_who_speaks(name: str, named: str) -> None:
    for _, raw in events_of(name):
        assert speaking(raw, HOSTS[named]) is HOSTS[name], raw


def test_gemini_is_known_by_its_events() -> None:
    raw = next(raw for _, raw in events_of("gemini-cli") if raw["hook_event_name"] == "BeforeTool")
    assert speaking(raw, HOSTS["claude-code"]).facts.name == "gemini-cli"


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_a_hosts_own_events_are_its_own(name: str) -> None:
    for _, raw in events_of(name):
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
    for _, raw in events_of(name):
        try:
            seen.add(HOSTS[name].read(raw).name)
        except ValueError:
            continue
    assert {*facts.asks, *facts.rewrites, *facts.replaces} <= seen


def test_only_hearsay_is_experimental() -> None:
    assert [name for name, host in HOSTS.items() if host.facts.experimental] == ["windsurf"]
