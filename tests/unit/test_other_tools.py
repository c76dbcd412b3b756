"""A rewrite may be a new call: of the same tool it keeps what it replaces, of another it is judged from the start."""

from __future__ import annotations

from collections import UserDict
from types import MappingProxyType
from typing import Any

import pytest

from interpose import (
    Allow,
    Confirm,
    Context,
    Deny,
    Engine,
    InterceptorRegistry,
    PermissionRequest,
    Registration,
    ToolCall,
    ToolOutcome,
    ToolSet,
    Transform,
    create_interceptor_registry,
)
from interpose.core.driving import drive

CALL = ToolCall("Bash", {"command": "ls"}, "id-1", Context(session_id="s"))


class Swap:
    """Rewrites calls of one tool to another call."""

    def __init__(self, tool: str, new: ToolCall) -> None:
        self.tool, self.new = tool, new

    def intercept(self, call: ToolCall) -> Allow | Transform[ToolCall]:
        return Transform(self.new) if call.name == self.tool else Allow()


class Seen:
    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.outcomes: list[ToolOutcome] = []

    def intercept(self, call: ToolCall) -> Allow:
        self.calls.append(call)
        return Allow()

    def observe(self, _call: ToolCall, outcome: ToolOutcome) -> None:
        self.outcomes.append(outcome)


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


@pytest.mark.parametrize("name", ["exec", "Bash", "run_shell_command"])
def test_a_new_call_of_the_same_tool_keeps_what_it_replaces(registry: InterceptorRegistry, name: str) -> None:
    registry.add(id="swap", name="tool.before", interceptor=Swap("exec", ToolCall(name, {"command": "pwd"})))
    verdict = Engine(registry).run(CALL.context).decide(CALL)
    assert verdict.outcome == "rewrite"
    assert verdict.payload.arguments == {"command": "pwd"}
    kept = (verdict.payload.name, verdict.payload.original_name, verdict.payload.call_id, verdict.payload.context)
    assert kept == ("exec", "Bash", "id-1", CALL.context)
    assert Engine(registry).run_tool(CALL, lambda arguments: arguments) == {"command": "pwd"}


def test_another_tool_is_judged_from_the_first_one_on(registry: InterceptorRegistry) -> None:
    """The guard of `exec` stands above the rewrite and has no say about `read`: only a new start asks it."""
    registry.add(
        id="no-rm", name="tool.before", priority=100, tool_matcher="^exec$",
        handler=lambda _i, o: Deny("no rm") if "rm" in o.args["command"] else None,
    )  # fmt: skip
    registry.add(id="swap", name="tool.before", interceptor=Swap("read", ToolCall("shell", {"command": "rm -rf /"})))
    ran: list[Any] = []
    engine = Engine(registry)
    engine.add_tool(lambda command: ran.append(command), "bash")  # noqa: PLW0108 - its parameter has a name
    verdict = engine.decide(ToolCall("read", {"path": "x"}))
    assert (verdict.outcome, verdict.reason, verdict.decided_by and verdict.decided_by.interceptor) == (
        "deny", "no rm", "no-rm",
    )  # fmt: skip
    assert engine.run_tool(ToolCall("read", {"path": "x"}), lambda _: "read it")["reason"] == "no rm"
    assert ran == []


def test_the_other_tool_runs(registry: InterceptorRegistry) -> None:
    seen = Seen()
    registry.add(id="seen", name="tool.before", interceptor=seen)
    registry.add(id="swap", name="tool.before", interceptor=Swap("read", ToolCall("grep", {"pattern": "p"}, "other")))
    engine = Engine(registry)
    engine.add_tool(lambda path: f"read {path}", "read")
    engine.add_tool(lambda pattern: f"found {pattern}", "grep")
    done = engine.run(CALL.context).call("read", {"path": "x"}, call_id="id-2")
    assert done.response == "found p"
    assert (done.outcome.call.name, done.outcome.call.call_id) == ("grep", "id-2")
    assert [call.name for call in seen.calls] == ["read", "grep"]
    assert [outcome.call.name for outcome in seen.outcomes] == ["grep"]


