"""How the pipeline waits: one law for callers that block and callers that await."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import pytest

from interpose import Allow, Deny, Engine, InterceptorRegistry, ToolCall, create_interceptor_registry
from interpose.core.driving import is_awaitable
from tests.support.hostile import GARBAGE

LS = ToolCall("exec", {"command": "ls"})


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


@pytest.mark.parametrize("name", GARBAGE)
def test_asking_whether_a_value_is_awaitable_never_raises(name: str) -> None:
    assert is_awaitable(GARBAGE[name]()) is ("awaitable" in name)


def test_async_interceptors_of_sync_callers_run_in_order(registry: InterceptorRegistry) -> None:
    order: list[int] = []
    for number in range(3):

        async def handler(_input: Any, _output: Any, number: int = number) -> None:
            await asyncio.sleep(0)
            order.append(number)

        registry.add(id=str(number), name="tool.before", handler=handler)
    assert Engine(registry).decide(LS).outcome == "allow"
    assert order == [0, 1, 2]


def test_a_sync_caller_inside_a_running_loop(registry: InterceptorRegistry) -> None:
    async def refuse(_input: Any, _output: Any) -> Deny:
        await asyncio.sleep(0)
        return Deny("no")

    registry.add(id="refuse", name="tool.before", handler=refuse)

    async def main() -> str:
        return Engine(registry).decide(LS).reason

    assert asyncio.run(main()) == "no"


def test_a_blocking_call_out_of_an_async_tool_of_a_blocking_call(registry: InterceptorRegistry) -> None:
    """All would wait for the one background loop; an inner call must not wait for the loop that it runs on."""

    async def look(_input: Any, _output: Any) -> None:
        await asyncio.sleep(0)

    registry.add(id="look", name="tool.before", handler=look, timeout=5)
    engine = Engine(registry)

    async def outer(_arguments: Any) -> Any:
        return engine.run_tool(LS, middle)

    async def middle(_arguments: Any) -> Any:
        return engine.run_tool(LS, inner)

    async def inner(_arguments: Any) -> str:
        await asyncio.sleep(0)
        return "inner"

    assert engine.run_tool(LS, outer) == "inner"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_async_interceptors_still_answer_after_a_fork(registry: InterceptorRegistry) -> None:
    async def refuse(_input: Any, _output: Any) -> Deny:
        return Deny("no")

    registry.add(id="refuse", name="tool.before", handler=refuse)
    engine = Engine(registry)
    assert engine.decide(LS).outcome == "deny"
    child = os.fork()
    if child == 0:
        os._exit(0 if engine.decide(LS).outcome == "deny" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_deadline_that_is_kept_costs_nothing_but_a_thread(registry: InterceptorRegistry) -> None:
    names: list[str] = []

    def handler(_input: Any, output: Any) -> None:
        names.append(threading.current_thread().name)
        output.args["command"] = "pwd"

    registry.add(id="quick", name="tool.before", timeout=30, handler=handler)
    assert Engine(registry).decide(LS).payload.arguments == {"command": "pwd"}
    assert asyncio.run(Engine(registry).adecide(LS)).payload.arguments == {"command": "pwd"}
    assert names == ["interpose:quick"] * 2


def test_without_a_deadline_a_sync_interceptor_runs_in_the_callers_thread(registry: InterceptorRegistry) -> None:
    threads: list[threading.Thread] = []
    registry.add(id="x", name="tool.before", handler=lambda _i, _o: threads.append(threading.current_thread()))
    Engine(registry).decide(LS)
    assert threads == [threading.current_thread()]


@pytest.mark.parametrize("use_async", [False, True])
def test_no_thread_to_be_had_is_a_failure_and_no_crash(
    registry: InterceptorRegistry, monkeypatch: pytest.MonkeyPatch, use_async: bool
) -> None:
    def refuse(_self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    registry.add(id="worker", name="tool.before", timeout=5, handler=lambda _i, _o: None)
    engine = Engine(registry)

    async def main() -> str:
        monkeypatch.setattr(threading.Thread, "start", refuse)
        return (await engine.adecide(LS)).reason

    if use_async:
        reason = asyncio.run(main())
    else:
        monkeypatch.setattr(threading.Thread, "start", refuse)
        reason = engine.decide(LS).reason
    assert reason == "worker failed: can't start new thread"


def test_objects_with_an_async_call_and_awaitables_of_any_kind(registry: InterceptorRegistry) -> None:
    class Callable:
        async def __call__(self, _input: Any, output: Any) -> None:
            await asyncio.sleep(0)
            output.args["seen"] = True

    class Later:
        def intercept(self, _call: ToolCall) -> Any:
            async def answer() -> Allow:
                return Allow()

            return answer()

    registry.add(id="c", name="tool.before", handler=Callable(), timeout=5)
    registry.add(id="l", name="tool.before", interceptor=Later(), timeout=5)
    assert Engine(registry).decide(LS).payload.arguments == {"command": "ls", "seen": True}
    assert asyncio.run(Engine(registry).adecide(LS)).outcome == "rewrite"
