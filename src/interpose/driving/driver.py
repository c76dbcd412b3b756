"""How the pipeline waits: it yields steps, a driver performs them by blocking or by awaiting.

A sync interceptor with a deadline runs in a worker thread and is abandoned when time is up: Python can't stop a
thread. Threads that are still stuck are counted per interceptor; past `MAX_STUCK` it is not started again until one of
them ends, so that a hanging interceptor costs some threads and not the process. Native code that holds the
interpreter lock can't be interrupted at all.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, final

from interpose.driving.background_loop import Background
from interpose.driving.batched_waits import arrivals_of
from interpose.types import Allow

if TYPE_CHECKING:
    import asyncio

R = TypeVar("R")

MAX_STUCK = 8


def is_awaitable(value: object) -> bool:
    """Whether a value must be awaited. Never raises, whatever the value's type is up to."""
    try:
        return hasattr(type(value), "__await__")
    except BaseException:  # noqa: BLE001 - a metaclass can raise anything
        return False


@final
class Failure:
    """What an interceptor or a tool raised, as a value. Asked for by its exact type: see pipeline.py."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Await:
    """Wait for an answer, at most `timeout` seconds."""

    __slots__ = ("answer", "timeout")

    def __init__(self, answer: Any, timeout: float | None = None) -> None:
        self.answer = answer
        self.timeout = timeout


class Work:
    """Call a function under the deadline of an interceptor."""

    __slots__ = ("args", "entry", "function")

    def __init__(self, function: Callable[..., object], args: tuple[Any, ...], entry: Any) -> None:
        self.function = function
        self.args = args
        self.entry = entry


class Execute:
    """Run the tool itself."""

    __slots__ = ("function", "payload")

    def __init__(self, function: Callable[[Any], Any], payload: Any) -> None:
        self.function = function
        self.payload = payload


class Ask:
    """Put a question to a confirmation handler."""

    __slots__ = ("handler", "request")

    def __init__(self, handler: Any, request: Any) -> None:
        self.handler = handler
        self.request = request


class Record(Protocol):
    """Something on its way into a ledger. It has a deadline of its own."""

    @property
    def left(self) -> float:
        """Seconds until nobody waits any more."""

    @property
    def send(self) -> Callable[[], None]:
        """Gets it on its way, and with it all that go the same way."""

    def when_settled(self, call: Callable[[], None], /) -> None:
        """Call this when it is settled, in any thread. Twice does no harm."""

    def wait(self) -> None:
        """Send it and come back when it is recorded. Raises if it is not, or not in time."""


class Keep:
    """Wait until something is recorded."""

    __slots__ = ("record",)

    def __init__(self, record: Record) -> None:
        self.record = record


Step = Await | Work | Execute | Ask | Keep
Flow = Generator[Step, Any, R]


def ask(entry: Any, function: Callable[..., object], *args: Any) -> Flow[object]:
    """Call an interceptor, under its deadline if it has one. Whatever it raises comes back as a Failure."""
    answer: object
    if entry.inline:
        try:
            answer = function(*args)
        except BaseException as error:  # noqa: BLE001 - law 7: whatever an interceptor raises is a finding
            answer = Failure(error)
    else:
        answer = yield Work(function, args, entry)
    if type(answer) is not Allow and is_awaitable(answer):
        answer = yield Await(answer, entry.timeout)
    return answer


def drive(flow: Flow[R]) -> R:
    """Perform a flow by blocking. Async answers run on an event loop of our own in a thread of its own."""
    answer: Any = None
    while True:
        try:
            step = flow.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # StopIteration carries Any
        match step:
            case Await():
                answer = _block(step.answer, step.timeout)
            case Work():
                answer = _in_worker(step)
            case Execute():
                answer = _called(step.function, (step.payload,))
                if is_awaitable(answer):
                    answer = _block(answer, None)
            case Ask():
                answer = _called(_confirm, (step.handler, step.request))
                if is_awaitable(answer):
                    answer = _block(answer, None)
            case Keep():
                answer = _called(step.record.wait, ())


async def drive_async(flow: Flow[R]) -> R:
    """Perform a flow by awaiting. Where nobody has loaded asyncio there is no loop that blocking could hold up."""
    if not loops():
        return drive(flow)
    answer: Any = None
    while True:
        try:
            step = flow.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # StopIteration carries Any
        match step:
            case Await():
                answer = await _awaited(step.answer, step.timeout)
            case Work():
                answer = await _in_worker_async(step)
            case Execute():
                answer = _called(step.function, (step.payload,))
                if is_awaitable(answer):
                    answer = await _guarded(answer)
            case Ask():
                answer = _called(_confirm, (step.handler, step.request))
                if is_awaitable(answer):
                    answer = await _awaited(answer, None)
            case Keep():
                answer = await _kept(step.record)


def loops() -> bool:
    """Whether an event loop may run in this process."""
    return "asyncio" in sys.modules


async def aside(function: Callable[..., R], *args: Any) -> R:
    """Call a function that blocks, in a thread if a loop would have to wait for it."""
    if not loops():
        return function(*args)
    import asyncio

    return await asyncio.to_thread(function, *args)


def _called(function: Callable[..., object], args: tuple[Any, ...]) -> object:
    try:
        return function(*args)
    except BaseException as error:  # noqa: BLE001 - handed over as a value; the flow decides what it means
        return Failure(error)


def _confirm(handler: Any, request: Any) -> object:
    return handler.confirm(request)  # looked up here: an object without it is a handler that failed


async def _guarded(answer: Awaitable[object]) -> object:
    try:
        return await answer
    except BaseException as error:  # noqa: BLE001 - as above
        return Failure(error)


async def _awaited(answer: Awaitable[object], timeout: float | None) -> object:
    """Await an interceptor. Its own CancelledError is a failure of it; a cancellation of the caller goes on up."""
    import asyncio

    if timeout is None:
        value = await _guarded(answer)
        task = asyncio.current_task()
        if type(value) is Failure and isinstance(value.error, asyncio.CancelledError) and task and task.cancelling():
            raise value.error
        return value
    inner = asyncio.ensure_future(_guarded(answer))
    try:
        done, _ = await asyncio.wait({inner}, timeout=timeout)
    except asyncio.CancelledError:
        inner.cancel()
        raise
    if done:
        return inner.result()
    inner.cancel()  # not awaited: one that ignores its cancellation must not hold the answer
    return Failure(_timed_out(timeout))


async def _kept(record: Record) -> object:
    """Wait for a record. Others go on meanwhile, and may share its sync."""
    import asyncio

    arrivals = arrivals_of(asyncio.get_running_loop())
    settled = arrivals.expect(record.left)
    record.when_settled(partial(arrivals.settled, settled))
    arrivals.send_soon(record.send)
    try:
        await settled
    finally:
        arrivals.forget(settled)
    return _called(record.wait, ())


def _waking(loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> Callable[[], None]:
    """Calls `wake` in its loop, from any thread."""

    def call() -> None:
        try:
            loop.call_soon_threadsafe(wake)
        except RuntimeError:
            pass  # the loop was closed meanwhile: nobody waits any more

    return call


def _timed_out(timeout: float) -> TimeoutError:
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
        self.answer = _called(self._step.function, self._step.args)
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
        return Failure(_timed_out(self._step.entry.timeout))


def _refused(step: Work) -> Failure | None:
    if STUCK.full(step.entry.id):
        return Failure(TimeoutError(f"not started: {MAX_STUCK} earlier calls still hang past their deadline"))
    return None


def _in_worker(step: Work) -> object:
    if (refused := _refused(step)) is not None:
        return refused
    finished = threading.Event()
    worker = _Worker(step, finished.set)
    if (refused := worker.start()) is not None:
        return refused
    return worker.answer if finished.wait(step.entry.timeout) else worker.abandon()


async def _in_worker_async(step: Work) -> object:
    import asyncio

    if (refused := _refused(step)) is not None:
        return refused
    loop = asyncio.get_running_loop()
    finished = asyncio.Event()
    worker = _Worker(step, _waking(loop, finished.set))
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


_BACKGROUND = Background()


def _block(answer: Awaitable[object], timeout: float | None) -> object:
    try:
        return _BACKGROUND.run(_awaited(answer, timeout), timeout)
    except (TimeoutError, RuntimeError) as error:  # the loop is blocked, or there is no thread to be had
        _called(_close, (answer,))
        return Failure(error)


def _close(answer: Any) -> None:
    answer.close()  # a coroutine that never starts would complain when it is thrown away
