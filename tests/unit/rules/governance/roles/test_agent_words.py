"""Agents are told the names of their own host: of tools, of agents, of files."""

from __future__ import annotations

import pytest

from interpose.core.tools import KNOWN_TOOL_NAMES, normalize_tool_name
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.rules.governance.files.load import load_rulebook
from interpose.rules.governance.roles.agent_words import agents_told, commands_told, files_told, listed, tools_told
from interpose.rules.governance.roles.host_tools import HOST_TOOLS

BOOK = load_rulebook(
    """
version: 1
agents:
  - {role: lead, host: claude-code, sub_agent: false}
  - {role: builder, agent: coder}
  - {role: builder, agent: hand, host: codex}
  - {role: scout, agent: Explore, host: claude-code}
tools:
  look: [read, glob, todo]
  states: [idumb-state, idumb-state_getAnchors]
scopes:
  META: {paths: [AGENTS.md, .claude/**]}
  CODE: {paths: [src/**], outside: [src/gen/**], others: [META]}
roles:
  lead: {tools: {allow: [look, states, task]}}
  builder: {}
  scout: {}
""",
    "governance.yaml",
)


@pytest.mark.parametrize(("host", "row"), HOST_TOOLS.items(), ids=list(HOST_TOOLS))
def test_every_name_of_a_host_is_read_as_the_tool(host: str, row: dict[str, tuple[str, ...]]) -> None:
    assert host in HOSTS
    assert set(row) <= set(KNOWN_TOOL_NAMES)
    assert [(name, tool) for tool, names in row.items() for name in names if normalize_tool_name(name) != tool] == []


def test_every_host_has_its_names() -> None:
    """OpenClaw's names of tools are ours."""
    assert set(HOSTS) - set(HOST_TOOLS) == {"openclaw"}


@pytest.mark.parametrize(
    ("host", "patterns", "want"),
    [
        ("claude-code", ("look", "exec"), ("Read", "Glob", "TodoWrite", "Bash")),
        ("opencode", ("look", "exec"), ("read", "glob", "todowrite", "todoread", "bash")),
        ("codex", ("look", "exec"), ("update_plan", "shell", "exec_command")),
        ("library", ("look", "exec"), ("read", "glob", "todo", "exec")),
        ("claude-code", ("states",), ("idumb-state", "idumb-state_getAnchors")),
        ("claude-code", ("idumb-state_getAnchors",), ("idumb-state_getAnchors",)),
        ("claude-code", ("group:web", "mcp__x__*"), ("WebSearch", "WebFetch", "mcp__x__*")),
        ("opencode", ("mcp__filesystem__write_file",), ("filesystem_write_file",)),
        ("codex", ("read",), ("read",)),
        ("claude-code", (), ()),
    ],
)
def test_tools_as_a_host_calls_them(host: str, patterns: tuple[str, ...], want: tuple[str, ...]) -> None:
    assert tools_told(BOOK, patterns, host) == want


def test_agents_as_a_host_calls_them() -> None:
    assert agents_told(BOOK, ("builder", "scout"), "claude-code") == ("coder", "Explore")
    assert agents_told(BOOK, ("*",), "codex") == ("coder", "hand")
    assert agents_told(BOOK, ("lead",), "claude-code") == (), "nobody starts a main agent"


def test_files_and_commands() -> None:
    assert files_told(BOOK, ("CODE", "gone")) == ("src/** (but not src/gen/**, AGENTS.md, .claude/**)",)
    assert commands_told(("inspection", "git add *")) == ("commands that only look", "`git add *`")
    assert listed(map(str, range(30))).endswith("23 and 6 more")
