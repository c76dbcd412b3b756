"""An event loop in a thread of its own: where the async interceptors and tools of blocking callers run.

A coroutine that blocks the loop instead of awaiting would hold up everybody. Past its deadline the loop is left to it:
the next caller gets a new one. Loops that are still blocked are counted; past `MAX_BLOCKED` nothing more is started
until one of them is free again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

R = TypeVar("R")

MAX_BLOCKED = 4
GRACE = 0.05
"""Seconds that a deadline may be late before the loop counts as blocked."""

_HERE = threading.local()
"""`loop` is True in the threads of our own loops: waiting there for the background loop would wait for ever."""


class BackgroundLoop:
    """Made when it is first needed, and again after a fork, which leaves the thread behind."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: Any = None
        self._thread: threading.Thread | None = None
        self._blocked = 0

    def run(self, coroutine: Coroutine[Any, Any, object], timeout: float | None) -> object:
        """The coroutine's result. TimeoutError if it blocks the loop for longer than its timeout."""
        import asyncio

        if getattr(_HERE, "loop", False):
            return _run_elsewhere(coroutine)
        with self._lock:
            if self._blocked >= MAX_BLOCKED:
                coroutine.close()
                raise TimeoutError(f"not started: {MAX_BLOCKED} earlier answers still block their event loops")
            loop = self._current()
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            return future.result(None if timeout is None else timeout + GRACE)
        except TimeoutError:
            self._leave(loop)
            raise TimeoutError(f"no answer within {timeout:g} s, and its event loop is blocked") from None

    async def run_from_loop(self, coroutine: Coroutine[Any, Any, object], timeout: float | None) -> object:
        """`run` for whoever must not block: the caller's own loop goes on, whatever the coroutine does to this one."""
        import asyncio

        with self._lock:
            if self._blocked >= MAX_BLOCKED:
                coroutine.close()
                raise TimeoutError(f"not started: {MAX_BLOCKED} earlier answers still block their event loops")
            loop = self._current()
        future = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop))
        try:
            done, _ = await asyncio.wait({future}, timeout=None if timeout is None else timeout + GRACE)
        except asyncio.CancelledError:
            future.cancel()
            raise
        if done:
            return future.result()
        self._leave(loop)
        raise TimeoutError(f"no answer within {timeout:g} s, and its event loop is blocked")

    def submit(self, coroutine: Coroutine[Any, Any, R]) -> Future[R]:
        """Start a coroutine without waiting for it. It sees none of the caller's context variables.

        RuntimeError if there is no thread to be had.
        """
        import asyncio
        from contextvars import Context

        try:
            with self._lock:
                loop = self._current()
            return Context().run(asyncio.run_coroutine_threadsafe, coroutine, loop)
        except RuntimeError:
            coroutine.close()
            raise

    def _current(self) -> Any:
        if self._thread is None or not self._thread.is_alive():
            import asyncio

            loop = asyncio.new_event_loop()
            self._loop = loop
            self._thread = threading.Thread(
                target=_on_loop, args=(lambda: _run_to_the_end(loop),), name="interpose:loop", daemon=True
            )
            self._thread.start()
        return self._loop

    def _leave(self, loop: Any) -> None:
        import asyncio

        with self._lock:
            if self._loop is not loop:
                return  # somebody else left it already
            self._loop = self._thread = None
            self._blocked += 1
        asyncio.run_coroutine_threadsafe(self._retire(loop), loop)

    async def _retire(self, loop: Any) -> None:
        """Runs when the loop is free again: those who still wait on it get their answers, then it ends."""
        import asyncio

        with self._lock:
            self._blocked -= 1
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others)
        loop.stop()


def _on_loop(run: Callable[[], object]) -> None:
    _HERE.loop = True
    run()


def _run_to_the_end(loop: Any) -> None:
    while True:
        try:
            loop.run_forever()
            break
        except (KeyboardInterrupt, SystemExit):
            continue  # of a task that somebody started there: those who wait for others must not wait for ever
    loop.close()


def _run_elsewhere(coroutine: Coroutine[Any, Any, object]) -> object:
    """For an async tool or interceptor that makes a blocking call of its own: a loop for this one answer."""
    import asyncio

    results: list[object] = []

    def run() -> None:
        results.append(asyncio.run(coroutine))

    thread = threading.Thread(target=_on_loop, args=(run,), name="interpose:loop", daemon=True)
    thread.start()
    thread.join()
    if not results:
        raise TimeoutError("the answer was lost with its event loop")
    return results[0]
