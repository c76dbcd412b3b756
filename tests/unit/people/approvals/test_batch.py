"""Several calls at once: one question for all of them, and nothing that was not asked about is touched."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from interpose import (
    Allow,
    BatchAnswer,
    Confirm,
    Deny,
    Engine,
    PermissionRequest,
    ToolCall,
    ToolRun,
    create_interceptor_registry,
)
from interpose.people.approvals.batch import summary
from tests.support.hostile import ERRORS, GARBAGE, throw


class ByCommand:
    """Asks about `ask...`, refuses `deny...`, allows the rest."""

    def intercept(self, call: ToolCall) -> Allow | Confirm | Deny:
        command = call.arguments["command"]
        if command.startswith("ask"):
            return Confirm(f"{command}?")
        return Deny("no") if command.startswith("deny") else Allow()


class Handler:
    def __init__(self, batch: Any, single: Any = True) -> None:
        self.batch, self.single = batch, single
        self.batches: list[tuple[list[str], list[str]]] = []
        self.asked: list[str] = []

    def confirm(self, request: PermissionRequest, /) -> Any:
        self.asked.append(request.message)
        return self.single(request) if callable(self.single) else self.single

    def confirm_batch(self, requests: Sequence[PermissionRequest], calls: Sequence[str], /) -> Any:
        self.batches.append(([request.message for request in requests], list(calls)))
        return self.batch() if callable(self.batch) else self.batch


def run_batch(handler: Any, *commands: str, use_async: bool = False) -> tuple[list[ToolRun], list[str]]:
    registry = create_interceptor_registry()
    registry.add(id="by-command", name="tool.before", interceptor=ByCommand())
    ran: list[str] = []

    def execute(arguments: dict[str, Any]) -> str:
        ran.append(arguments["command"])
        return "ran"

    run = Engine(registry, confirm=handler).run()
    calls = [(ToolCall("Bash", {"command": command}), execute) for command in commands]
    return (asyncio.run(run.arun_tools(calls)) if use_async else run.run_tools(calls)), ran


@pytest.mark.parametrize("use_async", [False, True])
def test_approve_all(use_async: bool) -> None:
    handler = Handler(BatchAnswer.APPROVE)
    runs, ran = run_batch(handler, "ask1", "free", "deny", "ask2", use_async=use_async)
    assert ran == ["ask1", "free", "ask2"]
    assert [run.verdict.outcome for run in runs] == ["allow", "allow", "deny", "allow"]
    assert handler.batches == [(["ask1?", "ask2?"], ["Bash"] * 4)]
    assert handler.asked == []


@pytest.mark.parametrize("use_async", [False, True])
def test_all_calls_are_judged_before_the_first_one_runs(use_async: bool) -> None:
    happened: list[str] = []
    registry = create_interceptor_registry()
    registry.add(id="watch", name="tool.before", handler=lambda _call, _output: happened.append("judged"))
    run = Engine(registry).run()
    calls = [(ToolCall("Bash", {}), lambda _arguments: happened.append("ran"))] * 2
    asyncio.run(run.arun_tools(calls)) if use_async else run.run_tools(calls)
    assert happened == ["judged", "judged", "ran", "ran"]


@pytest.mark.parametrize("use_async", [False, True])
def test_deny_all_refuses_what_was_asked_about_and_nothing_else(use_async: bool) -> None:
    runs, ran = run_batch(Handler(BatchAnswer.DENY), "ask1", "free", "ask2", use_async=use_async)
    assert ran == ["free"]
    assert runs[0].response["reason"] == "User denied batch execution"


def test_review_asks_one_by_one() -> None:
    handler = Handler(BatchAnswer.REVIEW, single=lambda request: request.message == "ask2?")
    _, ran = run_batch(handler, "ask1", "ask2")
    assert ran == ["ask2"]
    assert handler.asked == ["ask1?", "ask2?"]


def test_a_handler_without_a_batch_form_reviews() -> None:
    class Single:
        def confirm(self, request: PermissionRequest, /) -> bool:
            return request.message == "ask1?"

    assert run_batch(Single(), "ask1", "ask2")[1] == ["ask1"]


def test_no_handler_denies_what_was_asked() -> None:
    assert run_batch(None, "ask", "free")[1] == ["free"]


def test_nobody_is_asked_when_nothing_needs_an_answer() -> None:
    handler = Handler(BatchAnswer.DENY)
    assert run_batch(handler, "free", "deny")[1] == ["free"]
    assert handler.batches == []
    assert run_batch(handler) == ([], [])


def test_the_words_may_be_plain_texts() -> None:
    assert run_batch(Handler("approve"), "ask")[1] == ["ask"]
    assert run_batch(Handler("deny"), "ask")[1] == []


@pytest.mark.parametrize("name", GARBAGE)
@pytest.mark.parametrize("use_async", [False, True])
def test_nonsense_denies(name: str, use_async: bool) -> None:
    assert run_batch(Handler(GARBAGE[name]), "ask", use_async=use_async)[1] == []


@pytest.mark.parametrize("name", ERRORS)
def test_a_failing_handler_denies(name: str) -> None:
    assert run_batch(Handler(lambda: throw(name)), "ask")[1] == []


def test_a_handler_that_breaks_when_it_is_looked_at_denies() -> None:
    class Broken:
        def confirm(self, _request: Any) -> bool:
            return True

        @property
        def confirm_batch(self) -> Any:
            raise RuntimeError("no")

    assert run_batch(Broken(), "ask")[1] == []


def test_an_async_batch_handler() -> None:
    class Async(Handler):
        async def confirm_batch(self, requests: Any, calls: Any, /) -> Any:
            await asyncio.sleep(0)
            return super().confirm_batch(requests, calls)

    assert run_batch(Async(BatchAnswer.APPROVE), "ask")[1] == ["ask"]
    assert run_batch(Async(BatchAnswer.APPROVE), "ask", use_async=True)[1] == ["ask"]


def test_a_cancelled_caller_is_cancelled_while_the_batch_waits_for_its_answer() -> None:
    waiting = asyncio.Event()

    class Async(Handler):
        async def confirm_batch(self, requests: Any, calls: Any, /) -> Any:
            waiting.set()
            await asyncio.Event().wait()

    registry = create_interceptor_registry()
    registry.add(id="by-command", name="tool.before", interceptor=ByCommand())
    run = Engine(registry, confirm=Async(None)).run()

    async def main() -> None:
        task = asyncio.ensure_future(run.arun_tools([(ToolCall("exec", {"command": "ask"}), lambda _: "ran")]))
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


@pytest.mark.parametrize(
    ("calls", "confirmations", "text"),
    [
        (["bash", "bash", "file_read"], 2, "3 tool call(s) - 2 require confirmation - [bashx2, file_read]"),
        (["read"], 1, "1 tool call(s) - 1 require confirmation - [read]"),
        (["b", "a", "b"], 0, "3 tool call(s) - 0 require confirmation - [bx2, a]"),
    ],
)
def test_the_summary(calls: list[str], confirmations: int, text: str) -> None:
    assert summary(calls, confirmations) == text
