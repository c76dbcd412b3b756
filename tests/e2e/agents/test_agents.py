"""The stage on which the real agents are run: `scripts/agents` runs them, this holds that it would notice."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from interpose import Engine, ToolCall, create_interceptor_registry
from interpose.build import add_policy
from interpose.surfaces.hosts.all_hosts import HOSTS
from tests.e2e.agents import mcp_server
from tests.e2e.agents.behaviours import COLUMNS, ORIGINAL, POLICY, SCENARIOS, SECRET, Check, Seen, Step, as_known
from tests.e2e.agents.dialects import ToolUse, text_of
from tests.e2e.agents.fake_model import LAST_WORD, FakeModel
from tests.e2e.agents.known import AGENTS

STEPS = (ToolUse("first", {"a": 1}), ToolUse("second", {"b": "x"}))

ONE = "said by the first"


def _anthropic(results: list[str]) -> dict[str, Any]:
    blocks = [
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": text}]} for text in results
    ]
    return {"messages": [{"role": "user", "content": "go"}, {"role": "user", "content": blocks}]}


def _responses(results: list[str]) -> dict[str, Any]:
    return {"input": [{"type": "function_call_output", "call_id": "c", "output": text} for text in results]}


def _chat(results: list[str]) -> dict[str, Any]:
    said = [{"role": "tool", "tool_call_id": "c", "content": text} for text in results]
    return {"messages": [{"role": "user", "content": "go"}, *said]}


def _gemini(results: list[str]) -> dict[str, Any]:
    parts = [{"functionResponse": {"name": "x", "response": {"output": text}}} for text in results]
    return {"contents": [{"role": "user", "parts": [{"text": "go"}]}, {"role": "user", "parts": parts}]}


WIRES = [
    ("/v1/messages?beta=true", _anthropic),
    ("/v1/responses", _responses),
    ("/v1/chat/completions", _chat),
    ("/v1beta/models/x:streamGenerateContent?alt=sse", _gemini),
]


def _said(model: FakeModel, path: str, body: dict[str, Any]) -> str:
    connection = http.client.HTTPConnection(str(urlsplit(model.url).netloc), timeout=10)
    try:
        connection.request("POST", path, json.dumps(body))
        return connection.getresponse().read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize(("path", "request_with"), WIRES, ids=[wire[0] for wire in WIRES])
def test_a_model_takes_its_steps_in_every_wire_format(path: str, request_with: Any) -> None:
    with FakeModel(STEPS) as model:
        tools = {"tools": [{"name": "first"}]}
        first = _said(model, path, request_with([]) | tools)
        second = _said(model, path, request_with([ONE]) | tools)
        last = _said(model, path, request_with([ONE, "two"]) | tools)
        aside = _said(model, path, request_with([]))
    assert ["first" in text for text in (first, second, last, aside)] == [True, False, False, False]
    assert ["second" in text for text in (first, second, last, aside)] == [False, True, False, False]
    assert LAST_WORD in last
    assert LAST_WORD in aside
    assert model.results == [ONE, "two"]
    assert len(model.seconds) == 2


@pytest.mark.parametrize(
    ("content", "want"),
    [("x", "x"), ([{"type": "text", "text": "x"}, "y"], "x\ny"), ({"a": 1}, '{"a": 1}')],
)
def test_the_text_of_a_result(content: Any, want: str) -> None:
    assert text_of(content) == want


def test_a_server_leaves_its_marker(tmp_path: Path) -> None:
    said = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "leave_note", "arguments": {"note": "x"}}},
        {"id": 3, "method": "unknown"},
    ]
    command = [sys.executable, mcp_server.__file__, str(tmp_path)]
    lines = "".join(json.dumps(one) + "\n" for one in said)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=30)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert answers[1]["result"]["content"] == [{"type": "text", "text": "noted x"}]
    assert "error" in answers[2]
    assert (tmp_path / "noted-x.marker").exists()


def _check(column: str) -> Check:
    return next(check for scenario in SCENARIOS for check in scenario.checks if check.column == column)


BROKEN = [
    ("allow", (), "said-42", 1.0),
    ("allow", ("allowed",), None, 1.0),
    ("deny", ("denied",), "nobody has read", 1.0),
    ("deny", (), "something else", 1.0),
    ("deny", (), None, 1.0),
    ("ask", ("asked",), "Overwrites what others", 1.0),
    ("rewrite", ("original",), "", 1.0),
    ("rewrite", (), "", 1.0),
    ("redact", (), f"the key is {SECRET}", 1.0),
    ("redact", (), "nothing", 1.0),
    ("mcp deny", ("noted-refused",), "No notes here", 1.0),
    ("mcp redact", (), f"noted {SECRET} [redacted]", 1.0),
    ("server killed", ("denied",), "nobody has read", 1.0),
    ("server hangs", ("denied",), "x", 1.0),
    ("server hangs", (), "x", 100.0),
    ("server hangs", (), None, 1.0),
    ("no Python", ("allowed",), "x", 1.0),
    ("hook crashes", ("allowed",), "x", 1.0),
]


@pytest.mark.parametrize(("column", "markers", "result", "seconds"), BROKEN)
def test_a_promise_that_is_not_kept_is_seen(
    column: str, markers: tuple[str, ...], result: str | None, seconds: float, tmp_path: Path
) -> None:
    for marker in markers:
        (tmp_path / f"{marker}.marker").touch()
    step = Step(HOSTS["claude-code"].facts, tmp_path / "home", tmp_path, result, seconds)
    assert not _check(column).judge(step).good


def test_a_known_weakness_that_is_gone_is_news() -> None:
    codex = next(agent for agent in AGENTS if agent.host == "codex")
    stuck = _check("hook stuck")
    assert as_known(codex, stuck, Seen("RUNS", good=False)).good
    assert not as_known(codex, stuck, Seen("refused")).good
    assert not as_known(replace(codex, opens_when=frozenset()), stuck, Seen("RUNS", good=False)).good


def test_agents_and_columns_are_known() -> None:
    assert {agent.host for agent in AGENTS} <= HOSTS.keys()
    assert len(set(COLUMNS)) == len(COLUMNS)
    assert all(agent.opens_when <= set(COLUMNS) for agent in AGENTS)


def test_the_rules_load(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(POLICY)
    registry = create_interceptor_registry()
    add_policy(registry, str(tmp_path / "agents.yaml"))
    assert Engine(registry).decide(ToolCall("mcp__notes__leave_note", {"note": "refused"})).outcome == "deny"
    assert Engine(registry).decide(ToolCall("exec", {"command": ORIGINAL})).outcome == "rewrite"
