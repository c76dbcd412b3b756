"""Results that come piece by piece: a generator, an async generator, an open file.

The agent reads a stream of ours in their place. Each piece passes tool.after before it is handed on; text is held back
until no secret can still be growing at its end. What came of the call is known, observed and recorded when the stream
ends: by itself, with an error, or because nobody reads on.
"""

from __future__ import annotations

import io
import sys
from codecs import getincrementaldecoder
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import suppress
from types import AsyncGeneratorType, GeneratorType
from typing import Any, Protocol, Self

from interpose.driving import Flow, drive, drive_async
from interpose.types import ToolOutcome

KEPT = 64 * 1024
"""Characters of a stream that observers and records see of it."""
_CHUNK = 8192

_ANY_FILE = io.IOBase.__mro__[1]
"""What every file descends from, those written in C too."""
_STREAMS = (GeneratorType, AsyncGeneratorType, map, filter, zip, _ANY_FILE)
_LINEAGE = type.__dict__["__mro__"]

Judge = Callable[[Any], Flow[tuple[Any, bool]]]
"""What the agent gets of one piece, and whether the stream goes on."""
End = Callable[[Any, BaseException | None], Flow[ToolOutcome]]
"""Observe and record what came of the call."""


class TextFilter(Protocol):
    """Sees text as it passes, and may hold back what has not ended yet."""

    def feed(self, data: bytes, *, hurry: bool) -> bytes:
        """What can be given out now."""

    def close(self) -> bytes:
        """The rest."""


def is_stream(result: object) -> bool:
    """Whether a result comes piece by piece. Asked of the type itself: its metaclass could say anything, or raise."""
    lineage = _LINEAGE.__get__(type(result))
    return any(kind is one for kind in lineage for one in (*_STREAMS, *_temporary_files()))


def _temporary_files() -> tuple[type, ...]:
    """The files of `tempfile`, which are no subclasses of files. None exist while nobody has imported it."""
    tempfile: Any = sys.modules.get("tempfile")
    if tempfile is None:
        return ()
    return tempfile.SpooledTemporaryFile, tempfile._TemporaryFileWrapper  # noqa: SLF001 - it has no public name


def stream_of(result: Any, filters: list[TextFilter], judge: Judge, end: End) -> ResultStream | AsyncResultStream:
    """The stream that the agent reads."""
    pieces = _Pieces(filters, judge, end)
    return AsyncResultStream(result, pieces) if type(result) is AsyncGeneratorType else ResultStream(result, pieces)


class _Pieces:
    """What becomes of the pieces, written once for both ways to read them."""

    def __init__(self, filters: list[TextFilter], judge: Judge, end: End) -> None:
        self._filters, self._judge, self._end = filters, judge, end
        self._decode = getincrementaldecoder("utf-8")("surrogatepass")
        self._as_text = True
        self._kept: list[Any] = []
        self._size = 0
        self._ended = False
        self.outcome: ToolOutcome | None = None
        """What came of the call; None while the stream goes on."""

    def take(self, piece: Any) -> Flow[tuple[list[Any], bool]]:
        """What can be handed on now that this piece came, and whether the stream goes on."""
        if isinstance(piece, bytearray | memoryview):
            piece = bytes(piece)
        if isinstance(piece, str | bytes):
            self._as_text = isinstance(piece, str)
            data = piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece
            for one in self._filters:
                data = one.feed(data, hurry=True)
            return (yield from self._passed(self._shown(data)))
        ready, goes_on = yield from self._passed(self._rest())
        if not goes_on:
            return ready, False
        others, goes_on = yield from self._passed([piece])
        return ready + others, goes_on

    def finish(self, error: BaseException | None = None) -> Flow[list[Any]]:
        """The rest of what was held back. The outcome is known from here on."""
        if self._ended:
            return []
        self._ended = True  # before anything that could be interrupted: one outcome, once
        ready, _ = ([], False) if error is not None else (yield from self._passed(self._rest()))
        text = all(type(piece) is str for piece in self._kept)
        self.outcome = yield from self._end("".join(self._kept) if text else list(self._kept), error)
        return ready

    def _rest(self) -> list[Any]:
        data = b""
        for one in self._filters:
            data = (one.feed(data, hurry=True) if data else b"") + one.close()
        return self._shown(data, final=True)

    def _shown(self, data: bytes, *, final: bool = False) -> list[Any]:
        if not self._as_text:
            return [data] if data else []
        text = self._decode.decode(data, final)
        return [text] if text else []

    def _passed(self, pieces: list[Any]) -> Flow[tuple[list[Any], bool]]:
        ready: list[Any] = []
        for piece in pieces:
            shown, goes_on = yield from self._judge(piece)
            ready.append(shown)
            if self._size < KEPT:
                self._kept.append(shown)
                self._size += len(shown) if isinstance(shown, str | bytes) else 64
            if not goes_on:
                return ready, False
        return ready, True


