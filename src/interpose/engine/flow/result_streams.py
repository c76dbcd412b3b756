"""Results that come piece by piece: a generator or another iterator, an async one, an open file.

The agent reads a stream of ours in their place. Each piece passes tool.after before it is handed on; text is held back
until no secret can still be growing at its end. What came of the call is known, observed and recorded when the stream
ends (streamed_calls.py): by itself, with an error, or because nobody reads on.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import suppress
from typing import Any, Protocol, Self

from interpose.core.driving import Flow, drive, drive_async, is_awaitable
from interpose.core.errors import text_of
from interpose.core.formats.nested_values import NestedWalk, has_async_read, is_file, reads_at_once
from interpose.core.types import ToolOutcome, Verdict

KEPT = 64 * 1024
"""Characters of a stream that observers and records see of it."""
_CHUNK = 8192
_END: Any = object()

Ending = tuple[list[Any], BaseException | None]
"""What the reader gets last: pieces, and what is raised after them."""


class TextFilter(Protocol):
    """Sees text as it passes, and may hold back what has not ended yet."""

    def feed(self, data: bytes, *, hurry: bool) -> bytes:
        """What can be given out now."""

    def close(self) -> bytes:
        """The rest."""


class CallOfStreams(Protocol):
    """The call that streams belong to."""

    @property
    def outcome(self) -> ToolOutcome | None:
        """What came of it, when the last of them has ended."""

    def judge(self, piece: Any, /) -> Flow[tuple[Any, Verdict[ToolOutcome] | None]]:
        """What the agent gets of one piece, and what was said of it."""

    def ended(self, pieces: Pieces, error: BaseException | None, /) -> Flow[Ending]:
        """One of the streams has ended."""


class KeptPieces:
    """The beginning of what passed."""

    def __init__(self) -> None:
        self._pieces: list[Any] = []
        self._size = 0

    def add(self, piece: Any) -> None:
        """One more, if there is room."""
        if self._size < KEPT:
            self._pieces.append(piece)
            self._size += len(piece) if isinstance(piece, str | bytes) else 64

    @property
    def value(self) -> Any:
        """One text, or a list of pieces."""
        text = all(type(piece) is str for piece in self._pieces)
        return "".join(self._pieces) if text else list(self._pieces)


class Pieces:
    """What becomes of the pieces of one stream, written once for both ways to read them."""

    def __init__(self, call: CallOfStreams, filters: list[TextFilter]) -> None:
        self.call, self.filters = call, filters
        self.given, self.kept = KeptPieces(), KeptPieces()
        self.refusal: tuple[Any, Verdict[ToolOutcome]] | None = None
        """What is handed on instead of the piece that was refused, and why."""
        self.ended = False
        self._decode = getincrementaldecoder("utf-8")("surrogatepass")
        self._as_text = True
        self._filter_failed = False

    def take(self, piece: Any) -> Flow[tuple[list[Any], bool]]:
        """What can be handed on now that this piece came, and whether the stream goes on."""
        if isinstance(piece, bytearray | memoryview):
            piece = bytes(piece)
        self.given.add(piece)
        if isinstance(piece, str | bytes):
            before = [] if self._as_text is isinstance(piece, str) else self._rest()
            self._as_text = isinstance(piece, str)
            data = piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else piece
            return (yield from self._passed(before + self._shown(self._fed(data))))
        return (yield from self._passed([*self._rest(), piece]))

    def finish(self, error: BaseException | None = None) -> Flow[Ending]:
        """The rest of what was held back, and what the reader gets of the end. The outcome is known from here on."""
        if self.ended:
            return [], None
        self.ended = True  # before anything that could be interrupted: one outcome, once
        ready: list[Any] = []
        # INVARIANT: what a filter holds back goes out through it, or not at all.
        if not self._filter_failed and self.refusal is None:
            try:
                ready, _ = yield from self._passed(self._rest())
            except Exception as failed:  # noqa: BLE001 - it is the outcome
                error = error or failed
        last, problem = yield from self.call.ended(self, error)
        return ready + last, problem

    def _fed(self, data: bytes) -> bytes:
        try:
            for one in self.filters:
                data = one.feed(data, hurry=True)
        except BaseException:
            self._filter_failed = True
            raise
        return data

    def _rest(self) -> list[Any]:
        data = b""
        try:
            for one in self.filters:
                data = (one.feed(data, hurry=True) if data else b"") + one.close()
        except BaseException:
            self._filter_failed = True
            raise
        return self._shown(data, final=True)

    def _shown(self, data: bytes, *, final: bool = False) -> list[Any]:
        if not self._as_text:
            return [data] if data else []
        text = self._decode.decode(data, final)
        return [text] if text else []

    def _passed(self, pieces: list[Any]) -> Flow[tuple[list[Any], bool]]:
        ready: list[Any] = []
        for piece in pieces:
            shown, after = yield from self.call.judge(piece)
            self.kept.add(kept_instead_of_streams(shown))
            if after is not None and not after.allowed:
                self.refusal = shown, after
                return ready, False
            ready.append(shown)
        return ready, True

    def __del__(self) -> None:
        # Nobody reads it any more, and nobody said so: what came of the call is known from here on.
        if not self.ended:
            with suppress(Exception):
                drive(self.finish())


def stream_of(inner: Any, pieces: Pieces) -> ResultStream | AsyncResultStream:
    """The stream that the agent reads."""
    return ResultStream(inner, pieces) if reads_at_once(inner) else AsyncResultStream(inner, pieces)


class ResultStream:
    """A tool's iterator or file, read through tool.after. `outcome` is there when it has ended.

    INVARIANT: nothing that it holds leads back to it. It ends when the last reader lets go of it, not some time later
    in the midst of other work.
    """

    def __init__(self, inner: Any, pieces: Pieces) -> None:
        self._inner, self.pieces = inner, pieces
        self._parts = _read(inner, pieces)

    @property
    def outcome(self) -> ToolOutcome | None:
        """What came of the call; None while the stream goes on."""
        return self.pieces.call.outcome

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._parts)

    def read(self, size: int = -1) -> Any:
        """All that is left, as one text or one run of bytes; at most about `size` of it if that is given."""
        parts: list[Any] = []
        while size < 0 or sum(map(len, parts)) < size:
            part = next(self._parts, _END)
            if part is _END:
                break
            parts.append(part)
        return _joined(parts)

    def close(self) -> None:
        """Read no further. The outcome is what came so far."""
        self._parts.close()
        if not self.pieces.ended:  # it was never read at all
            drive(self.pieces.finish(_closed(self._inner)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not self.pieces.ended:
            with suppress(Exception):
                self.close()


def _read(inner: Any, pieces: Pieces) -> Generator[Any, None, None]:
    error: BaseException | None = None
    is_read = False
    try:
        for piece in _source(inner):
            ready, goes_on = drive(pieces.take(piece))
            yield from ready
            if not goes_on:
                break
        is_read = True
    except GeneratorExit:
        raise
    except BaseException as raised:  # noqa: BLE001 - what the reader gets of it is decided below
        error, is_read = raised, True
    finally:
        if not is_read:  # nobody reads on
            drive(pieces.finish(_closed(inner)))
    closing = _closed(inner)
    error = error or closing
    last, problem = drive(pieces.finish(error))
    del error, closing
    yield from last
    if problem is not None:
        raise problem  # INVARIANT: not inside `except`, where the error itself would hang on it


def _source(inner: Any) -> Iterator[Any]:
    if not is_file(inner):
        return _Nexts(inner)
    return iter(lambda: inner.read(_CHUNK), type(inner.read(0))())


class _Nexts:
    """An iterator, also one that has no `__iter__`."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return next(self._inner)


