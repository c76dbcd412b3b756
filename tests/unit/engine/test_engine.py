"""The flow of one run: message, parameters, tools, results, records."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpose import (
    Allow,
    AutoApprove,
    CallbackConfirmation,
    Confirm,
    Context,
    Deny,
    Engine,
    InterceptorRegistry,
    Params,
    PermissionRequest,
    ToolCall,
    ToolOutcome,
    Verdict,
    create_interceptor_registry,
)
from interpose.core.types import MAX_DEPTH

LS = ToolCall("Bash", {"command": "ls"})


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


def block(_input: Any, output: Any) -> None:
    output.block, output.block_reason = True, "no"


class Keep:
    """A recorder that keeps what it is told."""

    def __init__(self) -> None:
        self.log: list[tuple[str, Any]] = []

    def decided(self, verdict: Verdict[ToolCall]) -> None:
        self.log.append(("decided", verdict))

    def finished(self, verdict: Verdict[ToolCall], outcome: ToolOutcome, after: object) -> None:
        self.log.append(("finished", outcome))


def test_nothing_registered_allows(registry: InterceptorRegistry) -> None:
    verdict = Engine(registry).decide(LS)
    assert (verdict.outcome, verdict.allowed, verdict.findings) == ("allow", True, ())
    assert asyncio.run(Engine(registry).adecide(LS)).outcome == "allow"


def test_the_tool_gets_a_dict_of_its_own(registry: InterceptorRegistry) -> None:
    given = {"items": [1]}

    def execute(arguments: dict[str, Any]) -> Any:
        arguments["items"].append(2)
        return arguments

    assert Engine(registry).run_tool(ToolCall("x", given), execute) == {"items": [1, 2]}
    assert given == {"items": [1]}


def test_the_context_of_every_event_is_the_runs(registry: InterceptorRegistry) -> None:
    seen: list[Any] = []

    def see(input: Any, _output: Any) -> None:
        seen.append((input.context, input.agent_id, input.session_id, input.cwd))

    for point in ("message.before", "params.before", "tool.before", "permission.ask", "tool.after"):
        registry.add(id=point, name=point, handler=see)
    registry.add(id="ask", name="tool.before", handler=lambda _i, o: setattr(o, "ask", "sure?"))
    context = Context(session_id="s", agent_id="a", role="dev", principal="u", cwd="/w", trace_id="t", source="library")
    run = Engine(registry, confirm=AutoApprove()).run(context)
    run.message("hi")
    run.params(Params())
    run.run_tool(LS, lambda _: None)
    assert seen == [(context, "a", "s", "/w")] * 5


def test_the_bag_is_born_empty_and_reaches_params_and_tools(registry: InterceptorRegistry) -> None:
    bags: list[Any] = []

    @registry.on("message.before", id="fill")
    def fill(input: Any, output: Any) -> None:
        bags.append(dict(input.metadata))
        output.metadata["level"] = {"complexity": "high"}

    for point in ("params.before", "tool.before", "tool.after"):
        registry.add(id=point, name=point, handler=lambda i, _o: bags.append(i.metadata))
    run = Engine(registry).run()
    run.message("hi")
    run.params(Params())
    run.run_tool(LS, lambda _: None)
    assert bags == [{}, *[{"level": {"complexity": "high"}}] * 3]
    with pytest.raises(TypeError):
        bags[1]["level"]["complexity"] = "low"
    Engine(registry).run().run_tool(LS, lambda _: None)
    assert bags[4:] == [{}, {}]


def test_params_before_applies_and_unsets_every_field(registry: InterceptorRegistry) -> None:
    @registry.on("params.before", id="p")
    def choose(input: Any, output: Any) -> None:
        assert input.message == "hi"
        output.model, output.provider = "m2", "p2"
        output.think_level, output.reasoning_level = None, "on"
        output.temperature = 0.5
        output.extras = {"top_p": 1}

    run = Engine(registry).run()
    run.message("hi")
    payload = run.params(Params(model="m", think_level="low", extras={"seed": 1})).payload
    assert (payload.model, payload.provider, payload.think_level) == ("m2", "p2", None)
    assert (payload.reasoning_level, payload.temperature, payload.extras) == ("on", 0.5, {"top_p": 1})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", 5),
        ("think_level", []),
        ("temperature", "hot"),
        ("temperature", True),
        ("extras", None),
        ("extras", []),
    ],
)
def test_params_of_a_wrong_type_are_refused(registry: InterceptorRegistry, field: str, value: Any) -> None:
    registry.add(id="p", name="params.before", handler=lambda _i, o: setattr(o, field, value))
    verdict = Engine(registry).run().params(Params())
    assert verdict.outcome == "deny"
    assert field in verdict.reason


@pytest.mark.parametrize("reason", ["not today", "", None])
@pytest.mark.parametrize("point", ["message.before", "params.before"])
def test_a_refused_run_is_stopped_with_or_without_a_reason(
    registry: InterceptorRegistry, point: str, reason: str | None
) -> None:
    class Refuse:
        def intercept(self, _payload: Any) -> Deny:
            return Deny(reason)  # type: ignore[arg-type]

    registry.add(id="gate", name=point, interceptor=Refuse())
    run = Engine(registry).run()
    run.message("hi")
    run.params(Params())
    assert run.stopped == (reason or "Blocked by interceptor")
    done = run.run_tool(LS, lambda _: "ran")
    assert done.response["reason"] == f"The run was stopped: {run.stopped}"
    assert not run.decide(LS).allowed


def test_a_question_in_message_before_is_put_to_a_person(registry: InterceptorRegistry) -> None:
    registry.add(id="ask", name="message.before", handler=lambda _i, o: setattr(o, "ask", "send?"))
    assert Engine(registry).run().message("hi").outcome == "deny"
    run = Engine(registry, confirm=AutoApprove()).run()
    assert run.message("hi").approver == "AutoApprove"
    assert run.stopped == ""


def test_the_exact_blocked_and_error_results(registry: InterceptorRegistry) -> None:
    engine = Engine(registry)

    def fail(_arguments: Any) -> None:
        raise RuntimeError("disk full")

    assert engine.run_tool(LS, fail) == {"status": "error", "tool": "exec", "error": "disk full"}
    registry.add(id="b", name="tool.before", handler=lambda _i, o: setattr(o, "block", True))
    assert engine.run_tool(LS, fail) == {"status": "blocked", "tool": "exec", "reason": "Blocked by interceptor"}


@pytest.mark.parametrize("refuse", [False, True])
def test_tool_after_runs_for_every_outcome_and_only_looks_at_a_denied_one(
    registry: InterceptorRegistry, refuse: bool
) -> None:
    seen: list[tuple[bool, bool, Any]] = []

    @registry.on("tool.after", id="after")
    def after(input: Any, output: Any) -> None:
        seen.append((input.is_error, input.denied, output.result["status"]))
        output.result = {"status": "replaced"}

    if refuse:
        registry.add(id="b", name="tool.before", handler=block)

    def fail(_arguments: Any) -> None:
        raise RuntimeError("disk full")

    answer = Engine(registry).run_tool(LS, fail)
    assert seen == [(True, refuse, "blocked" if refuse else "error")]
    assert answer["status"] == ("blocked" if refuse else "replaced")


def test_deny_in_tool_after_withholds_the_result(registry: InterceptorRegistry) -> None:
    observed: list[Any] = []

    class Observer:
        def intercept(self, _call: ToolCall) -> Allow:
            return Allow()

        def observe(self, _call: ToolCall, outcome: ToolOutcome) -> None:
            observed.append(outcome.result)

    registry.add(id="o", name="tool.before", interceptor=Observer())
    registry.add(id="b", name="tool.after", handler=block)
    answer = Engine(registry).run_tool(LS, lambda _: "the secret")
    assert answer == {"status": "withheld", "tool": "exec", "reason": "no", "ran": True}
    assert observed == [answer]


def test_a_result_too_deep_to_be_shown_is_not_handed_on_unseen(registry: InterceptorRegistry) -> None:
    seen: list[Any] = []
    deep: list[Any] = ["secret"]
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    registry.add(id="redact", name="tool.after", handler=lambda i, o: seen.append((i.is_error, o.result)))
    answer = Engine(registry).run_tool(LS, lambda _: deep)
    assert answer["status"] == "error"
    assert "nested deeper" in answer["error"]
    assert seen == [(True, answer)]


def test_a_result_that_compares_oddly_may_be_looked_at(registry: InterceptorRegistry) -> None:
    class Array:
        def __eq__(self, other: object) -> Any:
            return self

        def __bool__(self) -> bool:
            raise ValueError("ambiguous")

        __hash__ = None  # type: ignore[assignment]

    result = Array()
    looked: list[Any] = []
    registry.add(id="look", name="tool.after", handler=lambda _i, o: looked.append(o.result))
    assert Engine(registry).run_tool(LS, lambda _: result) is result


def test_a_rewrite_of_an_argument_that_compares_oddly(registry: InterceptorRegistry) -> None:
    class Array(list[int]):
        def __ne__(self, other: object) -> Any:
            raise ValueError("ambiguous")

    registry.add(id="r", name="tool.before", handler=lambda _i, o: o.args.update(command="pwd"))
    verdict = Engine(registry).decide(ToolCall("exec", {"command": "ls", "data": Array([1])}))
    assert (verdict.outcome, verdict.payload.arguments["command"]) == ("rewrite", "pwd")


def test_the_tools_own_wish_sees_the_rewritten_arguments(registry: InterceptorRegistry) -> None:
    registry.add(id="r", name="tool.before", handler=lambda _i, o: o.args.update(command="git push"))
    asked: list[tuple[str, Any]] = []

    def answer(request: PermissionRequest) -> bool:
        asked.append((request.message, request.arguments))
        return False

    engine = Engine(registry, confirm=CallbackConfirmation(answer))
    wish = lambda arguments: "push" in arguments["command"]  # noqa: E731
    assert engine.run_tool(LS, lambda _: "ran", requires_confirmation=wish)["status"] == "blocked"
    assert asked == [("Execute tool 'exec'?", {"command": "git push"})]


@pytest.mark.parametrize("wish", [lambda _: None, lambda _: 0, lambda _: 1 / 0, lambda _: ""])
def test_a_wish_that_is_not_a_clear_no_is_asked_about(registry: InterceptorRegistry, wish: Any) -> None:
    assert Engine(registry).run_tool(LS, lambda _: "ran", requires_confirmation=wish)["status"] == "blocked"


def test_the_record_is_the_executed_call_and_comes_first(registry: InterceptorRegistry) -> None:
    registry.add(id="r", name="tool.before", handler=lambda _i, o: o.args.update(command="pwd"))
    recorder = Keep()

    def execute(arguments: dict[str, Any]) -> str:
        assert [word for word, _ in recorder.log] == ["decided"]
        assert recorder.log[0][1].payload.arguments == arguments == {"command": "pwd"}
        return "ran"

    Engine(registry, recorder=recorder).run_tool(LS, execute)
    assert [word for word, _ in recorder.log] == ["decided", "finished"]
    assert recorder.log[1][1].result == "ran"


def test_denied_calls_are_recorded_too(registry: InterceptorRegistry) -> None:
    registry.add(id="b", name="tool.before", handler=block)
    recorder = Keep()
    Engine(registry, recorder=recorder).run_tool(LS, lambda _: "ran")
    assert recorder.log[0][1].outcome == "deny"
    assert recorder.log[1][1].denied


def test_no_record_no_execution(registry: InterceptorRegistry) -> None:
    class Full(Keep):
        def decided(self, verdict: Verdict[ToolCall]) -> None:
            raise OSError("disk full")

    done = Engine(registry, recorder=Full()).run().run_tool(LS, lambda _: "ran")
    assert done.response["reason"] == "audit_unavailable: disk full"
    assert done.verdict.outcome == "deny"
    assert done.outcome.denied


@pytest.mark.parametrize("use_async", [False, True])
def test_interrupts_and_cancellation_pass_through_after_the_observers(
    registry: InterceptorRegistry, use_async: bool
) -> None:
    seen: list[bool] = []
    registry.add(id="after", name="tool.after", handler=lambda i, _o: seen.append(i.is_error))
    recorder = Keep()
    engine = Engine(registry, recorder=recorder)

    def stop(_arguments: Any) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        _ = asyncio.run(engine.arun_tool(LS, stop)) if use_async else engine.run_tool(LS, stop)
    assert seen == [True]
    assert [word for word, _ in recorder.log] == ["decided", "finished"]


def test_a_cancelled_caller_cancels_its_async_tool(registry: InterceptorRegistry) -> None:
    seen: list[bool] = []
    registry.add(id="after", name="tool.after", handler=lambda i, _o: seen.append(i.is_error))

    async def main() -> None:
        started = asyncio.Event()

        async def hang(_arguments: Any) -> None:
            started.set()
            await asyncio.Event().wait()

        task = asyncio.ensure_future(Engine(registry).arun_tool(LS, hang))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == [True]


def test_an_async_tool_for_sync_and_async_callers(registry: InterceptorRegistry) -> None:
    async def execute(arguments: dict[str, Any]) -> Any:
        await asyncio.sleep(0)
        return arguments["command"]

    assert Engine(registry).run_tool(LS, execute) == "ls"
    assert asyncio.run(Engine(registry).arun_tool(LS, execute)) == "ls"


def test_sub_agents_inherit_interceptors_handler_and_recorder(registry: InterceptorRegistry) -> None:
    class Ask:
        def intercept(self, _call: ToolCall) -> Confirm:
            return Confirm("sure?")

    registry.add(id="ask", name="tool.before", interceptor=Ask())
    asked: list[str] = []
    recorder = Keep()

    def answer(request: PermissionRequest) -> bool:
        asked.append(request.message)
        return True

    child = Engine(registry, confirm=CallbackConfirmation(answer), recorder=recorder).sub_agent().sub_agent()
    assert child.run_tool(LS, lambda _: "ran") == "ran"
    assert asked == ["sure?"]
    assert len(recorder.log) == 2
    registry.add(id="late", name="tool.before", handler=block)
    assert child.run_tool(LS, lambda _: "ran")["reason"] == "no"


@pytest.mark.parametrize(
    "arguments",
    [{}, {"name": "bash", "arguments": 5}, {"name": "bash", "arguments": '{"a":' * 200 + "1" + "}" * 200}],
)
def test_a_hostile_wrapper_is_blocked_and_observed(registry: InterceptorRegistry, arguments: dict[str, Any]) -> None:
    seen: list[str] = []
    registry.add(id="log", name="tool.before", priority=-1, handler=lambda i, o: seen.append(o.block_reason))
    done = Engine(registry).run().run_tool(ToolCall("tool_call", arguments), lambda _: "ran")
    assert done.response["status"] == "blocked"
    assert seen == [done.response["reason"]]
