"""Many waits of one event loop: each ends, once it is settled or its time is up, and few wakes do for many of them."""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from interpose.core.driving.batched_waits import BatchedWaits, waits_of
from tests.support.timing.patience import PATIENCE


class Counting:
    """A loop's arrivals, and how often other threads woke the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> None:
        self.arrivals, self.wakes = BatchedWaits(loop), 0
        wake = loop.call_soon_threadsafe

        def counted(call: Callable[..., object], *args: Any, **options: Any) -> Any:
            self.wakes += 1
            return wake(call, *args, **options)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)


def test_one_wake_does_for_all_that_are_settled_together(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> int:
        counting = Counting(asyncio.get_running_loop(), monkeypatch)
        waits = [counting.arrivals.expect(60) for _ in range(100)]

        def settle() -> None:
            for wait in waits:
                counting.arrivals.settled(wait)

        thread = threading.Thread(target=settle)
        thread.start()
        thread.join()  # the loop does not turn meanwhile
        await asyncio.gather(*waits)
        return counting.wakes

    assert asyncio.run(main()) == 1


class Racing(deque[Any]):
    """Something is settled right after the loop saw that nothing is left."""

    def __init__(self, arrivals: BatchedWaits, late: list[asyncio.Future[None]]) -> None:
        super().__init__()
        self._arrivals, self._late = arrivals, late

    def __bool__(self) -> bool:
        if len(self):
            return True
        if self._late:
            self._arrivals.settled(self._late.pop())
        return False


def test_none_is_forgotten_that_is_settled_while_the_loop_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        arrivals = BatchedWaits(asyncio.get_running_loop())
        early, *late = (arrivals.expect(60) for _ in range(3))
        monkeypatch.setattr(arrivals, "_settled", Racing(arrivals, list(late)))
        arrivals.settled(early)
        await asyncio.wait_for(asyncio.gather(early, *late), PATIENCE)

    asyncio.run(main())


def test_a_short_wait_ends_before_a_long_one_that_started_first() -> None:
    async def main() -> None:
        arrivals = BatchedWaits(asyncio.get_running_loop())
        arrivals.expect(60)
        await asyncio.wait_for(arrivals.expect(0.01), PATIENCE)

    asyncio.run(main())


TIMEOUTS: list[tuple[str, list[float]]] = [
    ("in the order of their ends", [0.01, 0.02, 0.03]),
    ("the first ends last", [0.03, 0.02, 0.01]),
    ("all at once", [0.02, 0.02, 0.02]),
    ("at once", [0.0, 0.0, 0.01]),
    ("one long, one short, one between", [0.04, 0.01, 0.02]),
]


class Unhurried(asyncio.SelectorEventLoop):
    """A loop whose clock stands still while it works, and jumps to the next timer when there is nothing to do."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        self._now += seconds


class _Jumping(selectors.DefaultSelector):
    def __init__(self, loop: Unhurried) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(0)
        if not found and timeout:
            self._loop.jump(timeout)
        return found


@pytest.mark.parametrize(("note", "timeouts"), TIMEOUTS, ids=[note for note, _ in TIMEOUTS])
def test_each_wait_ends_when_its_time_is_up(note: str, timeouts: list[float]) -> None:
    async def main() -> list[float]:
        loop = asyncio.get_running_loop()
        arrivals = BatchedWaits(loop)
        start = loop.time()

        async def one(timeout: float) -> float:
            wait = arrivals.expect(timeout)
            await wait
            arrivals.forget(wait)
            return loop.time() - start - timeout

        late = await asyncio.wait_for(asyncio.gather(*map(one, timeouts)), PATIENCE)
        start = loop.time()  # a timer that ran out leaves room for the next
        return [*late, await asyncio.wait_for(one(0.01), PATIENCE)]

    with asyncio.Runner(loop_factory=Unhurried) as runner:
        assert runner.run(main()) == pytest.approx([0.0] * (len(timeouts) + 1), abs=1e-6), note


def test_a_thread_that_asks_for_the_same_in_one_turn_is_asked_once() -> None:
    sent: list[str] = []

    def send() -> None:
        sent.append("first")

    def send_elsewhere() -> None:
        sent.append("second")

    async def main() -> None:
        arrivals = BatchedWaits(asyncio.get_running_loop())
        for one in (send, send_elsewhere, send):
            arrivals.send_soon(one)
        assert not sent
        await asyncio.sleep(0)
        arrivals.send_soon(send)
        await asyncio.sleep(0)

    asyncio.run(main())
    assert sent == ["first", "second", "first"]


def test_what_is_settled_after_its_loop_was_closed_harms_nobody() -> None:
    async def main() -> tuple[BatchedWaits, asyncio.Future[None]]:
        arrivals = waits_of(asyncio.get_running_loop())
        assert arrivals is waits_of(asyncio.get_running_loop())
        return arrivals, arrivals.expect(60)

    arrivals, wait = asyncio.run(main())
    arrivals.settled(wait)
    assert asyncio.run(main())[0] is not arrivals