def _closed(inner: Any) -> BaseException | None:
    """Close what was read, if it can be closed. What that raises is an error like another."""
    try:
        close = getattr(inner, "close", None)
        if callable(close):
            close()
    except BaseException as error:  # noqa: BLE001 - it is the outcome
        return error
    return None


def _joined(parts: list[Any]) -> Any:
    """Text or bytes in one. What stands in for a piece, or for an error, is written as JSON there."""
    if parts and isinstance(parts[0], bytes):
        return b"".join(part if isinstance(part, bytes) else _written(part).encode() for part in parts)
    return "".join(map(_written, parts))


def _written(part: Any) -> str:
    import json

    if isinstance(part, str):
        return part
    return part.decode(errors="replace") if isinstance(part, bytes) else json.dumps(part, default=text_of)


class AsyncResultStream:
    """A tool's async iterator or reader, read through tool.after. `outcome` is there when it has ended."""

    def __init__(self, inner: Any, pieces: Pieces) -> None:
        import asyncio

        self._inner, self.pieces = inner, pieces
        self._parts = _read_async(inner, pieces)
        self._started = False
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    @property
    def outcome(self) -> ToolOutcome | None:
        """What came of the call; None while the stream goes on."""
        return self.pieces.call.outcome

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        self._started = True
        return await anext(self._parts)

    async def read(self, size: int = -1) -> Any:
        """All that is left, as one text or one run of bytes; at most about `size` of it if that is given."""
        parts: list[Any] = []
        while size < 0 or sum(map(len, parts)) < size:
            part = await anext(self, _END)
            if part is _END:
                break
            parts.append(part)
        return _joined(parts)

    async def aclose(self) -> None:
        """Read no further. The outcome is what came so far."""
        await self._parts.aclose()
        if not self.pieces.ended:
            await drive_async(self.pieces.finish(await _closed_async(self._inner)))

    def __del__(self) -> None:
        # One that was begun is closed by its event loop. Of one that was never read nobody knows but we.
        if self.pieces.ended or self._started or self._loop is None or not self._loop.is_running():
            return  # without a loop, its pieces end by themselves
        with suppress(RuntimeError):  # the loop was closed meanwhile
            self._loop.call_soon_threadsafe(_end_soon, self._loop, self._inner, self.pieces)


