"""Interceptors that hang: the answer comes in time, fails closed, costs a bounded number of threads, and recovers.

What hangs here waits for an Event that the test sets at its end, so that no thread outlives its test.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import pytest

from interpose import (
    Allow,
    AutoApprove,
    Deny,
    Engine,
    InterceptorRegistry,
    Params,
    ToolCall,
    Verdict,
    create_interceptor_registry,
)
from interpose.core.driving.background_loop import MAX_BLOCKED
from interpose.core.driving.workers import MAX_STUCK, STUCK
from tests.support.timing.patience import PATIENCE

TIMEOUT = 0.05
SLACK = 2.0
"""Far more than the machinery needs, far less than a hang: a busy machine must not fail the test."""

LS = ToolCall("exec", {"command": "ls"})


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


def threads() -> list[threading.Thread]:
    """The workers of interceptors; the idle background loop does not count."""
    ours = (thread for thread in threading.enumerate() if thread.name.startswith("interpose:"))
    return [thread for thread in ours if thread.name != "interpose:loop"]


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Ends every hang, and sees that all workers are gone and none is counted any more."""
    event = threading.Event()
    before = set(threads())
    yield event
    event.set()
    for thread in set(threads()) - before:
        thread.join(PATIENCE)
    assert set(threads()) - before == set()
    assert STUCK._count == {}


def decide(engine: Engine, call: ToolCall, use_async: bool) -> Verdict[ToolCall]:
    return asyncio.run(engine.adecide(call)) if use_async else engine.decide(call)


def timed(act: Callable[[], Any]) -> tuple[Any, float]:
    start = monotonic()
    answer = act()
    return answer, monotonic() - start


both = pytest.mark.parametrize("use_async", [False, True], ids=["sync caller", "async caller"])


@both
def test_a_sync_hang_is_answered_in_time(
    registry: InterceptorRegistry, release: threading.Event, use_async: bool
) -> None:
    registry.add(id="hangs", name="tool.before", timeout=TIMEOUT, handler=lambda _i, _o: release.wait(60) and None)
    verdict, took = timed(lambda: decide(Engine(registry), LS, use_async))
    assert verdict.reason == "hangs failed: no answer within 0.05 s"
    assert verdict.outcome == "deny"
    assert TIMEOUT <= took < TIMEOUT + SLACK


@pytest.mark.parametrize(("on_error", "outcome"), [("deny", "deny"), ("ask", "ask"), ("allow", "allow")])
@both
def test_what_a_hang_means_is_declared(
    registry: InterceptorRegistry, release: threading.Event, on_error: Any, outcome: str, use_async: bool
) -> None:
    registry.add(
        id="hangs", name="tool.before", timeout=TIMEOUT, on_error=on_error,
        handler=lambda _i, _o: release.wait(60) and None,
    )  # fmt: skip
    verdict = decide(Engine(registry), LS, use_async)
    assert verdict.outcome == outcome
    assert verdict.findings[0].said == "error"


@both
def test_a_hang_with_on_error_allow_does_not_hide_a_deny(
    registry: InterceptorRegistry, release: threading.Event, use_async: bool
) -> None:
    registry.add(
        id="hangs", name="tool.before", timeout=TIMEOUT, on_error="allow", priority=9,
        handler=lambda _i, _o: release.wait(60) and None,
    )  # fmt: skip
    registry.add(id="guard", name="tool.before", handler=lambda _i, _o: Deny("no"))
    assert decide(Engine(registry), LS, use_async).reason == "no"


@both
def test_a_late_answer_changes_nothing(
    registry: InterceptorRegistry, release: threading.Event, use_async: bool
) -> None:
    done = threading.Event()

    def late(_input: Any, output: Any) -> None:
        release.wait(60)
        output.args["command"] = "rm -rf /"
        output.block = False
        done.set()

    registry.add(id="late", name="tool.before", timeout=TIMEOUT, on_error="allow", handler=late)
    ran: list[Any] = []

    def execute(arguments: dict[str, Any]) -> None:
        release.set()
        assert done.wait(PATIENCE)
        ran.append(arguments)

    engine = Engine(registry)
    _ = asyncio.run(engine.arun_tool(LS, execute)) if use_async else engine.run_tool(LS, execute)
    assert ran == [{"command": "ls"}]