def test_who_saw_it_under_its_old_name_hears_what_came_of_it(registry: InterceptorRegistry) -> None:
    seen = Seen()
    registry.add(id="seen", name="tool.before", tool_matcher="^read$", interceptor=seen)
    registry.add(id="swap", name="tool.before", interceptor=Swap("read", ToolCall("grep", {})))
    engine = Engine(registry)
    engine.add_tool(lambda: "found", "grep")
    assert engine.run_tool(ToolCall("read", {}), lambda _: "read") == "found"
    assert [outcome.result for outcome in seen.outcomes] == ["found"]


def test_a_tool_that_is_not_here_is_never_run_by_another(registry: InterceptorRegistry) -> None:
    registry.add(id="swap", name="tool.before", interceptor=Swap("exec", ToolCall("read", {"path": "x"})))
    engine = Engine(registry)
    answer = engine.run_tool(CALL, lambda _: pytest.fail("it ran"))
    assert "there is no such tool here" in answer["reason"]
    verdict = engine.run().before(CALL)  # a host runs its tools itself, under the names that it knows
    assert (verdict.outcome, "name may not be changed" in verdict.reason) == ("deny", True)


def test_an_agent_never_gets_more_tools(registry: InterceptorRegistry) -> None:
    registry.add(id="swap", name="tool.before", interceptor=Swap("read", ToolCall("grep", {})))
    engine = Engine(registry, tools=ToolSet.specific(["read"]))
    engine.add_tool(lambda: pytest.fail("it ran"), "grep")
    assert "is not available" in engine.run_tool(ToolCall("read", {}), lambda _: "read")["reason"]


def test_one_question_at_the_end_about_the_call_that_runs(registry: InterceptorRegistry) -> None:
    asked: list[PermissionRequest] = []

    class Asks:
        def intercept(self, call: ToolCall) -> Confirm:
            return Confirm(f"{call.name}?")

    registry.add(id="asks", name="tool.before", interceptor=Asks())
    registry.add(id="swap", name="tool.before", interceptor=Swap("read", ToolCall("grep", {"pattern": "p"})))

    def person(request: PermissionRequest) -> bool:
        asked.append(request)
        return True

    engine = Engine(registry, confirm=person)
    engine.add_tool(lambda pattern: pattern, "grep")
    assert engine.run_tool(ToolCall("read", {}), lambda _: "read") == "p"
    (request,) = asked
    assert (request.tool, request.arguments) == ("grep", {"pattern": "p"})
    assert [found.reason for found in request.findings] == ["read?", "grep?"]


def test_the_wish_of_the_other_tool_counts(registry: InterceptorRegistry) -> None:
    registry.add(id="swap", name="tool.before", interceptor=Swap("read", ToolCall("grep", {})))
    engine = Engine(registry)
    engine.add_tool(lambda: "found", "grep", requires_confirmation=lambda _: "grep it?")
    assert engine.decide(ToolCall("read", {})).reason == "grep it?"


def test_rewrites_that_turn_in_a_circle_are_refused(registry: InterceptorRegistry) -> None:
    registry.add(id="a", name="tool.before", interceptor=Swap("read", ToolCall("grep", {})))
    registry.add(id="b", name="tool.before", interceptor=Swap("grep", ToolCall("read", {})))
    verdict = Engine(registry).decide(ToolCall("read", {}))
    assert (verdict.outcome, verdict.rule) == ("deny", "unsettled-rewrite")


@pytest.mark.parametrize(
    "new",
    [
        ToolCall("exec", {}, context=Context(role="admin")),
        ToolCall("exec", {}, metadata={"trusted": True}),
        ToolCall("exec", {}, original_name="read_file"),
    ],
    ids=["context", "metadata", "original name"],
)
def test_what_a_new_call_may_not_say(registry: InterceptorRegistry, new: ToolCall) -> None:
    registry.add(id="swap", name="tool.before", interceptor=Swap("exec", new))
    assert "does not fit" in Engine(registry).decide(CALL).reason


