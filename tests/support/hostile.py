"""Errors and values that fight back, made on demand by name: test runners stumble over them as well."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NoReturn

from interpose import ExecutionFailedError, InvalidModificationError
from interpose.core.types import Allow


class CustomError(Exception):
    """An ordinary error of one's own."""


class SilentError(Exception):
    """Says nothing."""

    def __str__(self) -> str:
        return ""


class BrokenTextError(Exception):
    """Raises when it is printed."""

    def __str__(self) -> str:
        raise KeyboardInterrupt

    __repr__ = __str__


class NoTextError(Exception):
    """Returns something else than a text."""

    def __str__(self) -> Any:
        return 5  # noqa: PLE0307 - that is its point


class EvilText(str):
    """A text that raises when anybody uses it."""

    __slots__ = ()

    def _refuse(self, *_: object) -> NoReturn:
        raise SystemExit("evil text")

    __format__ = __len__ = __eq__ = __contains__ = __iter__ = _refuse
    __hash__ = str.__hash__


class EvilTextError(Exception):
    """Is printed as a text that raises."""

    def __str__(self) -> str:
        return EvilText("evil")


class _Faceless(type):
    """Nothing about the class can be looked up."""

    def __getattribute__(cls, name: str) -> NoReturn:
        raise SystemExit(name)


class FacelessError(Exception, metaclass=_Faceless):
    """Its class has no name that could be read the usual way."""


class LyingEqualityError(Exception):
    """Equals everything."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


INTERRUPTS: dict[str, Callable[[], BaseException]] = {
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": lambda: SystemExit(0),
}
"""Nobody's failure: they pass everywhere, and nothing runs."""

ERRORS: dict[str, Callable[[], BaseException]] = {
    "ValueError": lambda: ValueError("bad value"),
    "KeyError": lambda: KeyError("missing"),
    "AssertionError": AssertionError,
    "ZeroDivisionError": lambda: ZeroDivisionError("division by zero"),
    "OSError": lambda: OSError(28, "No space left on device"),
    "TimeoutError": lambda: TimeoutError("late"),
    "StopIteration": lambda: StopIteration("end"),
    "StopAsyncIteration": lambda: StopAsyncIteration("end"),
    "RecursionError": lambda: RecursionError("maximum recursion depth exceeded"),
    "MemoryError": MemoryError,
    "UnicodeDecodeError": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    "ExceptionGroup": lambda: ExceptionGroup("many", [ValueError("one"), KeyError("two")]),
    "BaseException": lambda: BaseException("base"),
    "BaseExceptionGroup": lambda: BaseExceptionGroup("many", [KeyboardInterrupt()]),
    "GeneratorExit": GeneratorExit,
    "CancelledError": asyncio.CancelledError,
    "ExecutionFailedError": lambda: ExecutionFailedError("own logic"),
    "InvalidModificationError": lambda: InvalidModificationError("own change"),
    "custom": lambda: CustomError("custom"),
    "silent": SilentError,
    "broken __str__": BrokenTextError,
    "__str__ of a number": NoTextError,
    "evil text": EvilTextError,
    "hostile metaclass": FacelessError,
    "lying __eq__": LyingEqualityError,
    "nameless": type("", (Exception,), {}),
}


class RaisingClass:
    """`isinstance` of it raises."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise SystemExit("__class__")


class LyingClass:
    """Says that it is an Allow."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return Allow


class RaisingEquality:
    """Can't be compared, has no truth and no text."""

    def _refuse(self, *_: object) -> NoReturn:
        raise SystemExit("compared")

    __eq__ = __ne__ = __bool__ = __str__ = __repr__ = __hash__ = _refuse


class LyingEquality:
    """Equals everything and differs from nothing."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 0


class _LyingMeta(type):
    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return hash(Allow)


class LyingType(metaclass=_LyingMeta):
    """Its class equals every other class."""


class Faceless(metaclass=_Faceless):
    """Nothing about its class can be looked up."""


class BadAwaitable:
    """Can't be awaited although it says so."""

    def __await__(self) -> Any:
        return 5


class YieldsGarbage:
    """Gives the event loop something that is no future."""

    def __await__(self) -> Any:
        yield 42


GARBAGE: dict[str, Callable[[], object]] = {
    "True": lambda: True,
    "False": lambda: False,
    "number": lambda: 1,
    "text": lambda: "allow",
    "dict": lambda: {"decision": "allow"},
    "list": list,
    "class": lambda: Allow,
    "exception": lambda: ValueError("returned, not raised"),
    "subclass of Allow": type("MyAllow", (Allow,), {}),
    "evil text": lambda: EvilText("allow"),
    "raising __class__": RaisingClass,
    "lying __class__": LyingClass,
    "raising __eq__": RaisingEquality,
    "lying __eq__": LyingEquality,
    "lying metaclass": LyingType,
    "hostile metaclass": Faceless,
    "bad awaitable": BadAwaitable,
    "awaitable that yields garbage": YieldsGarbage,
}


def throw(name: str) -> NoReturn:
    """Raise the error of that name."""
    error = ERRORS[name]()
    raise error
