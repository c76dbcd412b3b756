"""What is known to be broken in the two pipelines that this one takes over: one test a bug, named after its section.

`openclaw_1_x` is the interceptor pipeline of seeds 000 and 001, `gemicro_3_x` are the interceptor chains of seed 002.
"""

from __future__ import annotations

import asyncio
import io
import re
import threading
from typing import Any

import pytest

from interpose import (
    Allow,
    AutoApprove,
    BatchAnswer,
    Confirm,
    Context,
    Deny,
    DuplicateIdError,
    Engine,
    InteractiveConfirmation,
    InterceptorChain,
    InterceptorEvent,
    InterceptorRegistry,
    MatcherError,
    Message,
    Params,
    PermissionRequest,
    RegistrationError,
    ToolCall,
    ToolOutcome,
    ToolSet,
    ToolSetError,
    Transform,
    UnknownHookPointError,
    create_interceptor_registry,
    format_event,
)
from interpose.engine.flow.wire_log import WireLog

LS = ToolCall("exec", {"command": "ls"}, "call-1")


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


class Says:
    """An interceptor that says one thing and remembers what it was shown."""

    def __init__(self, decision: Any = None) -> None:
        self.decision = decision or Allow()
        self.seen: list[Any] = []
        self.observed: list[ToolOutcome] = []

    def intercept(self, payload: Any) -> Any:
        self.seen.append(payload)
        return self.decision

    def observe(self, _payload: Any, outcome: Any) -> None:
        self.observed.append(outcome)