@both
def test_an_async_hang_is_cancelled(registry: InterceptorRegistry, use_async: bool) -> None:
    cancelled = threading.Event()

    async def hang(_input: Any, _output: Any) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    registry.add(id="hangs", name="tool.before", timeout=TIMEOUT, handler=hang)
    verdict, took = timed(lambda: decide(Engine(registry), LS, use_async))
    assert (verdict.outcome, verdict.reason) == ("deny", "hangs failed: no answer within 0.05 s")
    assert took < TIMEOUT + SLACK
    assert cancelled.wait(PATIENCE)


@both
def test_one_that_ignores_its_cancellation_does_not_hold_the_answer(
    registry: InterceptorRegistry, use_async: bool
) -> None:
    answered = asyncio.Event()
    done = threading.Event()

    async def stubborn(_input: Any, output: Any) -> None:
        while not answered.is_set():
            try:
                await answered.wait()
            except asyncio.CancelledError:
                pass
        output.block = False
        done.set()

    registry.add(id="stubborn", name="tool.before", timeout=TIMEOUT, handler=stubborn)

    async def free() -> None:
        answered.set()

    async def main() -> Verdict[ToolCall]:
        verdict = await Engine(registry).adecide(LS)
        answered.set()
        return verdict

    verdict, took = timed(lambda: asyncio.run(main()) if use_async else Engine(registry).decide(LS))
    if not use_async:
        from interpose.core.driving.driver import _BACKGROUND

        _BACKGROUND.run(free(), 10)
    assert verdict.outcome == "deny"
    assert took < TIMEOUT + SLACK
    assert done.wait(PATIENCE)


def test_an_async_interceptor_that_blocks_its_loop_keeps_its_deadline_and_holds_up_nobody(
    registry: InterceptorRegistry, release: threading.Event
) -> None:
    async def blocks(_input: Any, _output: Any) -> None:
        release.wait(60)

    async def polite(_input: Any, _output: Any) -> Deny:
        await asyncio.sleep(0)
        return Deny("polite")

    registry.add(id="blocks", name="tool.before", timeout=TIMEOUT, tool_matcher="^exec$", handler=blocks)
    registry.add(id="polite", name="tool.before", tool_matcher="^read$", handler=polite)
    engine = Engine(registry)
    verdict, took = timed(lambda: engine.decide(LS))
    assert verdict.outcome == "deny"
    assert "no answer within 0.05 s" in verdict.reason
    assert took < TIMEOUT + SLACK
    assert engine.decide(ToolCall("read", {})).reason == "polite"


def test_blocked_loops_are_counted_and_given_back(registry: InterceptorRegistry, release: threading.Event) -> None:
    started = threading.Semaphore(0)

    async def blocks(_input: Any, _output: Any) -> None:
        started.release()
        release.wait(60)

    registry.add(id="blocks", name="tool.before", timeout=TIMEOUT, handler=blocks)
    engine = Engine(registry)
    reasons = [engine.decide(LS).reason for _ in range(MAX_BLOCKED + 3)]
    assert all("its event loop is blocked" in reason for reason in reasons[:MAX_BLOCKED])
    assert all("not started" in reason for reason in reasons[MAX_BLOCKED:])
    assert [started.acquire(blocking=False) for _ in range(MAX_BLOCKED + 1)] == [True] * MAX_BLOCKED + [False]
    release.set()
    assert eventually(lambda: engine.decide(LS).outcome == "allow")


def eventually(check: Callable[[], bool]) -> bool:
    """Whether `check` comes true within ten seconds."""
    end = monotonic() + 10
    pause = threading.Event()
    while monotonic() < end:
        if check():
            return True
        pause.wait(0.002)
    return False


@both
def test_stuck_workers_are_bounded_and_recover(
    registry: InterceptorRegistry, release: threading.Event, use_async: bool
) -> None:
    started = threading.Semaphore(0)

    def hang(_input: Any, _output: Any) -> None:
        started.release()
        release.wait(60)

    registry.add(id="stuck", name="tool.before", timeout=0.01, handler=hang)
    engine = Engine(registry)
    for _ in range(MAX_STUCK):
        assert decide(engine, LS, use_async).reason == "stuck failed: no answer within 0.01 s"
    before = len(threads())
    for _ in range(20):
        verdict, took = timed(lambda: decide(engine, LS, use_async))
        assert verdict.outcome == "deny"
        assert "8 earlier calls still hang" in verdict.reason
        assert took < SLACK
    assert len(threads()) == before
    assert [started.acquire(blocking=False) for _ in range(MAX_STUCK + 1)] == [True] * MAX_STUCK + [False]
    release.set()
    assert eventually(lambda: decide(engine, LS, use_async).outcome == "allow")


