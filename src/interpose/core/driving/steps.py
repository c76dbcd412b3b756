"""What a flow can wait for. It yields a step, and a driver (driver.py) performs it by blocking or by awaiting."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeVar, final

from interpose.core.types import Allow

R = TypeVar("R")

INTERRUPTS = (KeyboardInterrupt, SystemExit)
"""Nobody's failure: whoever runs this process wants it to end. They pass everywhere."""

_CO_COROUTINE, _CO_GENERATORS = 0x80, 0x20 | 0x200  # as in `inspect`, without importing it


def is_awaitable(value: object) -> bool:
    """Whether a value must be awaited. Never raises, whatever the value's type is up to."""
    try:
        return hasattr(type(value), "__await__")
    except BaseException:  # noqa: BLE001 - a metaclass can raise anything
        return False


def is_async(function: object) -> bool:
    """Whether a function is written with `async def`."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return bool(code is not None and code.co_flags & _CO_COROUTINE)


def is_generator(function: object) -> bool:
    """Whether a function has `yield` in it: calling it runs nothing of it."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return bool(code is not None and code.co_flags & _CO_GENERATORS)


def called(function: Callable[..., object], args: tuple[Any, ...]) -> object:
    """What a function returns, or a Failure of what it raises. Interrupts pass."""
    try:
        return function(*args)
    except INTERRUPTS:
        raise
    except BaseException as error:  # noqa: BLE001 - handed over as a value; the flow decides what it means
        return Failure(error)


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


class Block:
    """Call a function of ours that waits for a disk or a database. A Failure if it raises."""

    __slots__ = ("args", "function")

    def __init__(self, function: Callable[..., object], *args: Any) -> None:
        self.function = function
        self.args = args


class PendingRecord(Protocol):
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

    def __init__(self, record: PendingRecord) -> None:
        self.record = record


Step = Await | Work | Execute | Ask | Keep | Block
Flow = Generator[Step, Any, R]


def ask(entry: Any, function: Callable[..., object], *args: Any) -> Flow[object]:
    """Call an interceptor, under its deadline if it has one. Whatever it raises comes back as a Failure (law 7)."""
    answer: object
    if entry.inline:
        answer = called(function, args)
    else:
        answer = yield Work(function, args, entry)
    if type(answer) is not Allow and is_awaitable(answer):
        answer = yield Await(answer, entry.timeout)
    return answer
