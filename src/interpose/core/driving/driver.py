"""Performs flows: `drive` by blocking, `drive_async` by awaiting. The two know the same steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from time import monotonic
from typing import Any, TypeVar, cast

from interpose.core.driving.background_loop import BackgroundLoop
from interpose.core.driving.batched_waits import waits_of
from interpose.core.driving.steps import (
    INTERRUPTS,
    Ask,
    Await,
    Block,
    Execute,
    Failure,
    Flow,
    Keep,
    PendingRecord,
    Work,
    called,
    is_async,
    is_awaitable,
)
from interpose.core.driving.workers import called_to_the_end, in_own_thread, in_worker, in_worker_async, timed_out
from interpose.core.errors import InterceptError, name_of

R = TypeVar("R")


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
                answer = _interruptible(_block(step.answer, step.timeout))
            case Work():
                answer = _interruptible(in_worker(step))
            case Execute():
                answer = called_to_the_end(step.function, (step.payload,))
                if is_awaitable(answer):
                    answer = _block(answer, None)
            case Ask():
                answer = called(_confirm, (step.handler, step.request))
                if is_awaitable(answer):
                    answer = _interruptible(_block(answer, None))
            case Keep():
                answer = called(step.record.wait, ())
            case Block():
                answer = called(step.function, step.args)


async def drive_async(flow: Flow[R]) -> R:
    """Perform a flow by awaiting: nothing in it holds up the event loop but an interceptor that blocks it."""
    return await _driven(flow, _awaited)


async def _driven(flow: Flow[R], wait: Callable[[Awaitable[object], float | None], Awaitable[object]]) -> R:
    answer: Any = None
    while True:
        try:
            step = flow.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # StopIteration carries Any
        match step:
            case Await():
                answer = _interruptible(await wait(step.answer, step.timeout))
            case Work():
                answer = _interruptible(await in_worker_async(step))
            case Execute():
                answer = called_to_the_end(step.function, (step.payload,))
                if is_awaitable(answer):
                    answer = await _guarded(answer)
            case Ask():
                answer = _interruptible(await _asked(step))
            case Keep():
                answer = await _kept(step.record)
            case Block():
                answer = await _in_thread(step)


async def drive_in_server(flow: Flow[R]) -> R:
    """`drive_async` for a server: an interceptor that wants the process to end has failed, and ends nobody.

    Async interceptors run on a loop of their own: one that blocks it instead of awaiting holds up no other caller.
    """
    try:
        return await _driven(flow, _awaited_apart)
    except INTERRUPTS as error:
        raise InterceptError(f"it raised {name_of(error)}") from error


def drive_thread_of_server(flow: Flow[R]) -> R:
    """`drive_in_server` by blocking, for a thread of its own."""
    try:
        return drive(flow)
    except INTERRUPTS as error:
        raise InterceptError(f"it raised {name_of(error)}") from error


def _interruptible(answer: object) -> object:
    """The answer, unless it says that this process is to end."""
    if type(answer) is Failure and isinstance(answer.error, INTERRUPTS):
        raise answer.error
    return answer


def _confirm(handler: Any, request: Any) -> object:
    return handler.confirm(request)  # looked up here: an object without it is a handler that failed


async def _asked(step: Ask) -> object:
    """Ask a handler. One that may block is asked in a thread of its own: people take their time."""
    if called(_answers_at_once, (step.handler,)) is True:
        answer = called(_confirm, (step.handler, step.request))
    else:
        answer = await in_own_thread(_confirm, step.handler, step.request)
    return await _awaited(cast("Awaitable[object]", answer), None) if is_awaitable(answer) else answer


def _answers_at_once(handler: Any) -> bool:
    return is_async(handler.confirm) or getattr(handler, "immediate", False) is True


async def _in_thread(step: Block) -> object:
    import asyncio

    return await asyncio.to_thread(called, step.function, step.args)


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
    began = monotonic()
    inner = asyncio.ensure_future(_ended(answer))
    try:
        done, _ = await asyncio.wait({inner}, timeout=timeout)
    except asyncio.CancelledError:
        inner.cancel()
        raise
    if done:
        value, ended = inner.result()
        return (
            value if ended - began <= timeout else Failure(timed_out(timeout))
        )  # what blocks the loop stops its timer
    inner.cancel()  # not awaited: one that ignores its cancellation must not hold the answer
    return Failure(timed_out(timeout))


async def _ended(answer: Awaitable[object]) -> tuple[object, float]:
    """What an interceptor said, and when."""
    value = await _guarded(answer)
    return value, monotonic()


async def _kept(record: PendingRecord) -> object:
    """Wait for a record. Others go on meanwhile, and may share its sync."""
    import asyncio

    waits = waits_of(asyncio.get_running_loop())
    settled = waits.expect(record.left)
    record.when_settled(partial(waits.settled, settled))
    waits.send_soon(record.send)
    try:
        await settled
    finally:
        waits.forget(settled)
    return called(record.wait, ())


_BACKGROUND = BackgroundLoop()


def _block(answer: Awaitable[object], timeout: float | None) -> object:
    try:
        return _BACKGROUND.run(_awaited(answer, timeout), timeout)
    except (TimeoutError, RuntimeError) as error:  # the loop is blocked, or there is no thread to be had
        called(_close, (answer,))
        return Failure(error)


async def _awaited_apart(answer: Awaitable[object], timeout: float | None) -> object:
    if not isinstance(answer, Coroutine):
        return await _awaited(answer, timeout)  # a future belongs to the loop that it was made on
    try:
        return await _BACKGROUND.run_from_loop(_awaited(answer, timeout), timeout)
    except (TimeoutError, RuntimeError) as error:  # the loop is blocked, or there is no thread to be had
        called(_close, (answer,))
        return Failure(error)


def _close(answer: Any) -> None:
    answer.close()  # a coroutine that never starts would complain when it is thrown away