class Person:
    """Says yes and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[PermissionRequest] = []

    def confirm(self, request: PermissionRequest, /) -> bool:
        self.asked.append(request)
        return True


def nothing(_input: Any, _output: Any) -> None:
    pass


def block(_input: Any, output: Any) -> None:
    output.block, output.block_reason = True, "blocked first"


def unblock(_input: Any, output: Any) -> None:
    output.block, output.block_reason = False, "never mind"


def fail(_arguments: Any) -> Any:
    raise OSError("tool failed")


# --- openclaw 1.1: events and shapes ------------------------------------------------------------


def test_openclaw_1_1_the_metadata_bag_reaches_the_tool_events(registry: InterceptorRegistry) -> None:
    bags: list[Any] = []
    registry.add(id="m", name="message.before", handler=lambda _i, o: o.metadata.update(k=1))
    registry.add(id="b", name="tool.before", handler=lambda i, _o: bags.append(i.metadata))
    registry.add(id="a", name="tool.after", handler=lambda i, _o: bags.append(i.metadata))
    run = Engine(registry).run()
    run.message("hi")
    run.run_tool(LS, lambda _: None)
    assert bags == [{"k": 1}, {"k": 1}]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", "m"), ("provider", "p"), ("temperature", 0.2), ("think_level", "high"), ("reasoning_level", "on"),
        ("extras", {"seed": 7}),
    ],
)  # fmt: skip
def test_openclaw_1_1_params_before_really_applies_every_field(
    registry: InterceptorRegistry, field: str, value: Any
) -> None:
    registry.add(id="p", name="params.before", handler=lambda _i, o: setattr(o, field, value))
    assert getattr(Engine(registry).run().params(Params()).payload, field) == value


@pytest.mark.parametrize("field", ["model", "provider", "temperature", "think_level", "reasoning_level"])
def test_openclaw_1_1_a_handler_can_unset_a_level(registry: InterceptorRegistry, field: str) -> None:
    registry.add(id="p", name="params.before", handler=lambda _i, o: setattr(o, field, None))
    before = Params(model="m", provider="p", temperature=0.2, think_level="low", reasoning_level="on")
    assert getattr(Engine(registry).run().params(before).payload, field) is None


# --- openclaw 1.2: registry ------------------------------------------------------------


def test_openclaw_1_2_duplicate_ids_are_refused(registry: InterceptorRegistry) -> None:
    registry.add(id="x", name="tool.before", handler=nothing)
    with pytest.raises(DuplicateIdError):
        registry.add(id="x", name="tool.before", handler=nothing)


def test_openclaw_1_2_remove_leaves_no_second_entry_of_the_id(registry: InterceptorRegistry) -> None:
    registry.add(id="x", name="tool.before", handler=block)
    registry.remove("x")
    assert registry.get("tool.before") == ()


def test_openclaw_1_2_the_agent_matcher_is_validated(registry: InterceptorRegistry) -> None:
    with pytest.raises(MatcherError):
        registry.add(id="x", name="message.before", agent_matcher="(", handler=nothing)


def test_openclaw_1_2_unknown_event_names_are_refused(registry: InterceptorRegistry) -> None:
    with pytest.raises(UnknownHookPointError):
        registry.add(id="x", name="tool.befor", handler=nothing)


def test_openclaw_1_2_the_handler_type_is_checked(registry: InterceptorRegistry) -> None:
    with pytest.raises(RegistrationError):
        registry.add(id="x", name="tool.before", handler=5)  # type: ignore[arg-type]


def test_openclaw_1_2_agent_matchers_apply_to_tools_too(registry: InterceptorRegistry) -> None:
    registry.add(id="x", name="tool.before", agent_matcher="^research$", handler=block)
    engine = Engine(registry)
    assert engine.run(Context(agent_id="main")).decide(LS).allowed
    assert not engine.run(Context(agent_id="research")).decide(LS).allowed


def test_openclaw_1_2_a_tool_matcher_where_there_is_no_tool_is_refused(registry: InterceptorRegistry) -> None:
    with pytest.raises(MatcherError, match="means nothing at"):
        registry.add(id="x", name="params.before", tool_matcher="exec", handler=nothing)


def test_openclaw_1_2_a_wrapped_call_is_what_it_carries(registry: InterceptorRegistry) -> None:
    registry.add(id="x", name="tool.before", tool_matcher="^exec$", handler=block)
    for wrapper in ("tool_call", "dispatch_action"):
        call = ToolCall(wrapper, {"name": "Bash", "arguments": {"command": "ls"}})
        assert not Engine(registry).decide(call).allowed


# --- openclaw 1.3: trigger ------------------------------------------------------------


def test_openclaw_1_3_block_stops_the_chain(registry: InterceptorRegistry) -> None:
    ran: list[str] = []
    registry.add(id="first", name="tool.before", priority=9, handler=block)
    registry.add(id="second", name="tool.before", handler=lambda _i, _o: ran.append("second"))
    Engine(registry).decide(LS)
    assert ran == []


def test_openclaw_1_3_block_cannot_be_unset(registry: InterceptorRegistry) -> None:
    registry.add(id="first", name="tool.before", priority=9, handler=block)
    registry.add(id="second", name="tool.before", handler=unblock)
    registry.add(id="observer", name="tool.before", priority=-9, handler=unblock)
    assert Engine(registry).run_tool(LS, lambda _: "ran")["status"] == "blocked"


def test_openclaw_1_3_the_first_reason_stays(registry: InterceptorRegistry) -> None:
    registry.add(id="first", name="tool.before", priority=9, handler=block)
    registry.add(id="observer", name="tool.before", priority=-9, handler=unblock)
    assert Engine(registry).decide(LS).reason == "blocked first"


def test_openclaw_1_3_an_exception_in_tool_before_is_a_block_and_no_crash(registry: InterceptorRegistry) -> None:
    registry.add(id="broken", name="tool.before", handler=lambda _i, _o: 1 / 0)
    assert Engine(registry).run_tool(LS, lambda _: "ran") == {
        "status": "blocked", "tool": "exec", "reason": "broken failed: division by zero",
    }  # fmt: skip


def test_openclaw_1_3_an_exception_in_tool_after_is_declared_by_on_error(registry: InterceptorRegistry) -> None:
    registry.add(id="broken", name="tool.after", on_error="allow", handler=lambda _i, _o: 1 / 0)
    assert Engine(registry).run_tool(LS, lambda _: "finished") == "finished"
    registry.clear()
    registry.add(id="broken", name="tool.after", handler=lambda _i, _o: 1 / 0)
    assert Engine(registry).run_tool(LS, lambda _: "finished")["status"] == "withheld"


@pytest.mark.parametrize("point", ["message.before", "params.before"])
def test_openclaw_1_3_an_exception_before_the_run_is_a_verdict(registry: InterceptorRegistry, point: str) -> None:
    registry.add(id="broken", name=point, handler=lambda _i, _o: 1 / 0)
    run = Engine(registry).run()
    run.message("hi")
    run.params(Params())
    assert run.stopped == "broken failed: division by zero"


def test_openclaw_1_3_there_are_timeouts(registry: InterceptorRegistry) -> None:
    release = threading.Event()
    registry.add(id="hangs", name="tool.before", timeout=0.01, handler=lambda _i, _o: release.wait(30) and None)
    try:
        assert Engine(registry).decide(LS).reason == "hangs failed: no answer within 0.01 s"
    finally:
        release.set()


def test_openclaw_1_3_argument_rewrites_are_reported_as_events(registry: InterceptorRegistry) -> None:
    events: list[InterceptorEvent] = []
    registry.add(id="r", name="tool.before", handler=lambda _i, o: o.args.update(command="pwd"))
    Engine(registry).run(on_event=[events.append]).run_tool(LS, lambda _: None)
    assert [format_event(event) for event in events] == ["✏️ r · rewrote exec — command"]


def test_openclaw_1_3_only_who_changed_the_bag_is_reported(registry: InterceptorRegistry) -> None:
    events: list[InterceptorEvent] = []
    registry.add(id="fills", name="message.before", priority=1, handler=lambda _i, o: o.metadata.update(k=1))
    registry.add(id="idle", name="message.before", handler=nothing)
    Engine(registry).run(on_event=[events.append]).message("hi")
    assert [(event.interceptor_id, event.mutations) for event in events] == [("fills", ("metadata: k",))]


# --- openclaw 1.4, 1.5: status lines and the adapter ------------------------------------------------------------


def test_openclaw_1_4_a_failing_listener_changes_nothing(registry: InterceptorRegistry) -> None:
    registry.add(id="r", name="tool.before", handler=lambda _i, o: o.args.update(command="pwd"))
    run = Engine(registry).run(on_event=[lambda _: 1 / 0])
    assert run.run_tool(LS, lambda arguments: arguments["command"]).response == "pwd"


def test_openclaw_1_5_tool_after_runs_for_a_blocked_call_and_only_looks(registry: InterceptorRegistry) -> None:
    seen: list[bool] = []

    def after(input: Any, output: Any) -> None:
        seen.append(input.denied)
        output.result = "smuggled"

    registry.add(id="b", name="tool.before", handler=block)
    registry.add(id="a", name="tool.after", handler=after)
    assert Engine(registry).run_tool(LS, lambda _: "ran")["status"] == "blocked"
    assert seen == [True]


def test_openclaw_1_5_tool_after_runs_for_a_failed_tool(registry: InterceptorRegistry) -> None:
    seen: list[bool] = []
    registry.add(id="a", name="tool.after", handler=lambda i, _o: seen.append(i.is_error))
    assert Engine(registry).run_tool(LS, fail) == {"status": "error", "tool": "exec", "error": "tool failed"}
    assert seen == [True]


def test_openclaw_1_5_a_blocked_call_shows_only_its_shield_line(registry: InterceptorRegistry) -> None:
    lines: list[str] = []
    registry.add(id="b", name="tool.before", handler=block)
    Engine(registry, verbose="full", sinks=[lines.append]).run_tool(LS, lambda _: "ran")
    assert lines == ['🛡️ b · blocked exec — "blocked first"']


# --- openclaw 1.8: other weaknesses ------------------------------------------------------------


def test_openclaw_1_8_1_agent_matcher_sees_the_real_agent_id(registry: InterceptorRegistry) -> None:
    seen: list[str] = []
    registry.add(
        id="x", name="message.before", agent_matcher="^research$", handler=lambda i, _o: seen.append(i.agent_id)
    )
    engine = Engine(registry)
    engine.run(Context.of_session_key("agent:research:telegram:42")).message("hi")
    engine.run(Context.of_session_key("agent:agent:x")).message("hi")
    engine.run(Context.of_session_key("no-agent")).message("hi")
    assert seen == ["research"]


def test_openclaw_1_8_2_listeners_belong_to_their_run(registry: InterceptorRegistry) -> None:
    registry.add(id="b", name="tool.before", handler=block)
    heard: dict[str, list[str]] = {"first": [], "second": []}
    engine = Engine(registry)
    first = engine.run(on_event=[lambda e: heard["first"].append(e.match_context)])
    second = engine.run(on_event=[lambda e: heard["second"].append(e.match_context)])
    second.run_tool(ToolCall("write", {}), lambda _: None)
    first.run_tool(ToolCall("read", {}), lambda _: None)
    engine.run().run_tool(ToolCall("edit", {}), lambda _: None)
    assert heard == {"first": ["read"], "second": ["write"]}


def test_openclaw_1_8_3_a_block_is_announced_once_under_its_own_id(registry: InterceptorRegistry) -> None:
    events: list[InterceptorEvent] = []
    for number in range(3):
        registry.add(id=f"b{number}", name="tool.before", handler=block)
    Engine(registry).run(on_event=[events.append]).run_tool(LS, lambda _: None)
    assert [event.interceptor_id for event in events] == ["b0"]


def test_openclaw_1_8_4_a_matcher_matches_every_time(registry: InterceptorRegistry) -> None:
    registry.add(id="b", name="tool.before", tool_matcher=re.compile("exec"), handler=block)
    engine = Engine(registry)
    assert [engine.decide(ToolCall("exec", {})).outcome for _ in range(10)] == ["deny"] * 10


def test_openclaw_1_8_5_a_matcher_may_name_a_declared_tool(registry: InterceptorRegistry) -> None:
    registry.declare_tools(["mcp__git__push"])
    registry.add(id="b", name="tool.before", tool_matcher="^mcp__git__push$", handler=block)
    assert not Engine(registry).decide(ToolCall("mcp__git__push", {})).allowed
    assert Engine(registry).decide(ToolCall("mcp__git__pull", {})).allowed


def test_openclaw_1_8_6_the_callers_arguments_are_never_changed(registry: InterceptorRegistry) -> None:
    given = {"command": "ls", "env": {"A": ["1"]}}
    registry.add(id="m", name="tool.before", handler=lambda _i, o: o.args["env"]["A"].append("2"))
    verdict = Engine(registry).decide(ToolCall("exec", given))
    assert given == {"command": "ls", "env": {"A": ["1"]}}
    assert verdict.payload.arguments["env"] == {"A": ["1", "2"]}
    assert [(f.interceptor, f.said, f.reason) for f in verdict.findings] == [("m", "rewrite", "env")]


def test_openclaw_1_8_7_tool_events_have_the_whole_context(registry: InterceptorRegistry) -> None:
    seen: list[Any] = []
    registry.add(id="b", name="tool.before", handler=lambda i, _o: seen.append(i.context))
    registry.add(id="a", name="tool.after", handler=lambda i, _o: seen.append(i.context))
    context = Context(session_id="s", agent_id="a", role="r", principal="u", cwd="/w", trace_id="t", source="http")
    Engine(registry).run(context).run_tool(LS, lambda _: None)
    assert seen == [context, context]


def test_openclaw_1_8_8_there_is_an_ask_and_a_dry_run(registry: InterceptorRegistry) -> None:
    registry.add(id="a", name="tool.before", handler=lambda _i, o: setattr(o, "ask", "sure?"))
    assert Engine(registry).decide(LS).outcome == "ask"
    registry.clear()
    registry.add(id="w", name="tool.before", mode="watch", handler=block)
    verdict = Engine(registry).decide(LS)
    assert verdict.outcome == "allow"
    assert [(f.said, f.mode) for f in verdict.findings] == [("deny", "watch")]


def test_openclaw_1_8_9_tool_after_runs_for_an_aborted_call(registry: InterceptorRegistry) -> None:
    seen: list[bool] = []
    registry.add(id="a", name="tool.after", handler=lambda i, _o: seen.append(i.is_error))

    def abort(_arguments: Any) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        Engine(registry).run_tool(LS, abort)
    assert seen == [True]


def test_openclaw_1_8_10_permission_ask_exists(registry: InterceptorRegistry) -> None:
    registry.add(id="a", name="tool.before", handler=lambda _i, o: setattr(o, "ask", "sure?"))
    registry.add(id="p", name="permission.ask", handler=block)
    assert Engine(registry, confirm=AutoApprove()).run_tool(LS, lambda _: "ran")["reason"] == "blocked first"


# --- gemicro 3.1-3.4 ------------------------------------------------------------


def test_gemicro_3_1_message_chains_really_run() -> None:
    chain = InterceptorChain[Message, str]().with_(Says(Transform(Message("rewritten"))))
    assert chain.run(Message("hi"), lambda message: message.text) == "rewritten"


def test_gemicro_3_1_external_events_can_be_intercepted() -> None:
    chain = InterceptorChain[dict[str, str], str]().with_(Says(Deny("untrusted")))
    assert chain.intercept({"channel": "mail"}).reason == "untrusted"


def test_gemicro_3_2_a_failing_interceptor_does_not_hide_a_later_deny(registry: InterceptorRegistry) -> None:
    registry.add(id="broken", name="tool.before", on_error="allow", handler=lambda _i, _o: 1 / 0)
    registry.add(id="guard", name="tool.before", interceptor=Says(Deny("no")))
    verdict = Engine(registry).decide(LS)
    assert [(f.interceptor, f.said) for f in verdict.findings] == [("broken", "error"), ("guard", "deny")]


def test_gemicro_3_2_a_panic_is_caught(registry: InterceptorRegistry) -> None:
    class Panic(BaseException):
        pass

    def panic(_input: Any, _output: Any) -> None:
        raise Panic("3")

    registry.add(id="panics", name="tool.before", handler=panic)
    assert Engine(registry).decide(LS).reason == "panics failed: 3"


def test_gemicro_3_3_denials_and_failures_reach_observe(registry: InterceptorRegistry) -> None:
    says = Says()
    registry.add(id="says", name="tool.before", priority=9, interceptor=says)
    Engine(registry).run_tool(LS, fail)
    registry.add(id="b", name="tool.before", handler=block)
    Engine(registry).run_tool(LS, lambda _: "ran")
    assert [(o.is_error, o.denied) for o in says.observed] == [(True, False), (True, True)]


def test_gemicro_3_3_an_unresolved_tool_set_is_an_error_with_a_text_and_no_panic() -> None:
    with pytest.raises(ToolSetError, match="must be resolved"):
        ToolSet.inherit().matches("exec")
    assert not ToolSet.inherit_except([]).resolve(ToolSet.inherit()).matches("exec")


def test_gemicro_3_4_the_default_batch_answer_is_deny() -> None:
    handler = InteractiveConfirmation(input=io.StringIO("\n"), output=io.StringIO())
    assert handler.confirm_batch([PermissionRequest("x?")], ["exec"]) is BatchAnswer.DENY


# --- gemicro 3.6 ------------------------------------------------------------


def test_gemicro_3_6_1_confirm_does_not_skip_a_later_deny(registry: InterceptorRegistry) -> None:
    person = Person()
    registry.add(id="ask", name="tool.before", priority=9, interceptor=Says(Confirm("sure?")))
    registry.add(id="guard", name="tool.before", interceptor=Says(Deny("no")))
    assert Engine(registry, confirm=person).run_tool(LS, lambda _: "ran")["reason"] == "no"
    assert person.asked == []


def test_gemicro_3_6_2_transform_then_confirm_runs_the_transformed_call(registry: InterceptorRegistry) -> None:
    person = Person()
    registry.add(id="redact", name="tool.before", priority=9, handler=lambda _i, o: o.args.update(command="echo ***"))
    registry.add(id="ask", name="tool.before", interceptor=Says(Confirm("sure?")))
    assert Engine(registry, confirm=person).run_tool(LS, lambda arguments: arguments) == {"command": "echo ***"}
    assert [request.arguments for request in person.asked] == [{"command": "echo ***"}]


def test_gemicro_3_6_3_nobody_approves_silently(registry: InterceptorRegistry) -> None:
    registry.add(id="ask", name="tool.before", interceptor=Says(Confirm("sure?")))
    run = Engine(registry).run()
    assert run.run_tool(LS, lambda _: "ran").response["status"] == "blocked"
    assert run.run_tools([(LS, lambda _: "ran")])[0].response["status"] == "blocked"


def test_gemicro_3_6_4_failed_tools_reach_observe(registry: InterceptorRegistry) -> None:
    says = Says()
    registry.add(id="says", name="tool.before", interceptor=says)
    done = Engine(registry).run().run_tool(LS, fail)
    assert [(o.is_error, o.result) for o in says.observed] == [(True, done.response)]
    assert done.verdict.timings[0][0] == "says"


def test_gemicro_3_6_5_intercept_and_observe_are_correlated_by_the_call_id(registry: InterceptorRegistry) -> None:
    class Correlate(Says):
        def observe(self, payload: ToolCall, outcome: ToolOutcome) -> None:
            assert outcome.call is payload
            self.observed.append(outcome)

    says = Correlate()
    registry.add(id="says", name="tool.before", priority=9, interceptor=says)
    registry.add(id="r", name="tool.before", handler=lambda _i, o: o.args.update(x=1))
    for number in range(5):
        Engine(registry).run_tool(ToolCall("exec", {}, f"id-{number}"), lambda _: None)
    assert [call.call_id for call in says.seen] == [outcome.call.call_id for outcome in says.observed]
    wire = WireLog(enabled=True, stream=io.StringIO())
    wire.call(LS)
    wire.outcome(ToolOutcome(LS))
    assert wire._open == {}


def test_gemicro_3_6_6_a_result_can_be_redacted(registry: InterceptorRegistry) -> None:
    registry.add(id="r", name="tool.after", handler=lambda _i, o: setattr(o, "result", "***"))
    assert Engine(registry).run_tool(LS, lambda _: "secret") == "***"


def test_gemicro_3_6_7_the_default_batch_choice_is_not_approve(registry: InterceptorRegistry) -> None:
    registry.add(id="ask", name="tool.before", interceptor=Says(Confirm("sure?")))
    handler = InteractiveConfirmation(input=io.StringIO(""), output=io.StringIO())
    runs = Engine(registry, confirm=handler).run().run_tools([(LS, lambda _: "ran"), (LS, lambda _: "ran")])
    assert [run.response["reason"] for run in runs] == ["User denied batch execution"] * 2


def test_gemicro_3_6_8_priorities_timeouts_and_context_exist(registry: InterceptorRegistry) -> None:
    says = Says()
    registry.add(id="late", name="tool.before", interceptor=Says(Deny("late")))
    registry.add(id="early", name="tool.before", priority=1, timeout=5, interceptor=says)
    Engine(registry).run(Context(session_id="s")).decide(LS)
    assert [call.context.session_id for call in says.seen] == ["s"]


def test_gemicro_3_6_8_a_bad_configuration_is_an_error_and_no_panic(registry: InterceptorRegistry) -> None:
    with pytest.raises(RegistrationError):
        registry.add(id="x", name="tool.before", handler=nothing, timeout=-1)
