"""Calls in threads of their own.

A sync interceptor with a deadline runs in a worker and is abandoned when time is up: Python can't stop a thread.
Threads that are still stuck are counted per interceptor; past `MAX_STUCK` it is not started again until one of them
ends, so that a hanging interceptor costs some threads and not the process. Native code that holds the interpreter
lock can't be interrupted at all, but an answer that comes after the deadline does not count.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from interpose.core.driving.steps import Failure, Work

if TYPE_CHECKING:
    import asyncio

MAX_STUCK = 8


def waking(loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> Callable[[], None]:
    """Calls `wake` in its loop, from any thread."""

    def call() -> None:
        try:
            loop.call_soon_threadsafe(wake)
        except RuntimeError:
            pass  # the loop was closed meanwhile: nobody waits any more

    return call


def timed_out(timeout: float) -> TimeoutError:
    """Why there is no answer."""
    return TimeoutError(f"no answer within {timeout:g} s")


class _Stuck:
    """How many workers of an interceptor still run past their deadline."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count: dict[str, int] = {}

    def full(self, key: str) -> bool:
        with self._lock:
            return self._count.get(key, 0) >= MAX_STUCK

    def add(self, key: str, change: int) -> None:
        with self._lock:
            count = self._count.get(key, 0) + change
            if count > 0:
                self._count[key] = count
            else:
                self._count.pop(key, None)


STUCK = _Stuck()


class _Worker:
    """One call in a thread that may outlive its caller's patience."""

    def __init__(self, step: Work, wake: Callable[[], None]) -> None:
        self._step, self._wake = step, wake
        self._lock = threading.Lock()
        self._abandoned = False
        self._done = False
        self.answer: object = None

    def start(self) -> Failure | None:
        """Start. A Failure if there is no thread to be had."""
        try:
            threading.Thread(target=self._run, name=f"interpose:{self._step.entry.id}", daemon=True).start()
        except RuntimeError as error:
            return Failure(error)
        return None

    def _run(self) -> None:
        began = monotonic()
        answer = called_to_the_end(self._step.function, self._step.args)
        # INVARIANT: the deadline decides, not who is woken first. Native code that holds the interpreter lock keeps the
        # one who waits asleep, too, and its answer would count however late it came.
        overdue = monotonic() - began > self._step.entry.timeout
        self.answer = Failure(timed_out(self._step.entry.timeout)) if overdue else answer
        with self._lock:
            self._done = True
            late = self._abandoned
        if late:
            STUCK.add(self._step.entry.id, -1)
        else:
            self._wake()

    def abandon(self) -> object:
        """Give up waiting: the answer if it came just now, else a timeout."""
        with self._lock:
            if self._done:
                return self.answer
            self._abandoned = True
            STUCK.add(self._step.entry.id, 1)  # under the lock, or a thread that ends right now would count first
        return Failure(timed_out(self._step.entry.timeout))


def _refused(step: Work) -> Failure | None:
    if STUCK.full(step.entry.id):
        return Failure(TimeoutError(f"not started: {MAX_STUCK} earlier calls still hang past their deadline"))
    return None


def in_worker(step: Work) -> object:
    """Perform a step in a thread, at most for its interceptor's deadline."""
    if (refused := _refused(step)) is not None:
        return refused
    finished = threading.Event()
    worker = _Worker(step, finished.set)
    if (refused := worker.start()) is not None:
        return refused
    return worker.answer if finished.wait(step.entry.timeout) else worker.abandon()


async def in_worker_async(step: Work) -> object:
    """`in_worker` beside other work of this loop."""
    import asyncio

    if (refused := _refused(step)) is not None:
        return refused
    loop = asyncio.get_running_loop()
    finished = asyncio.Event()
    worker = _Worker(step, waking(loop, finished.set))
    if (refused := worker.start()) is not None:
        return refused
    try:
        await asyncio.wait_for(finished.wait(), step.entry.timeout)
    except TimeoutError:
        return worker.abandon()
    except asyncio.CancelledError:
        worker.abandon()  # the caller is gone, the thread is not: it must count
        raise
    return worker.answer


async def in_own_thread(function: Callable[..., object], *args: Any) -> object:
    """Call a function that may take as long as a person does. Of a pool's threads there could be none left."""
    import asyncio
    from contextvars import copy_context

    finished, answers = asyncio.Event(), list[object]()
    wake = waking(asyncio.get_running_loop(), finished.set)
    context = copy_context()

    def run() -> None:
        answers.append(called_to_the_end(context.run, (function, *args)))
        wake()

    try:
        threading.Thread(target=run, name="interpose:question", daemon=True).start()
    except RuntimeError as error:
        return Failure(error)
    await finished.wait()
    return answers[0]


def called_to_the_end(function: Callable[..., object], args: tuple[Any, ...]) -> object:
    """What a function returns, or a Failure of anything that it raises: a thread has nobody to hand it on to."""
    try:
        return function(*args)
    except BaseException as error:  # noqa: BLE001 - whoever waits for the thread raises what must be raised
        return Failure(error)
