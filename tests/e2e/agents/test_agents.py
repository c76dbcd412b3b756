"""The stage on which the real agents are run: `scripts/agents` runs them, this holds that it would notice."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from interpose import Engine, ToolCall, create_interceptor_registry
from interpose.composition.build import add_policy
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from tests.e2e.agents import mcp_server
from tests.e2e.agents.behaviours import COLUMNS, ORIGINAL, POLICY, SCENARIOS, SECRET, Check, Seen, Step, as_known
from tests.e2e.agents.dialects import ToolUse, text_of
from tests.e2e.agents.fake_model import LAST_WORD, FakeModel
from tests.e2e.agents.home import Run
from tests.e2e.agents.known import AGENTS
from tests.e2e.agents.modes import MODES, SAYS_ASK, WISHES, AgentMode, Trial, judged, modes_in, trials
from tests.e2e.agents.terminal import Terminal
from tests.support.timing.patience import PATIENCE

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
    connection = http.client.HTTPConnection(str(urlsplit(model.url).netloc), timeout=PATIENCE)
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
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True, timeout=PATIENCE)
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


def test_every_agent_has_modes_and_every_mode_is_tried_with_our_hook() -> None:
    assert MODES.keys() == {agent.host for agent in AGENTS}
    assert SAYS_ASK.keys() <= MODES.keys()
    for agent in AGENTS:
        tried = trials(agent)
        assert len({trial.name for trial in tried}) == len(tried)
        assert {trial.mode.name for trial in tried if not trial.probe} == {mode.name for mode in MODES[agent.host]}


HEADLESS, SCREEN = AgentMode(name="-p", arguments=("-p",)), AgentMode(name="screen", arguments=(), screen=True)

TRIED = [
    ("with our hook nothing may run", HEADLESS, False, True, 1, 1, 0, "RUNS", False),
    ("a host that runs what a hook asks about is no news", HEADLESS, True, True, 1, 1, 0, "RUNS", True),
    ("the model was told no", HEADLESS, False, False, 1, 1, 0, "refused", True),
    ("a screen that waits", SCREEN, False, False, 1, 0, None, "asks", True),
    ("a run that ends without an answer", HEADLESS, True, False, 1, 0, 0, "the run ended", True),
    ("a model that was never asked shows nothing", SCREEN, False, False, 0, 0, None, "never came to it", False),
]


@pytest.mark.parametrize(
    ("note", "mode", "probe", "done", "asked", "results", "code", "word", "good"), TRIED, ids=[row[0] for row in TRIED]
)
def test_what_became_of_a_question(
    note: str,
    mode: AgentMode,
    probe: bool,
    done: bool,
    asked: int,
    results: int,
    code: int | None,
    word: str,
    good: bool,
) -> None:
    trial = Trial(mode=mode, wish=WISHES[0], probe=probe)
    run = Run(("x",) * results, (1.0,) * results, code, "", 1.0, asked)
    assert judged(trial, run, done=done, steps=1) == Seen(word, good=good), note


def test_the_modes_that_events_name(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    assert modes_in(log) == []
    events = [{"permission_mode": "a"}, {"permission_mode": "b", "tool_input": {}}, {"toolArgs": "{}"}]
    log.write_text("no json\n" + "".join(json.dumps(event) + "\n" for event in events))
    assert modes_in(log) == ["b", "(none)"]


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")
def test_a_terminal_shows_what_a_program_says_and_takes_keys(tmp_path: Path) -> None:
    program = ["sh", "-c", "test -t 0 && echo it is a terminal; read answer; echo $answer > said; sleep 60"]
    with Terminal(program, tmp_path, {"PATH": os.environ["PATH"]}) as terminal:
        assert _soon(lambda: "it is a terminal" in terminal.text())
        assert terminal.alive()
        terminal.press("y")
        terminal.press("Enter")
        assert _soon((tmp_path / "said").exists)
    assert not terminal.alive()


def _soon(condition: Any) -> bool:
    ends = monotonic() + 20
    while not condition():
        if monotonic() > ends:
            return False
        sleep(0.02)
    return True