# --- what handlers return --------------------------------------------------------------------------------------------


class NotToday(Deny, frozen=True):
    pass


@pytest.mark.parametrize(
    "answer",
    [
        False, {"block": True}, {"block": True, "blockReason": "no"}, {"params": {}}, MappingProxyType({"block": True}),
        UserDict(block=True), Deny, Confirm, ValueError, ValueError("no"), [Deny("no")], (Allow(), Deny("no")),
        NotToday("no"),
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("is_async", [False, True])
def test_what_only_looks_like_a_decision_denies(registry: InterceptorRegistry, answer: Any, is_async: bool) -> None:
    async def later(_input: Any, _output: Any) -> Any:
        return answer

    registry.add(id="old-style", name="tool.before", handler=later if is_async else lambda _i, _o: answer)
    blocked = Engine(registry).run_tool(CALL, lambda _: pytest.fail("it ran"))
    assert blocked["reason"].startswith("old-style failed: it returned")
    assert "output.block = True" in blocked["reason"]


@pytest.mark.parametrize("answer", [None, True, {}, 5, "text", [], [1], int, Registration])
def test_what_says_nothing_does_not(registry: InterceptorRegistry, answer: Any) -> None:
    registry.add(id="chatty", name="tool.before", handler=lambda _i, _o: answer)
    assert Engine(registry).run_tool(CALL, lambda _: "ran") == "ran"


def test_what_was_refused_in_the_output_keeps_its_reason(registry: InterceptorRegistry) -> None:
    def handler(_input: Any, output: Any) -> bool:
        output.block, output.block_reason = True, "not here"
        return False

    registry.add(id="both", name="tool.before", handler=handler)
    assert Engine(registry).run_tool(CALL, lambda _: "ran")["reason"] == "not here"


# --- observers -------------------------------------------------------------------------------------------------------


def block(_input: Any, output: Any) -> None:
    output.block = True


class Denies:
    def intercept(self, _call: ToolCall) -> Deny:
        return Deny("no")


@pytest.mark.parametrize(
    "options", [{"handler": block}, {"handler": lambda _i, _o: Deny("no")}, {"interceptor": Denies()}]
)
def test_an_observer_that_tries_to_block_is_warned_once(
    registry: InterceptorRegistry, caplog: pytest.LogCaptureFixture, options: dict[str, Any]
) -> None:
    registry.add(id="late", name="tool.before", priority=-5, **options)
    engine = Engine(registry)
    assert [engine.run_tool(CALL, lambda _: "ran") for _ in range(3)] == ["ran"] * 3
    assert [record.getMessage() for record in caplog.records] == [
        "late has the priority -5, so it only observes, and its Deny is ignored: give it 0 or more to let it decide"
    ]


def test_an_observer_that_fails_leaves_a_trace_and_changes_nothing(registry: InterceptorRegistry) -> None:
    registry.add(id="late", name="tool.before", priority=-5, handler=lambda _i, _o: 1 / 0)
    verdict = Engine(registry).decide(CALL)
    assert verdict.outcome == "allow"
    assert [(one.interceptor, one.said, one.reason) for one in verdict.findings] == [
        ("late", "error", "division by zero")
    ]


def test_an_observer_that_looks_at_a_refusal_is_not_warned(
    registry: InterceptorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    registry.add(id="denies", name="tool.before", handler=block)
    registry.add(id="looks", name="tool.before", priority=-5, handler=lambda _i, _o: None)
    Engine(registry).decide(CALL)
    assert caplog.text == ""


def test_a_host_that_runs_its_tools_itself_never_hears_of_another_one(registry: InterceptorRegistry) -> None:
    registry.add(id="swap", name="tool.before", interceptor=Swap("exec", ToolCall("read", {"path": "x"})))
    flow = Engine(registry).flow(CALL.context)
    said = drive(flow.decide(CALL, renames=False))
    assert (said.outcome, said.payload.name) == ("deny", "exec")
