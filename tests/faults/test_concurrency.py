"""Two hundred calls in flight over one registry while interceptors come and go: each call sees one consistent set.

One thread changes the registry without a pause and keeps a list of every set that it ever had. Each interceptor leaves
its mark in the call; the marks of a call together must be one of those sets.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

from interpose import Allow, Deny, Engine, InterceptorRegistry, ToolCall, ToolOutcome, create_interceptor_registry
from interpose.core.registry import Snapshot
from tests.support.timing.patience import PATIENCE

CALLS = 200


class Marking:
    """Notes in the arguments of the call that it was there, and which version of the registry it belongs to."""

    def __init__(self, version: int) -> None:
        self.version = version

    def __call__(self, _input: Any, output: Any) -> None:
        output.args["seen"] = [*output.args.get("seen", []), self.version]


class Changing(threading.Thread):
    """Adds version after version and removes the oldest, as fast as it can, until it is told to stop.

    `states` has every set of versions that the registry ever had, in order of priority.
    """

    def __init__(self, registry: InterceptorRegistry, *, keep: int = 5) -> None:
        super().__init__(name="changing", daemon=True)
        self.registry, self.keep = registry, keep
        self.states: set[tuple[int, ...]] = {()}
        self.changes = 0
        self._stop_now = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        present: tuple[int, ...] = ()
        try:
            for version in count():
                if self._stop_now.is_set():
                    return
                self.states.add((*present, version))  # before it can be seen
                self.registry.add(id=f"v{version}", name="tool.before", handler=Marking(version))
                present = (*present, version)
                if len(present) > self.keep:
                    self.states.add(present[1:])
                    assert self.registry.remove(f"v{present[0]}")
                    present = present[1:]
                self.changes += 1
        except BaseException as error:  # shown by the test
            self.error = error

    def finish(self) -> None:
        self._stop_now.set()
        self.join(PATIENCE)
        assert not self.is_alive()
        assert self.error is None


@pytest.fixture(autouse=True)
def _threads_change_often() -> Iterator[None]:
    """A race that the interpreter allows should happen here, and not once a year elsewhere."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


@pytest.fixture
def changing(registry: InterceptorRegistry) -> Iterator[Changing]:
    thread = Changing(registry)
    thread.start()
    yield thread
    thread.finish()


def seen_by(arguments: dict[str, Any]) -> tuple[int, ...]:
    return tuple(arguments.get("seen", []))


def test_two_hundred_threads_in_flight(registry: InterceptorRegistry, changing: Changing) -> None:
    engine = Engine(registry)
    barrier = threading.Barrier(CALLS)

    def call(number: int) -> list[tuple[int, ...]]:
        barrier.wait(PATIENCE)
        found = []
        for _ in range(5):
            answer = engine.run_tool(ToolCall("exec", {"number": number}), lambda arguments: arguments)
            assert answer["number"] == number
            found.append(seen_by(answer))
        return found

    with ThreadPoolExecutor(CALLS) as pool:
        results = [
            found for futures in [pool.submit(call, n) for n in range(CALLS)] for found in futures.result(PATIENCE)
        ]
    changing.finish()
    assert len(results) == CALLS * 5
    assert set(results) <= changing.states
    assert changing.changes > 0


def test_two_hundred_tasks_in_flight(registry: InterceptorRegistry, changing: Changing) -> None:
    engine = Engine(registry)
    in_flight = most = 0

    async def yielding(_input: Any, _output: Any) -> None:
        await asyncio.sleep(0)

    registry.add(id="yields", name="tool.before", priority=100, handler=yielding)

    async def execute(arguments: dict[str, Any]) -> dict[str, Any]:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        while most < CALLS and in_flight < CALLS:
            await asyncio.sleep(0)  # all two hundred are in their tools at once
        in_flight -= 1
        most = CALLS
        return arguments

    async def call(number: int) -> tuple[int, ...]:
        answer = await engine.arun_tool(ToolCall("exec", {"number": number}), execute)
        assert answer["number"] == number
        return seen_by(answer)

    async def main() -> list[tuple[int, ...]]:
        return await asyncio.gather(*(call(number) for number in range(CALLS)))

    results = asyncio.run(main())
    changing.finish()
    assert most == CALLS
    assert set(results) <= changing.states


