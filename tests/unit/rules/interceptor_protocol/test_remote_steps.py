"""Remote interceptors in the pipeline: real programs that answer, refuse, rewrite, hang, die and talk nonsense."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from interpose.composition.build import open_guards
from interpose.core.config.load import load
from interpose.core.config.remote_interceptors import RemoteInterceptorProgram
from interpose.core.config.settings import Config
from interpose.core.errors import ConfigError
from interpose.core.registry import InterceptorRegistry
from interpose.core.types import Context, Deny, ToolCall, Verdict
from interpose.engine.engine import Engine
from tests.support.timing.patience import PATIENCE

PROGRAM = str(Path(__file__).parents[3] / "support/peers/interceptor_program.py")
BOTH = [{"events": ["tools/call"], "phase": "request"}, {"events": ["tools/call"], "phase": "response"}]
REQUEST = [{"events": ["tools/call"], "phase": "request"}]
CHECK = {"name": "check", "type": "validation", "hooks": REQUEST}
CHANGE = {"name": "change", "type": "mutation", "hooks": REQUEST}
NO = {"valid": False, "severity": "error", "messages": [{"message": "not on a Friday", "path": "arguments.note"}]}
YES = {"valid": True}
HELLO = {"note": "hello"}

Open = Callable[..., Engine]


class Opened:
    """An engine before one program, and what that heard."""

    def __init__(self, folder: Path, said: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
        self._heard = folder / "heard"
        environment = {"PROGRAM": json.dumps(said), "HEARD": str(self._heard)}
        one = RemoteInterceptorProgram(command=sys.executable, args=(PROGRAM,), env=environment, **settings)
        self.engine = open_guards(Config(remote_interceptors={"toy": one}))

    def decide(self, arguments: dict[str, Any] | None = None, name: str = "mcp__notes__write") -> Verdict[ToolCall]:
        context = Context(session_id="s1", principal="ann", trace_id="t1")
        return self.engine.decide(ToolCall(name, arguments or HELLO, context=context))

    def heard(self, method: str = "interceptor/invoke") -> list[dict[str, Any]]:
        messages = [json.loads(line) for line in self._heard.read_text(encoding="utf-8").splitlines()]
        return [each for each in messages if each.get("method") == method]

    def heard_soon(self, method: str) -> list[dict[str, Any]]:
        """What nobody waits for arrives when it does."""
        until = time.monotonic() + PATIENCE
        while not (found := self.heard(method)) and time.monotonic() < until:
            time.sleep(0.01)
        return found


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Opened]:
    def make(interceptors: list[Any], answers: Mapping[str, Any], *, said: Any = None, **settings: Any) -> Opened:
        return Opened(tmp_path, {"interceptors": interceptors, "answers": answers} | (said or {}), settings)

    return make


Make = Callable[..., Opened]

DECISIONS = [
    ("a validator that has nothing to say", [CHECK], {"check": YES}, {}, "allow", ""),
    ("a refusal", [CHECK], {"check": NO}, {}, "deny", "not on a Friday"),
    ("a refusal of the first generation", [{"name": "check", "type": "validation", "events": ["*"], "phase": "both"}],
     {"check": NO}, {}, "deny", "not on a Friday"),
    ("a refusal of the second generation",
     [{"name": "check", "type": "validation", "mode": "enforce", "hook": REQUEST[0]}],
     {"check": {"validation": NO}}, {}, "deny", "not on a Friday"),
    ("a program of the modern era", [CHECK], {"check": NO}, {"said": {"modern": True}}, "deny", "not on a Friday"),
    ("invalid, and it does not say how badly", [CHECK], {"check": {"valid": False}}, {}, "deny", "not valid"),
    ("a severity that nobody knows", [CHECK], {"check": NO | {"severity": "fatal"}}, {}, "deny", "Friday"),
    ("a warning", [CHECK], {"check": NO | {"severity": "warning"}}, {}, "allow", ""),
    ("an audit that would refuse", [CHECK | {"mode": "audit"}], {"check": NO}, {}, "allow", ""),
    ("a program that is watched", [CHECK], {"check": NO}, {"mode": "watch"}, "allow", ""),
    ("an override that watches", [CHECK], {"check": NO}, {"overrides": {"check": {"mode": "watch"}}}, "allow", ""),
    ("an override that enforces an audit", [CHECK | {"mode": "audit"}], {"check": NO},
     {"overrides": {"check": {"mode": "enforce"}}}, "deny", "Friday"),
    ("an interceptor at another event", [CHECK | {"hooks": [{"events": ["prompts/get"], "phase": "request"}]}],
     {"check": NO}, {}, "allow", ""),
    ("an event that the configuration leaves out", [CHECK | {"hooks": [{"events": ["*"], "phase": "request"}]}],
     {"check": NO}, {"events": ("prompts/get",)}, "allow", ""),
    ("hooks that an override narrows", [CHECK | {"hooks": [{"events": ["*"], "phase": "request"}]}], {"check": NO},
     {"overrides": {"check": {"hooks": [{"events": ["prompts/*"], "phase": "request"}]}}}, "allow", ""),
    ("hooks that an override would widen", [CHECK], {"check": YES},
     {"overrides": {"check": {"hooks": [{"events": ["*"], "phase": "request"}]}}}, "deny", "only narrow"),
    ("an override of what is not offered", [CHECK], {"check": YES}, {"overrides": {"chekc": {"mode": "watch"}}},
     "deny", "does not offer"),
    ("a mutation", [CHANGE], {"change": "upper"}, {}, "rewrite", ""),
    ("a mutation that is audited", [CHANGE | {"mode": "audit"}], {"change": "upper"}, {}, "allow", ""),
    ("a mutation that makes another call of it", [CHANGE],
     {"change": {"modified": True, "payload": {"name": "delete", "arguments": {}}}}, {}, "deny", "another call"),
    ("a mutation without its payload", [CHANGE], {"change": {"modified": True}}, {}, "deny", "has a payload"),
    ("a mutation that fails", [CHANGE, CHECK], {"change": {"error": {"code": -32603, "message": "no"}}, "check": YES},
     {}, "deny", "change failed"),
    ("a validator that fails", [CHECK], {"check": {"error": {"code": -32603, "message": "no"}}}, {}, "deny", "failed"),
    ("a validator that says of itself that it may fail", [CHECK | {"failOpen": True}],
     {"check": {"error": {"code": -32603, "message": "no"}}}, {}, "allow", ""),
    ("one that may fail, and the configuration says no", [CHECK | {"failOpen": True}], {"check": "garbage"},
     {"fail_open": False}, "deny", "no object"),
    ("one of them must not fail, where all others may", [CHECK], {"check": "garbage"},
     {"fail_open": True, "overrides": {"check": {"fail_open": False}}}, "deny", "no object"),
    ("a garbled answer", [CHECK], {"check": "garbage"}, {}, "deny", "no object"),
    ("an answer for another", [CHECK], {"check": YES | {"interceptor": "other"}}, {}, "deny", "another interceptor"),
    ("an answer of another type", [CHECK], {"check": {"modified": False, "type": "mutation"}}, {}, "deny", "type"),
    ("no answer", [CHECK], {"check": "hang"}, {"timeout": 0.2}, "deny", "no answer within 0.2 s"),
    ("no answer, and it may fail", [CHECK], {"check": "hang"}, {"timeout": 0.2, "fail_open": True}, "allow", ""),
    ("no answer within its own time", [CHECK], {"check": "hang"}, {"overrides": {"check": {"timeout": 0.2}}}, "deny",
     "0.2 s"),
    ("a program that dies over a call", [CHECK], {"check": "die"}, {}, "deny", "exit code 3"),
    ("a program that dies at its start", [CHECK], {"check": YES}, {"said": {"start": "die"}}, "deny", "exit code 4"),
    ("a program that is gone, and it may be", [CHECK], {}, {"said": {"start": "die"}, "fail_open": True}, "allow", ""),
    ("a program that floods us", [CHECK], {"check": YES}, {"said": {"start": "flood"}}, "deny", "bytes"),
    ("a list that is none", ["nonsense"], {}, {}, "deny", "descriptor"),
    ("a priority of 33 bits", [CHANGE | {"priorityHint": 2**31}], {"change": "upper"}, {}, "deny", "32 bits"),
    ("one that is made for a later MCP", [CHECK | {"compat": {"minProtocol": "2099-01-01"}}], {"check": YES}, {},
     "deny", "not made for"),
    ("two of one name", [CHECK, CHECK], {"check": YES}, {}, "deny", "one name"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("interceptors", "answers", "settings", "outcome", "why"),
    [case[1:] for case in DECISIONS],
    ids=[case[0] for case in DECISIONS],
)
def test_what_becomes_of_a_call(
    opened: Make, interceptors: Any, answers: Any, settings: dict[str, Any], outcome: str, why: str
) -> None:
    import msgspec

    from interpose.core.config.remote_interceptors import InterceptorOverride

    given = dict(settings)
    if "overrides" in given:
        given["overrides"] = msgspec.convert(given["overrides"], dict[str, InterceptorOverride])
    verdict = opened(interceptors, answers, **given).decide()
    assert verdict.outcome == outcome, verdict
    assert why in verdict.reason


def test_a_refusal_says_who_where_and_what_instead(opened: Make) -> None:
    said = NO | {"suggestions": [{"path": "arguments.note", "value": "later"}]}
    verdict = opened([CHECK], {"check": said}).decide()
    assert isinstance(verdict.decision, Deny)
    assert (verdict.decision.rule, verdict.decision.part) == ("check", "arguments.note")
    assert "later" in verdict.decision.instead
    assert verdict.decided_by is not None
    assert verdict.decided_by.interceptor == "remote:toy:validation"


def test_what_is_sent_is_an_invocation_of_the_current_generation(opened: Make) -> None:
    one = opened([CHECK | {"configSchema": {"type": "object"}}], {"check": YES}, config={"check": {"limit": 3}})
    assert one.decide().outcome == "allow"
    (message,) = one.heard()
    params = message["params"]
    assert (params["name"], params["event"], params["phase"]) == ("check", "tools/call", "request")
    assert params["payload"] == {"name": "write", "arguments": HELLO, "_meta": {"interpose/server": "notes"}}
    assert (params["config"], params["timeoutMs"]) == ({"limit": 3}, 5000)
    timestamp = params["context"].pop("timestamp")
    assert timestamp.endswith("Z")
    assert params["context"] == {
        "principal": {"type": "user", "id": "ann"}, "sessionId": "s1", "traceId": "t1", "tool": "mcp__notes__write",
    }  # fmt: skip
    assert len(one.heard("initialize")) == len(one.heard("notifications/initialized")) == 1


def test_a_late_interceptor_is_told_that_nobody_waits(opened: Make) -> None:
    one = opened([CHECK], {"check": "hang"}, timeout=0.2)
    assert one.decide().outcome == "deny"
    (told,) = one.heard_soon("notifications/cancelled")
    assert told["params"]["requestId"] == one.heard()[0]["id"]


def test_validators_see_what_mutations_made_of_it(opened: Make) -> None:
    one = opened([CHECK, CHANGE], {"check": YES, "change": "upper"})
    verdict = one.decide()
    assert verdict.payload.arguments == {"note": "HELLO"}
    assert [each["params"]["payload"]["arguments"]["note"] for each in one.heard()] == ["hello", "HELLO"]


def test_guards_of_ours_see_what_a_mutation_made_of_a_call(opened: Make) -> None:
    hostile = {"modified": True, "payload": {"name": "Bash", "arguments": {"command": "rm -rf /"}}}
    verdict = opened([CHANGE], {"change": hostile}).decide({"command": "ls"}, name="Bash")
    assert verdict.outcome == "deny"
    assert verdict.decided_by is not None
    assert verdict.decided_by.interceptor == "builtin:command-safety-guard"


def test_a_mutation_of_anothers_is_shown_to_validators_again(opened: Make) -> None:
    one = opened([CHECK], {"check": YES})

    def late(_input: Any, output: Any) -> None:
        output.args["note"] = "smuggled"

    registry = one.engine.interceptors
    assert isinstance(registry, InterceptorRegistry)
    registry.add(id="late", name="tool.before", priority=1, handler=late)
    assert one.decide().outcome == "rewrite"
    assert [each["params"]["payload"]["arguments"]["note"] for each in one.heard()] == ["hello", "smuggled"]


def test_results_are_validated_as_they_came_and_then_changed(opened: Make) -> None:
    hooks = [BOTH[1]]
    new = {"modified": True, "payload": {"content": [{"type": "text", "text": "hidden"}]}}
    one = opened([CHECK | {"hooks": hooks}, CHANGE | {"hooks": hooks}], {"check": YES, "change": new})
    call = ToolCall("mcp__notes__read", {})
    came = {"content": [{"type": "text", "text": "shown"}]}
    assert one.engine.run_tool(call, lambda _call: came) == new["payload"]
    assert one.engine.run_tool(call, lambda _call: "shown") == "hidden"
    assert [each["params"]["phase"] for each in one.heard()] == ["response"] * 4
    assert all(each["params"]["payload"] == came for each in one.heard())


def test_a_sink_is_told_of_refused_calls_too_and_decides_nothing(opened: Make) -> None:
    sink = {"name": "log", "type": "sink", "hooks": REQUEST}
    one = opened([CHECK, sink], {"check": NO, "log": "hang"})
    assert one.decide().outcome == "deny"
    names: list[str] = []
    until = time.monotonic() + PATIENCE
    while "log" not in names and time.monotonic() < until:
        names = [each["params"]["name"] for each in one.heard()]
        time.sleep(0.01)
    assert "log" in names


def test_audits_are_findings(opened: Make) -> None:
    one = opened([CHECK | {"mode": "audit"}, CHANGE | {"mode": "audit"}], {"check": NO, "change": "upper"})
    found = [(each.rule, each.said, each.mode) for each in one.decide().findings]
    assert found == [("change", "rewrite", "watch"), ("check", "deny", "watch")]


def test_a_program_that_died_is_started_again(opened: Make) -> None:
    one = opened([CHECK], {"check": "die"})
    assert [one.decide().outcome for _ in range(2)] == ["deny", "deny"]
    assert len(one.heard("started")) == 2


def test_a_program_that_keeps_failing_is_left_alone(opened: Make) -> None:
    one = opened([CHECK], {"check": YES}, said={"start": "die"})
    reasons = [one.decide().reason for _ in range(6)]
    assert len(one.heard("started")) == 3
    assert "tried again in" in reasons[-1]


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    one = RemoteInterceptorProgram(command="no-such-program-anywhere")
    engine = open_guards(Config(remote_interceptors={"toy": one}))
    verdict = engine.decide(ToolCall("read", {"path": str(tmp_path)}))
    assert verdict.outcome == "deny"
    assert "no-such-program-anywhere" in verdict.reason


def test_variables_are_filled_in_when_a_program_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"interceptors": [CHECK], "answers": {"check": NO}}
    environment = {"PROGRAM": "${TOY_PROGRAM}", "HEARD": str(tmp_path / "heard")}
    one = RemoteInterceptorProgram(command=sys.executable, args=(PROGRAM,), env=environment)
    engine = open_guards(Config(remote_interceptors={"toy": one}))
    assert "TOY_PROGRAM is not set" in engine.decide(ToolCall("mcp__notes__write", HELLO)).reason
    monkeypatch.setenv("TOY_PROGRAM", json.dumps(said))
    assert engine.decide(ToolCall("mcp__notes__write", HELLO)).reason == "not on a Friday"


CONFIGURED = [
    ("neither a command nor a url", {"toy": {}}, "either a command or a url"),
    ("both", {"toy": {"command": "a", "url": "http://b/"}}, "either a command or a url"),
    ("a widening", {"toy": {"command": "a", "events": ["tools/call"], "overrides": {
        "x": {"hooks": [{"events": ["tools/*"], "phase": "request"}]}}}}, "only narrow"),
    ("a name that no rule could say", {"a b": {"command": "a"}}, "letters, digits"),
    ("a secret in the file", {"toy": {"url": "https://b/", "headers": {"Authorization": "abc"}}}, "variable"),
    ("a priority that observes", {"toy": {"command": "a", "priority": -1}}, "priority"),
    ("an unknown key", {"toy": {"command": "a", "failopen": True}}, "failopen"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "why"), [case[1:] for case in CONFIGURED], ids=[case[0] for case in CONFIGURED])
def test_a_configuration_that_is_wrong_says_where(tmp_path: Path, value: Any, why: str) -> None:
    file = tmp_path / "interpose.yaml"
    file.write_text(json.dumps({"remote_interceptors": value}), encoding="utf-8")
    file.chmod(0o600)
    with pytest.raises(ConfigError) as raised:
        load(file, environ={"HOME": str(tmp_path)})
    assert why in str(raised.value)
    assert "remote_interceptors" in str(raised.value)
