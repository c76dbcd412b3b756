"""Who answers a question: only a clear True lets a call run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpose import (
    AutoApprove,
    AutoDeny,
    CallbackConfirmation,
    Confirm,
    Engine,
    PermissionRequest,
    ToolCall,
    ToolRun,
    create_interceptor_registry,
)
from interpose.core.types import Finding
from interpose.people.approvals import question, standing_answer
from tests.support.hostile import GARBAGE


class Asking:
    def __init__(self, *messages: str) -> None:
        self.messages = messages

    def intercept(self, _call: ToolCall) -> Confirm:
        return Confirm(self.messages[0])


def run_with(confirm: Any, **options: Any) -> ToolRun:
    registry = create_interceptor_registry()
    registry.add(id="asks", name="tool.before", interceptor=Asking("sure?"))
    return (
        Engine(registry, confirm=confirm, **options)
        .run()
        .run_tool(ToolCall("exec", {"command": "ls"}), lambda _: "ran")
    )


def test_auto_approve() -> None:
    done = run_with(AutoApprove())
    assert (done.response, done.verdict.approver) == ("ran", "AutoApprove")
    assert done.verdict.questions == ("sure?",)


def test_auto_deny() -> None:
    done = run_with(AutoDeny())
    assert done.response == {"status": "blocked", "tool": "exec", "reason": "Confirmation denied: sure?"}
    assert done.verdict.decision.rule == "confirmation-denied"  # type: ignore[union-attr]


def test_no_handler_means_no() -> None:
    reason = "Interceptor requested permission but no confirmation handler configured: sure?"
    assert run_with(None).response["reason"] == reason


def test_a_callback_is_shown_the_call() -> None:
    seen: list[PermissionRequest] = []

    def answer(request: PermissionRequest) -> bool:
        seen.append(request)
        return True

    assert run_with(CallbackConfirmation(answer)).response == "ran"
    assert (seen[0].message, seen[0].tool, seen[0].arguments) == ("sure?", "exec", {"command": "ls"})
    assert [finding.interceptor for finding in seen[0].findings] == ["asks"]


@pytest.mark.parametrize("answer", [True, False])
def test_async_handlers_for_sync_and_async_callers(answer: bool) -> None:
    async def later(_request: PermissionRequest) -> bool:
        await asyncio.sleep(0)
        return answer

    class Async:
        async def confirm(self, request: PermissionRequest, /) -> bool:
            return await later(request)

    for handler in (CallbackConfirmation(later), Async()):
        assert (run_with(handler).response == "ran") is answer
        registry = create_interceptor_registry()
        registry.add(id="asks", name="tool.before", interceptor=Asking("sure?"))
        call = ToolCall("exec", {})
        assert (asyncio.run(Engine(registry, confirm=handler).arun_tool(call, lambda _: "ran")) == "ran") is answer


@pytest.mark.parametrize("name", [name for name in GARBAGE if name != "True"])
def test_anything_but_true_is_a_no(name: str) -> None:
    done = run_with(CallbackConfirmation(lambda _: GARBAGE[name]()))
    assert done.response["status"] == "blocked"


@pytest.mark.parametrize("handler", [object(), "yes", 1, AutoApprove])
def test_a_handler_that_is_none_is_told_at_once(handler: Any) -> None:
    with pytest.raises(TypeError, match="confirm must be a function"):
        run_with(handler)
    with pytest.raises(TypeError, match="confirm must be a function"):
        Engine().run(confirm=handler)


def test_a_plain_function_is_a_handler() -> None:
    assert run_with(lambda _request: True).response == "ran"
    assert run_with(lambda _request: 1).response["status"] == "blocked"


def test_permission_ask_may_reword_and_refuse_but_not_approve() -> None:
    def reword(_input: Any, output: Any) -> None:
        output.message = f"{output.message} really?"

    asked: list[str] = []
    registry = create_interceptor_registry()
    registry.add(id="asks", name="tool.before", interceptor=Asking("sure?"))
    registry.add(id="reword", name="permission.ask", tool_matcher="^exec$", handler=reword)

    def answer(request: PermissionRequest) -> bool:
        asked.append(request.message)
        return True

    engine = Engine(registry, confirm=CallbackConfirmation(answer))
    assert engine.run_tool(ToolCall("exec", {}), lambda _: "ran") == "ran"
    assert asked == ["sure? really?"]

    @registry.on("permission.ask", id="never")
    def never(input: Any, output: Any) -> None:
        assert (input.tool_name, input.args) == ("exec", {})
        output.block, output.block_reason = True, "not on Fridays"

    assert engine.run_tool(ToolCall("exec", {}), lambda _: "ran")["reason"] == "not on Fridays"
    assert asked == ["sure? really?"]


class Grant:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def answer(self, request: PermissionRequest) -> Any:
        return self._answer(request)


def test_a_standing_answer_approves_without_a_person_and_is_named() -> None:
    done = run_with(AutoDeny(), standing=[Grant(lambda _: ""), Grant(lambda _: "grant:ls")])
    assert (done.response, done.verdict.approver) == ("ran", "grant:ls")


@pytest.mark.parametrize("name", GARBAGE)
def test_a_standing_answer_that_says_no_name_has_not_answered(name: str) -> None:
    request = PermissionRequest("sure?")
    expected = "allow" if name == "text" else ""
    assert standing_answer([Grant(lambda _: GARBAGE[name]())], request) == expected


def test_one_question_for_all_that_was_asked() -> None:
    asks = [Finding(interceptor=id, said="ask", reason=text) for id, text in [("a", "x?"), ("b", "y?"), ("c", "x?")]]
    request = question(ToolCall("exec"), asks)
    assert request.message == "x?\ny?"
    assert len(request.findings) == 3