def test_one_stuck_interceptor_does_not_use_up_the_threads_of_another(
    registry: InterceptorRegistry, release: threading.Event
) -> None:
    registry.add(
        id="stuck", name="tool.before", tool_matcher="^exec$", timeout=0.005,
        handler=lambda _i, _o: release.wait(60) and None,
    )  # fmt: skip
    registry.add(id="fine", name="tool.before", tool_matcher="^read$", timeout=30, handler=lambda _i, _o: Deny("fine"))
    engine = Engine(registry)
    for _ in range(MAX_STUCK + 1):
        engine.decide(LS)
    assert engine.decide(ToolCall("read", {})).reason == "fine"


def test_workers_of_cancelled_callers_count_as_stuck(registry: InterceptorRegistry, release: threading.Event) -> None:
    started = threading.Semaphore(0)

    def hang(_input: Any, _output: Any) -> None:
        started.release()
        release.wait(60)

    registry.add(id="hangs", name="tool.before", timeout=60, handler=hang)
    engine = Engine(registry)

    async def main() -> Verdict[ToolCall]:
        loop = asyncio.get_running_loop()
        for _ in range(MAX_STUCK):
            task = asyncio.ensure_future(engine.adecide(LS))
            await loop.run_in_executor(None, started.acquire)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return await engine.adecide(LS)

    assert "earlier calls still hang" in asyncio.run(main()).reason


def test_a_worker_that_ends_just_when_it_is_given_up_is_not_counted_for_ever() -> None:
    """The count goes up and down under one lock: many close races must leave it at nothing."""
    registry = create_interceptor_registry()
    turn = threading.Event()
    registry.add(id="racing", name="tool.before", timeout=0.001, handler=lambda _i, _o: turn.wait(0.001) and None)
    engine = Engine(registry)
    for _ in range(300):
        engine.decide(LS)
    assert eventually(lambda: STUCK._count == {})


@both
@pytest.mark.parametrize("point", ["message.before", "params.before", "permission.ask", "tool.after"])
def test_every_hook_point_keeps_its_deadline(
    registry: InterceptorRegistry, release: threading.Event, point: str, use_async: bool
) -> None:
    registry.add(id="hangs", name=point, timeout=TIMEOUT, handler=lambda _i, _o: release.wait(60) and None)
    registry.add(id="asks", name="tool.before", handler=lambda _i, o: setattr(o, "ask", "sure?"))
    ran: list[str] = []
    run = Engine(registry, confirm=AutoApprove()).run()

    def execute(_arguments: dict[str, Any]) -> str:
        ran.append("secret")
        return "secret"

    async def main() -> Any:
        await run.amessage("hi")
        await run.aparams(Params())
        return (await run.arun_tool(LS, execute)).response

    def blocking() -> Any:
        run.message("hi")
        run.params(Params())
        return run.run_tool(LS, execute).response

    answer, took = timed(lambda: asyncio.run(main()) if use_async else blocking())
    assert answer["status"] == ("withheld" if point == "tool.after" else "blocked")
    assert took < TIMEOUT + SLACK
    assert ran == (["secret"] if point == "tool.after" else [])


@both
def test_hanging_observers_are_noted_and_stop_nobody(
    registry: InterceptorRegistry, release: threading.Event, use_async: bool
) -> None:
    class Observer:
        def intercept(self, _call: ToolCall) -> Allow:
            return Allow()

        def observe(self, _call: ToolCall, _outcome: Any) -> None:
            release.wait(60)

    registry.add(id="looks", name="tool.before", priority=-1, timeout=TIMEOUT, handler=lambda _i, _o: release.wait(60))
    registry.add(id="observes", name="tool.before", timeout=TIMEOUT, interceptor=Observer())
    engine = Engine(registry)
    answer, took = timed(
        lambda: (
            asyncio.run(engine.arun_tool(LS, lambda _: "ran")) if use_async else engine.run_tool(LS, lambda _: "ran")
        )
    )
    assert answer == "ran"
    assert took < 2 * TIMEOUT + SLACK
