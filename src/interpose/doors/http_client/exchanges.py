"""One request and its answer, as who asks sees them. Nothing here waits: the answer is told as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from interpose.core.types import EMPTY


class AnswerHead(Struct, frozen=True):
    """The first lines of an answer. Names of headers are lower-case."""

    status: int
    headers: Mapping[str, str] = EMPTY
    fields: tuple[tuple[str, str], ...] = ()
    """The headers as they were written, one by one."""

    @property
    def media_type(self) -> str:
        """What the body is: `application/json`."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Hearer(Protocol):
    """Who hears an answer. INVARIANT: `ended` is called once, last, and whatever happens."""

    def begun(self, head: AnswerHead, /) -> None:
        """The head is there."""
        ...

    def piece(self, data: bytes, /) -> None:
        """A part of the body. Raises ValueError if it is too much or wrong: that ends the exchange."""
        ...

    def ended(self, why: str, /) -> None:
        """Nothing more comes. `why` is empty if the answer is whole."""
        ...


class WholeAnswer(Struct, frozen=True):
    """An answer with its body."""

    head: AnswerHead
    body: bytes


class WholeHearer:
    """Waits for a whole answer, of a bounded size."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._head: AnswerHead | None = None
        self.done: asyncio.Future[WholeAnswer] = asyncio.get_running_loop().create_future()

    def begun(self, head: AnswerHead, /) -> None:
        """The head is there."""
        self._head = head

    def piece(self, data: bytes, /) -> None:
        """A part of the body."""
        self._size += len(data)
        if self._size > self._limit:
            raise ValueError(f"the answer has more than {self._limit} bytes")
        self._parts.append(data)

    def ended(self, why: str, /) -> None:
        """It is whole, or never will be."""
        if self.done.done():
            return
        if why or self._head is None:
            self.done.set_exception(ConnectionError(why or "there was no answer"))
        else:
            self.done.set_result(WholeAnswer(self._head, b"".join(self._parts)))