def test_a_call_under_way_keeps_the_set_with_which_it_began(registry: InterceptorRegistry) -> None:
    """From tool.before over the question and the tool to tool.after and observe."""
    trace: list[str] = []

    class Changer:
        """Throws everybody out in the middle of the call, and lets somebody else in."""

        def intercept(self, _call: ToolCall) -> Allow:
            trace.append("changer")
            registry.clear()
            for point in ("tool.before", "permission.ask", "tool.after"):
                registry.add(id=f"late {point}", name=point, handler=lambda _i, _o: Deny("late"))
            return Allow()

        def observe(self, _call: ToolCall, _outcome: ToolOutcome) -> None:
            trace.append("observed")

    def asks(_input: Any, output: Any) -> None:
        trace.append("asks")
        output.ask = "sure?"

    registry.add(id="changer", name="tool.before", priority=9, interceptor=Changer())
    registry.add(id="asks", name="tool.before", handler=asks)
    registry.add(id="question", name="permission.ask", handler=lambda _i, _o: trace.append("question"))
    registry.add(id="after", name="tool.after", handler=lambda _i, _o: trace.append("after"))

    class Yes:
        def confirm(self, _request: Any, /) -> bool:
            trace.append("person")
            return True

    engine = Engine(registry, confirm=Yes())
    assert engine.run_tool(ToolCall("exec", {}), lambda _: "ran") == "ran"
    assert trace == ["changer", "asks", "question", "person", "after", "observed"]
    assert engine.run_tool(ToolCall("exec", {}), lambda _: "ran")["reason"] == "late"


def test_a_guard_that_is_always_there_is_always_asked(registry: InterceptorRegistry, changing: Changing) -> None:
    """However the registry changes beside it: not one dangerous call gets through."""
    registry.add(
        id="guard", name="tool.before", priority=100, guard=True,
        handler=lambda _i, o: Deny("no") if o.args["command"] == "rm" else None,
    )  # fmt: skip
    engine = Engine(registry)
    ran: list[str] = []

    def call(number: int) -> str:
        command = "rm" if number % 2 else "ls"
        answer = engine.run_tool(ToolCall("Bash", {"command": command}), lambda a: ran.append(a["command"]))
        return "blocked" if answer else "ran"

    with ThreadPoolExecutor(50) as pool:
        results = list(pool.map(call, range(2000)))
    assert results == ["ran", "blocked"] * 1000
    assert set(ran) == {"ls"}


def test_ids_stay_unique_when_many_register_at_once(registry: InterceptorRegistry) -> None:
    barrier = threading.Barrier(32)

    def add(number: int) -> int:
        barrier.wait(PATIENCE)
        added = 0
        for id in range(50):
            try:
                registry.add(id=f"id{id}", name="tool.before", priority=number, handler=lambda _i, _o: None)
                added += 1
            except ValueError:
                pass
        return added

    with ThreadPoolExecutor(32) as pool:
        assert sum(pool.map(add, range(32))) == 50
    assert sorted(entry.id for entry in registry.list()) == sorted(f"id{id}" for id in range(50))
    priorities = [entry.priority for entry in registry.get("tool.before")]
    assert priorities == sorted(priorities, reverse=True)


def test_no_registration_and_no_removal_is_lost(registry: InterceptorRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Snapshot.__init__

    def give_way(self: Snapshot, entries: Any = ()) -> None:
        os.sched_yield()  # between reading the old set and putting the new one in its place
        original(self, entries)

    monkeypatch.setattr(Snapshot, "__init__", give_way)
    barrier = threading.Barrier(16)

    def change(number: int) -> None:
        barrier.wait(PATIENCE)
        for id in range(60):
            registry.add(id=f"{number}.{id}", name="tool.before", handler=lambda _i, _o: None)
            if id % 3 == 0:
                assert registry.remove(f"{number}.{id}")

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(change, range(16)))
    expected = {f"{number}.{id}" for number in range(16) for id in range(60) if id % 3}
    assert {entry.id for entry in registry.list()} == expected


def test_runs_that_share_an_engine_do_not_share_a_bag(registry: InterceptorRegistry) -> None:
    registry.add(id="fill", name="message.before", handler=lambda _i, o: o.metadata.update(text=o.message))
    registry.add(id="mark", name="tool.before", handler=lambda i, o: o.args.update(bag=i.metadata["text"]))
    engine = Engine(registry)
    barrier = threading.Barrier(50)

    def agent(number: int) -> set[str]:
        run = engine.run()
        barrier.wait(PATIENCE)
        run.message(f"message {number}")
        calls = [run.run_tool(ToolCall("exec", {}), lambda arguments: arguments) for _ in range(20)]
        return {done.response["bag"] for done in calls}

    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(agent, range(50))) == [{f"message {number}"} for number in range(50)]


def test_sync_callers_with_async_interceptors_in_many_threads(registry: InterceptorRegistry) -> None:
    async def mark(input: Any, output: Any) -> None:
        await asyncio.sleep(0)
        output.args["id"] = input.tool_call_id

    registry.add(id="mark", name="tool.before", handler=mark, timeout=30)
    engine = Engine(registry)

    def call(number: int) -> str:
        answer: dict[str, str] = engine.run_tool(ToolCall("exec", {}, f"id-{number}"), lambda arguments: arguments)
        return answer["id"]

    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(call, range(500))) == [f"id-{number}" for number in range(500)]
