"""What is written into a host's file, as each host documents it."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.hook_places import hooks_of

COMMAND = "/usr/bin/interpose hook x"


@pytest.mark.parametrize(
    ("name", "event", "want"),
    [
        ("claude-code", "PreToolUse",
         {"matcher": "*", "hooks": [{"type": "command", "command": COMMAND, "timeout": 30, "onFailure": "block"}]}),
        ("claude-code", "PostToolUse",
         {"matcher": "*", "hooks": [{"type": "command", "command": COMMAND, "timeout": 30}]}),
        ("claude-code", "SessionEnd", {"hooks": [{"type": "command", "command": COMMAND, "timeout": 1}]}),
        ("claude-code", "SubagentStop", {"hooks": [{"type": "command", "command": "tell", "timeout": 30}]}),
        ("codex", "PreToolUse", {"matcher": "*", "hooks": [{"type": "command", "command": COMMAND, "timeout": 30}]}),
        ("gemini-cli", "BeforeTool",
         {"matcher": "*", "hooks": [{"type": "command", "name": "interpose", "command": COMMAND, "timeout": 30000}]}),
        ("copilot", "PreToolUse", {"type": "command", "command": COMMAND, "timeoutSec": 30}),
        ("cursor", "preToolUse",
         {"type": "command", "command": COMMAND, "timeout": 30, "failClosed": True, "matcher": "*"}),
        ("cursor", "postToolUse", {"type": "command", "command": COMMAND, "timeout": 30}),
        ("kiro", "preToolUse", {"command": COMMAND, "timeout_ms": 30000, "matcher": "*"}),
        ("windsurf", "pre_run_command", {"show_output": True, "command": COMMAND}),
    ],
)  # fmt: skip
def test_one_hook(name: str, event: str, want: dict[str, Any]) -> None:
    assert hooks_of(HOSTS[name].facts.setup, COMMAND, 25, telling="tell")["hooks"][event] == [want]


def test_a_host_waits_longer_than_we_do() -> None:
    """Ours is the refusal when time is up: theirs would let the call run."""
    for deadline in (0.2, 25, 29.5):
        hook = hooks_of(HOSTS["claude-code"].facts.setup, COMMAND, deadline)["hooks"]["PreToolUse"][0]["hooks"][0]
        assert hook["timeout"] > deadline + 1


def test_the_top_of_the_file() -> None:
    for name in ("copilot", "cursor"):
        assert hooks_of(HOSTS[name].facts.setup, COMMAND, 25)["version"] == 1
    assert "PreToolUse" in hooks_of(HOSTS["droid"].facts.setup, COMMAND, 25)


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_every_host_can_be_set_up(name: str) -> None:
    setup = HOSTS[name].facts.setup
    assert {file.scope for file in setup.files} - {"managed"} == {"user", "project"}
    assert all(file.path.startswith("/etc/") is (file.scope == "managed") for file in setup.files)
    assert all(file.path.startswith("~/") is (file.scope == "user") for file in setup.files)
    assert all(file.path.startswith(file.root) for file in setup.files)
    assert setup.opens_on
    if setup.layout == "plugin":
        assert setup.plugin
    else:
        assert any(event.gate for event in setup.events)
