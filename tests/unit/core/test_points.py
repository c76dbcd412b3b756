"""What handlers see and may change at each hook point, and what a rewrite may not touch."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interpose import (
    Allow,
    Context,
    Deny,
    Engine,
    InterceptorRegistry,
    Message,
    Params,
    ToolCall,
    ToolOutcome,
    Transform,
    create_interceptor_registry,
)
from interpose.core.points import POINTS
from interpose.core.types import HookPoint

CALL = ToolCall("exec", {"command": "ls"}, "id", Context(agent_id="a"))


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


@pytest.mark.parametrize("point", list(HookPoint))
def test_every_point_has_its_pair(point: HookPoint) -> None:
    assert POINTS[point].payload.__struct_fields__  # type: ignore[attr-defined]
    assert set(POINTS[point].rewritable) <= set(POINTS[point].payload.__struct_fields__)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["tool_name", "tool_call_id", "context", "metadata", "agent_id", "new_attribute"])
def test_the_input_can_not_be_changed(registry: InterceptorRegistry, name: str) -> None:
    registry.add(id="mutate", name="tool.before", handler=lambda i, _o: setattr(i, name, "evil"))
    verdict = Engine(registry).decide(CALL)
    assert verdict.outcome == "deny"
    assert verdict.payload.name == "exec"


def test_what_tool_before_is_told(registry: InterceptorRegistry) -> None:
    seen: list[Any] = []
    registry.add(id="see", name="tool.before", handler=lambda i, _o: seen.append((i.tool_name, i.tool_call_id)))
    Engine(registry).decide(ToolCall("Bash", {}, "id-7"))
    assert seen == [("exec", "id-7")]


def test_each_handler_gets_arguments_of_its_own(registry: InterceptorRegistry) -> None:
    kept: list[Any] = []
    registry.add(id="keep", name="tool.before", priority=9, handler=lambda _i, o: kept.append(o.args))
    registry.add(id="late", name="tool.before", handler=lambda _i, _o: kept[0].update(command="rm -rf /"))
    verdict = Engine(registry).decide(CALL)
    assert (verdict.outcome, verdict.payload.arguments) == ("allow", {"command": "ls"})


def test_block_wins_over_ask_and_ask_over_a_change(registry: InterceptorRegistry) -> None:
    def everything(_input: Any, output: Any) -> None:
        output.args["command"] = "pwd"
        output.ask = "sure?"
        output.block = True

    def two(_input: Any, output: Any) -> None:
        output.args["command"] = "pwd"
        output.ask = "sure?"

    registry.add(id="x", name="tool.before", handler=everything)
    assert Engine(registry).decide(CALL).outcome == "deny"
    registry.clear()
    registry.add(id="x", name="tool.before", handler=two)
    assert Engine(registry).decide(CALL).outcome == "ask"


def test_a_handler_may_return_a_decision(registry: InterceptorRegistry) -> None:
    registry.add(id="x", name="tool.before", handler=lambda _i, _o: Deny("by value"))
    assert Engine(registry).decide(CALL).reason == "by value"


def test_an_unknown_field_of_the_output_is_an_error_and_not_silence(registry: InterceptorRegistry) -> None:
    registry.add(id="typo", name="tool.before", handler=lambda _i, o: setattr(o, "blok", True))
    assert Engine(registry).decide(CALL).outcome == "deny"


@pytest.mark.parametrize("args", [None, [], "ls", 5, [("command", "ls")]])
def test_args_that_are_no_dict_are_an_error(registry: InterceptorRegistry, args: Any) -> None:
    registry.add(id="x", name="tool.before", handler=lambda _i, o: setattr(o, "args", args))
    verdict = Engine(registry).decide(CALL)
    assert verdict.reason.startswith("x failed: Invalid input modification: output.args must be a dict")


@pytest.mark.parametrize(("field", "value"), [("message", None), ("message", 5), ("metadata", None), ("metadata", [])])
def test_a_message_of_a_wrong_type_is_an_error(registry: InterceptorRegistry, field: str, value: Any) -> None:
    registry.add(id="x", name="message.before", handler=lambda _i, o: setattr(o, field, value))
    verdict = Engine(registry).run().message("hi")
    assert "Invalid input modification" in verdict.reason


def test_what_message_before_is_told(registry: InterceptorRegistry) -> None:
    seen: list[Any] = []
    registry.add(id="x", name="message.before", handler=lambda i, o: seen.append((i.provider, i.model, o.message)))
    Engine(registry).run().message("hi", provider="p", model="m")
    assert seen == [("p", "m", "hi")]


OTHER_CALLS: dict[str, Any] = {
    "context": replace(CALL, context=Context(agent_id="b"), arguments={}),
    "metadata": replace(CALL, metadata={"x": 1}, arguments={}),
    "original name": replace(CALL, original_name="x", arguments={}),
    "a message": Message("hi"),
    "a dict": {"command": "ls"},
    "nothing": None,
}


@pytest.mark.parametrize("which", OTHER_CALLS)
def test_a_rewrite_can_not_turn_one_call_into_another(registry: InterceptorRegistry, which: str) -> None:
    class Swap:
        def intercept(self, _call: ToolCall) -> Transform[Any]:
            return Transform(OTHER_CALLS[which])

    registry.add(id="swap", name="tool.before", interceptor=Swap())
    verdict = Engine(registry).decide(CALL)
    assert verdict.outcome == "deny"
    assert "does not fit" in verdict.reason


def test_not_even_with_a_name_that_claims_to_be_equal(registry: InterceptorRegistry) -> None:
    class Liar(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            return True

        def __ne__(self, other: object) -> bool:
            return False

        __hash__ = str.__hash__

    class Swap:
        def intercept(self, call: ToolCall) -> Transform[ToolCall]:
            return Transform(replace(call, name=Liar("rm"), call_id=Liar("x"), arguments={"command": "pwd"}))

    registry.add(id="swap", name="tool.before", interceptor=Swap())
    verdict = Engine(registry).decide(CALL)
    assert (type(verdict.payload.name), type(verdict.payload.call_id)) == (str, str)
    assert (verdict.outcome, verdict.payload.arguments) == ("deny", CALL.arguments)


@pytest.mark.parametrize("field", ["message", "metadata", "context"])
def test_params_before_can_not_change_the_message_or_the_bag(registry: InterceptorRegistry, field: str) -> None:
    values: dict[str, Any] = {"message": "other", "metadata": {"x": 1}, "context": Context(agent_id="z")}

    class Swap:
        def intercept(self, params: Params) -> Transform[Params]:
            return Transform(replace(params, **{field: values[field]}))

    registry.add(id="swap", name="params.before", interceptor=Swap())
    assert f"{field} may not be changed" in Engine(registry).run().params(Params()).reason


@pytest.mark.parametrize("field", ["is_error", "denied", "call", "duration_ns"])
def test_tool_after_changes_the_result_alone(registry: InterceptorRegistry, field: str) -> None:
    values: dict[str, Any] = {"is_error": True, "denied": True, "call": CALL, "duration_ns": -1}

    class Swap:
        def intercept(self, outcome: ToolOutcome) -> Transform[ToolOutcome]:
            return Transform(replace(outcome, **{field: values[field]}))

    registry.add(id="swap", name="tool.after", interceptor=Swap())
    answer = Engine(registry).run_tool(ToolCall("exec", {}), lambda _: "secret")
    assert answer["status"] == "withheld"


def test_observers_see_the_final_state_and_change_nothing(registry: InterceptorRegistry) -> None:
    seen: list[Any] = []

    def audit(_input: Any, output: Any) -> None:
        seen.append((dict(output.args), output.block, output.block_reason))
        output.args["command"] = "evil"
        output.block = False

    registry.add(id="audit", name="tool.before", priority=-10, handler=audit)
    registry.add(id="r", name="tool.before", priority=5, handler=lambda _i, o: o.args.update(command="pwd"))
    assert Engine(registry).decide(CALL).payload.arguments == {"command": "pwd"}
    registry.add(id="b", name="tool.before", handler=lambda _i, _o: Deny("no"))
    assert Engine(registry).decide(CALL).outcome == "deny"
    assert seen == [({"command": "pwd"}, False, None), ({"command": "pwd"}, True, "no")]


def test_a_class_that_changes_what_it_was_shown_gets_an_error(registry: InterceptorRegistry) -> None:
    class Mutate:
        def intercept(self, call: ToolCall) -> Allow:
            call.arguments["command"] = "evil"
            return Allow()

    registry.add(id="m", name="tool.before", interceptor=Mutate())
    verdict = Engine(registry).decide(CALL)
    assert "read-only" in verdict.reason
    assert verdict.payload.arguments == {"command": "ls"}