_ENDING: set[Any] = set()
"""Tasks that end streams: a loop keeps no task alive by itself."""


def _end_soon(loop: Any, inner: Any, pieces: Pieces) -> None:
    task = loop.create_task(_end_async(inner, pieces))
    _ENDING.add(task)
    task.add_done_callback(_ENDING.discard)


async def _end_async(inner: Any, pieces: Pieces) -> None:
    await drive_async(pieces.finish(await _closed_async(inner)))


async def _read_async(inner: Any, pieces: Pieces) -> AsyncGenerator[Any, None]:
    error: BaseException | None = None
    is_read = False
    try:
        async for piece in _source_async(inner):
            ready, goes_on = await drive_async(pieces.take(piece))
            for one in ready:
                yield one
            if not goes_on:
                break
        is_read = True
    except GeneratorExit:
        raise
    except BaseException as raised:  # noqa: BLE001 - what the reader gets of it is decided below
        error, is_read = raised, True
    finally:
        if not is_read:  # nobody reads on
            await drive_async(pieces.finish(await _closed_async(inner)))
    closing = await _closed_async(inner)
    error = error or closing
    last, problem = await drive_async(pieces.finish(error))
    del error, closing
    for one in last:
        yield one
    if problem is not None:
        raise problem  # INVARIANT: not inside `except`, where the error itself would hang on it


def _source_async(inner: Any) -> AsyncIterator[Any]:
    return _AsyncReads(inner) if has_async_read(inner) else _AsyncNexts(inner)


class _AsyncNexts:
    """An async iterator, also one that has no `__aiter__`."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner if hasattr(type(inner), "__anext__") else aiter(inner)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return await anext(self._inner)


class _AsyncReads:
    """Something with a `read` that is awaited."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if piece := await self._inner.read(_CHUNK):
            return piece
        raise StopAsyncIteration


class _InsteadOfStreams(NestedWalk):
    def stream(self, stream: Any) -> Any:
        return stream.pieces.kept if isinstance(stream, ResultStream | AsyncResultStream) else stream

    def withhold(self, value: Any, _kind: str) -> Any:
        return value


def kept_instead_of_streams(value: Any) -> Any:
    """A value with what is kept of each stream of ours in its place."""
    return value if isinstance(value, str | bytes) else _InsteadOfStreams().replaced(value)


async def _closed_async(inner: Any) -> BaseException | None:
    """Close what was read, if it can be closed. What that raises is an error like another."""
    try:
        close = getattr(inner, "aclose", None) or getattr(inner, "close", None)
        answer: Any = close() if callable(close) else None
        if is_awaitable(answer):
            await answer
    except BaseException as error:  # noqa: BLE001 - it is the outcome
        return error
    return None
