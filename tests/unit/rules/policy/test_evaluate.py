"""What rules make of a call."""

from __future__ import annotations

from typing import Any

import pytest

from interpose import Context, ToolCall
from interpose.core.carried_calls import canonical
from interpose.core.tools import command_of
from interpose.core.types import Deny, Transform
from interpose.rules.policy.interceptor import PolicyInterceptor
from interpose.rules.policy.load import RuleText, load_texts
from interpose.rules.policy.rules import Level
from tests.support.timing.timing import cpu_seconds

SHALLOW = """
version: 1
rules:
  - id: shallow
    on: { tools: [exec] }
    when: args.command.startsWith("git clone ")
    action: transform
    rewrite: { command: 'args.command + " --depth 1"' }
"""


def decided(tool: str, arguments: dict[str, Any]) -> Any:
    policy = load_texts([RuleText("rules.yaml", SHALLOW, Level.USER)])
    (decision,) = PolicyInterceptor(policy).intercept(canonical(ToolCall(tool, arguments))).decisions
    return decision


@pytest.mark.parametrize("key", ["command", "cmd", "CommandLine", "script"])
def test_a_rewrite_is_written_where_the_tool_reads(key: str) -> None:
    decision = decided("exec_command", {key: "git clone u", "yield_time_ms": 5})
    assert isinstance(decision, Transform)
    assert decision.payload.arguments == {key: "git clone u --depth 1", "yield_time_ms": 5}
    assert command_of(decision.payload) == "git clone u --depth 1"


SEVERAL = """
version: 1
rules:
  - {id: quiet, on: {tools: [exec]}, when: 'true', action: transform, rewrite: {command: 'args.command + " -q"'}}
  - {id: idle, on: {point: tool.before, tools: [exec]}, when: 'true', action: redact, redact: {pattern: nothing}}
  - {id: no-token, on: {point: tool.before, tools: [exec]}, when: 'true', action: redact, redact: {pattern: "t0ken"}}
  - {id: watcher, on: {point: tool.before}, when: 'true', action: redact, redact: {pattern: "git"}, mode: watch}
"""


def test_each_rule_that_rewrites_is_named() -> None:
    policy = load_texts([RuleText("rules.yaml", SEVERAL, Level.USER)])
    decisions = PolicyInterceptor(policy).intercept(canonical(ToolCall("Bash", {"command": "git t0ken"}))).decisions
    said = [(one.rule, one.payload.arguments["command"]) for one in decisions if isinstance(one, Transform)]
    assert said == [("quiet", "git t0ken -q"), ("no-token", "git [REDACTED] -q")]
    assert decided("exec", {"command": "git clone u"}).rule == "shallow"


@pytest.mark.parametrize("beside", [{"cmd": "git clone v"}, {"args": ["--recursive"]}])
def test_a_rewrite_of_what_is_said_in_several_places_is_refused(beside: dict[str, Any]) -> None:
    decision = decided("Bash", {"command": "git clone u", **beside})
    assert isinstance(decision, Deny)
    assert "command is said by several arguments" in decision.reason


def test_many_attempts_to_loosen_are_counted_and_not_recited() -> None:
    many = "version: 1\ndisable: [" + ", ".join(f"r{number}" for number in range(9_000)) + "]\n"
    policy = load_texts([RuleText("rules.yaml", SHALLOW, Level.USER), RuleText("policy.yaml", many, Level.PROJECT)])
    notes = PolicyInterceptor(policy).intercept(canonical(ToolCall("Bash", {"command": "ls"}))).notes
    assert len(policy.refused) == 9_000
    assert (len(notes), notes[-1].reason) == (21, "8980 more attempts to loosen rules were refused")


def test_rules_of_a_project_have_little_time_together() -> None:
    """A repository with rules that turn and turn must not hold up the agents of others."""
    turning = "args.command.split('').exists(a, args.command.split('').exists(b, a + b == '%d'))"
    rules = "".join(
        f'  - {{id: r{number}, on: {{tools: [exec]}}, action: deny, when: "{turning % number}"}}\n'
        for number in range(200)
    )
    policy = load_texts([RuleText("policy.yaml", f"version: 1\nrules:\n{rules}", Level.PROJECT)])
    call = ToolCall("exec", {"command": "echo " + "x" * 130})
    found: list[Any] = []
    assert cpu_seconds(lambda: found.append(PolicyInterceptor(policy).intercept(call))) < 3
    (decision,) = found[0].decisions
    assert isinstance(decision, Deny)
    assert "the rules of the project took more than 0.25 seconds" in decision.reason


FOREIGN = """
version: 1
rules:
  - {id: no-push, on: {tools: [exec]}, when: 'effects.exists(e, e.kind == "vcs.publish")', action: deny}
  - {id: no-curl, on: {tools: [Bash]}, when: 'args.command.startsWith("curl ")', action: deny}
  - {id: no-keys, on: {tools: [read]}, when: 'args.path.endsWith(".key")', action: deny}
  - {id: no-part, on: {tools: [group:runtime]}, when: 'effects.exists(e, e.text == "gone")', action: deny}
  - {id: no-outside, when: 'effects.exists(e, e.resource == "/home/dev/other")', action: deny}
"""


@pytest.mark.parametrize(
    ("tool", "arguments", "rule"),
    [
        ("mcp__x__bash", {"command": "git push"}, "no-push"),
        ("mcp__x__run_command", {"cmd": "curl a.example"}, "no-curl"),
        ("my_terminal", {"command": "curl a.example"}, "no-curl"),
        ("mcp__x__bash", {"command": "cd b; rm -r gone"}, "no-part"),
        ("mcp__x__bash", {"command": "ls", "path": "../other"}, "no-outside"),
        ("mcp__files__read_file", {"path": "/a/b.key"}, "no-keys"),
        ("mcp__files__read_file", {"filePath": "/a/b.key"}, "no-keys"),
        ("mcp__x__open_terminal", {}, ""),
        ("mcp__x__open_terminal", {"title": "curl "}, ""),
        ("mcp__x__note", {"command_line_help": "curl a.example"}, ""),
    ],
)
def test_a_rule_about_a_known_tool_holds_for_a_server_s_tool_that_is_one(
    tool: str, arguments: dict[str, Any], rule: str
) -> None:
    policy = load_texts([RuleText("rules.yaml", FOREIGN, Level.USER)])
    call = ToolCall(tool, arguments, context=Context(cwd="/home/dev/proj"))
    decisions = PolicyInterceptor(policy).intercept(canonical(call)).decisions
    assert [one.rule for one in decisions if isinstance(one, Deny)] == ([rule] if rule else [])


def test_a_server_s_shell_is_rewritten_where_it_reads_its_command() -> None:
    decision = decided("mcp__x__run_command", {"cmd": "git clone u"})
    assert isinstance(decision, Transform)
    assert decision.payload.arguments == {"cmd": "git clone u --depth 1"}
