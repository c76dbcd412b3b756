"""Threads for work that takes long, with a queue for each caller: who sends much waits for itself, not others for it.

Work comes in sizes, and each size has threads of its own: what takes milliseconds never stands behind what takes a
second. Among callers whose work is of one size, each gets its turn, however much one of them has sent.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_Job = tuple["Future[Any]", Callable[[], Any]]


class FairWorkers:
    """Threads that are started when they are needed, and end with the process."""

    def __init__(self, name: str, threads: int) -> None:
        self._name, self._most = name, threads
        self._lock = threading.Lock()
        self._waiting = threading.Condition(self._lock)
        self._queues: dict[Hashable, deque[_Job]] = {}
        """INVARIANT: no queue is empty. The first is that of whoever is next."""
        self._threads = self._idle = 0

    def submit(self, caller: Hashable, work: Callable[[], T]) -> Future[T]:
        """Do it when this caller has its turn. RuntimeError if there is no thread to be had."""
        future: Future[T] = Future()
        with self._lock:
            self._queues.setdefault(caller, deque()).append((future, work))
            if self._idle:
                self._waiting.notify()
            elif self._threads < self._most:
                self._threads += 1
                self._start(caller)
        return future

    def _start(self, caller: Hashable) -> None:
        # Daemons: a server that is told to end does not wait for what hangs.
        number = self._threads
        try:
            threading.Thread(target=self._serve, name=f"interpose:{self._name}:{number}", daemon=True).start()
        except RuntimeError:
            self._threads -= 1
            if not self._threads:
                self._forget_last(caller)
                raise

    def _forget_last(self, caller: Hashable) -> None:
        self._queues[caller].pop()
        if not self._queues[caller]:
            del self._queues[caller]

    def _serve(self) -> None:
        while True:
            future, work = self._next()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 - whoever waits has to hear of it
                future.set_exception(error)
            else:
                future.set_result(result)
            del future, work  # nothing of it is kept while we wait

    def _next(self) -> _Job:
        with self._lock:
            while not self._queues:
                self._idle += 1
                self._waiting.wait()
                self._idle -= 1
            caller, jobs = next(iter(self._queues.items()))
            job = jobs.popleft()
            del self._queues[caller]
            if jobs:
                self._queues[caller] = jobs  # behind all others
            return job