class ResultStream:
    """A tool's generator or file, read through tool.after. `outcome` is there when it has ended."""

    def __init__(self, inner: Any, pieces: _Pieces) -> None:
        self._inner, self._pieces = inner, pieces
        self._parts = self._read()

    @property
    def outcome(self) -> ToolOutcome | None:
        """What came of the call; None while the stream goes on."""
        return self._pieces.outcome

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._parts)

    def read(self, size: int = -1) -> Any:
        """All that is left, as one text or one run of bytes; at most about `size` of it if that is given."""
        parts: list[Any] = []
        while size < 0 or sum(map(len, parts)) < size:
            part = next(self._parts, None)
            if part is None:
                break
            parts.append(part)
        return (b"" if parts and isinstance(parts[0], bytes) else "").join(parts)

    def close(self) -> None:
        """Read no further. The outcome is what came so far."""
        self._parts.close()
        if self.outcome is None:  # it was never read at all
            self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _read(self) -> Generator[Any, None, None]:
        try:
            for piece in self._source():
                ready, goes_on = drive(self._pieces.take(piece))
                yield from ready
                if not goes_on:
                    return
            yield from drive(self._pieces.finish())
        except GeneratorExit:
            raise
        except BaseException as error:
            drive(self._pieces.finish(error))
            raise
        finally:
            self._stop()

    def _source(self) -> Iterator[Any]:
        if hasattr(self._inner, "read"):
            read: Any = self._inner.read
            return iter(lambda: read(_CHUNK), type(read(0))())
        return iter(self._inner)

    def _stop(self) -> None:
        try:
            getattr(self._inner, "close", _nothing)()
        finally:
            drive(self._pieces.finish())

    def __del__(self) -> None:
        if self.outcome is None:  # nobody reads it any more: what came of the call is known from here on
            with suppress(Exception):
                self.close()


def _nothing() -> None:
    """What has no `close` needs none."""


class AsyncResultStream:
    """A tool's async generator, read through tool.after. `outcome` is there when it has ended."""

    def __init__(self, inner: Any, pieces: _Pieces) -> None:
        self._inner, self._pieces = inner, pieces
        self._parts = self._read()

    @property
    def outcome(self) -> ToolOutcome | None:
        """What came of the call; None while the stream goes on."""
        return self._pieces.outcome

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return await anext(self._parts)

    async def aclose(self) -> None:
        """Read no further. The outcome is what came so far."""
        await self._parts.aclose()
        if self.outcome is None:
            await self._stop()

    async def _read(self) -> AsyncGenerator[Any, None]:
        try:
            async for piece in self._inner:
                ready, goes_on = await drive_async(self._pieces.take(piece))
                for one in ready:
                    yield one
                if not goes_on:
                    return
            for one in await drive_async(self._pieces.finish()):
                yield one
        except GeneratorExit:
            raise
        except BaseException as error:
            await drive_async(self._pieces.finish(error))
            raise
        finally:
            await self._stop()

    async def _stop(self) -> None:
        try:
            await self._inner.aclose()
        finally:
            await drive_async(self._pieces.finish())
