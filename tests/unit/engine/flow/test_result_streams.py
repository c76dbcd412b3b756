"""Results that come piece by piece are redacted as they are read, and their outcome is known when they end."""

from __future__ import annotations

import asyncio
import csv
import functools
import gc
import io
import itertools
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from interpose import (
    Allow,
    Engine,
    ToolCall,
    add_builtin_interceptors,
    create_interceptor_registry,
    guarded,
    open_ledger,
)
from interpose.core.errors import BlockedError, ToolError
from interpose.core.types import ToolOutcome
from interpose.record.ledger import search
from interpose.record.store.protocols import Query

SECRET = "ghp_" + "a1B2" * 9
CALL = ToolCall("exec", {"command": "tail -f log"})


class Kept:
    """A recorder that keeps outcomes."""

    def __init__(self) -> None:
        self.outcomes: list[ToolOutcome] = []
        self.afters: list[Any] = []

    def decided(self, _verdict: Any) -> None:
        return None

    def finished(self, _verdict: Any, outcome: ToolOutcome, after: Any) -> None:
        self.outcomes.append(outcome)
        self.afters.append(after)


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def engine(kept: Kept) -> Engine:
    return Engine(add_builtin_interceptors(create_interceptor_registry()), recorder=kept)


def pieces(*parts: Any) -> Iterator[Any]:
    yield from parts


CUT = [
    ("a whole line", ["key " + SECRET + "\n", "end"]),
    ("cut in two", ["key " + SECRET[:10], SECRET[10:] + "\nend"]),
    ("a letter at a time", list("key " + SECRET + "\nend")),
]


@pytest.mark.parametrize(("note", "parts"), CUT, ids=[note for note, _ in CUT])
def test_a_secret_is_hidden_however_it_is_cut(engine: Engine, kept: Kept, note: str, parts: list[str]) -> None:
    stream = engine.run_tool(CALL, lambda _: pieces(*parts))
    assert not stream.outcome, "nobody has read it yet"
    assert kept.outcomes == []
    text = "".join(stream)
    assert SECRET not in text
    assert text.startswith("key [redacted:github-personal-token:"), note
    assert text.endswith("\nend")
    assert stream.outcome.result == text
    assert [outcome.result for outcome in kept.outcomes] == [text], "one record, when it has ended"


def test_bytes_stay_bytes_and_other_pieces_keep_their_order(engine: Engine) -> None:
    stream = engine.run_tool(CALL, lambda _: pieces(b"key " + SECRET.encode() + b"\n", {"token": SECRET}, b"end"))
    first, second, last = list(stream)
    assert first.startswith(b"key [redacted:")
    assert second["token"].startswith("[redacted:")
    assert last == b"end"


def test_characters_that_are_cut_stay_whole(engine: Engine) -> None:
    assert "".join(engine.run_tool(CALL, lambda _: pieces("zwölf\n", "große\n"))) == "zwölf\ngroße\n"


def broken() -> Iterator[str]:
    yield "one\n"
    yield "two"
    raise OSError(f"gone with {SECRET}")


async def broken_async() -> AsyncIterator[str]:
    for piece in ("one\n", "two"):
        yield piece
    raise OSError(f"gone with {SECRET}")


async def all_of(stream: Any) -> list[Any]:
    return [piece async for piece in stream]


def read_async(make: Any) -> Any:
    """What an async reader gets of what `make` returns."""

    async def main() -> list[Any]:
        return await all_of(await make())

    return asyncio.run(main())


@pytest.mark.parametrize("use_async", [False, True])
def test_an_error_is_the_last_piece_and_the_outcome_without_its_secrets(
    engine: Engine, kept: Kept, use_async: bool
) -> None:
    if use_async:
        pieces = read_async(lambda: engine.arun_tool(CALL, lambda _: broken_async()))
    else:
        pieces = list(engine.run_tool(CALL, lambda _: broken()))
    assert pieces[:2] == ["one\n", "two"], "what came before the error is not lost with it"
    assert (pieces[2]["status"], pieces[2]["tool"]) == ("error", "exec")
    assert pieces[2]["error"].startswith("gone with [redacted:github-personal-token:")
    assert len(pieces) == 3
    (outcome,) = kept.outcomes
    assert (outcome.is_error, outcome.result) == (True, pieces[2])
    assert isinstance(outcome.error, OSError), "the exception itself, for programs"


def test_a_file_that_fails_is_read_to_its_error(engine: Engine) -> None:
    class Failing(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            if size:
                raise OSError(f"no {SECRET}")
            return b""

    assert json.loads(engine.run_tool(CALL, lambda _: Failing()).read())["error"].startswith("no [redacted:")


def test_guarded_generators_return_or_raise_like_other_tools(engine: Engine) -> None:
    @guarded("tail", engine=engine)
    def returning() -> Iterator[str]:
        return broken()

    assert list(returning())[-1]["status"] == "error"

    @guarded("tail", engine=engine, on_error="raise")
    def raising() -> Iterator[str]:
        return broken()

    stream = raising()
    assert [next(stream), next(stream)] == ["one\n", "two"]
    with pytest.raises(ToolError, match=r"gone with \[redacted:") as caught:
        next(stream)
    assert caught.value.__context__ is None, "the error itself does not hang on it"

    @guarded("tail", engine=engine, on_error="raise")
    async def raising_async() -> AsyncIterator[str]:
        return broken_async()

    with pytest.raises(ToolError, match=r"gone with \[redacted:"):
        read_async(raising_async)

    @guarded("tail", engine=engine, on_error="raise")
    def plain() -> Iterator[str]:
        yield "one"
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(plain())


def test_guarded_streams_that_are_refused_return_or_raise(kept: Kept) -> None:
    registry = create_interceptor_registry()

    @registry.on("tool.after", id="bombs")
    def stop(_input: Any, output: Any) -> None:
        if "error" in output.result:
            raise ZeroDivisionError("the interceptor's own")
        output.block = "bomb" in output.result

    engine = Engine(registry, recorder=kept)

    @guarded("tail", engine=engine, on_block="raise", on_error="raise")
    def tail(*parts: str) -> Iterator[str]:
        yield from parts

    stream = tail("fine", "a bomb", "more")
    assert next(stream) == "fine"
    with pytest.raises(BlockedError):
        next(stream)
    with pytest.raises(ZeroDivisionError):
        list(tail("error"))
    assert isinstance(kept.outcomes[-1].error, ZeroDivisionError)


def test_what_closing_raises_does_not_hide_what_reading_raised(engine: Engine) -> None:
    class Closing(Nexts):
        def close(self) -> None:
            raise ValueError(f"closed with {SECRET}")

        def __next__(self) -> Any:
            if not (piece := next(self._parts)):
                raise OSError("gone")
            return piece

    assert [piece["error"] for piece in engine.run_tool(CALL, lambda _: Closing(""))] == ["gone"]
    first, last = engine.run_tool(CALL, lambda _: Closing("a\n"))
    assert first == "a\n"
    assert last["error"].startswith("closed with [redacted:")


def test_interrupts_pass_and_are_the_outcome(engine: Engine, kept: Kept) -> None:
    def interrupted() -> Iterator[str]:
        yield "one\n"
        raise KeyboardInterrupt

    stream = engine.run_tool(CALL, lambda _: interrupted())
    assert next(stream) == "one\n"
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert [outcome.is_error for outcome in kept.outcomes] == [True]


def test_one_verdict_of_all_pieces_is_recorded(engine: Engine, kept: Kept) -> None:
    assert SECRET not in "".join(engine.run_tool(CALL, lambda _: pieces(SECRET + "\n", "fine\n", SECRET + "\n")))
    list(engine.run_tool(CALL, lambda _: pieces({"token": SECRET}, {"token": SECRET})))
    list(engine.run_tool(CALL, lambda _: broken()))
    list(engine.run_tool(CALL, lambda _: pieces("fine")))
    streams = [after for after in kept.afters if after is not None]
    assert [(after.outcome, after.rule) for after in streams] == [("rewrite", "secret-redaction")] * 3 + [("allow", "")]
    assert [finding.reason for finding in streams[0].findings] == ["hid 2 secrets: github-personal-token (2)"]
    assert len(streams[1].findings) == 1, "the same is said once"
    assert streams[0].original is not None
    assert streams[0].original.result == f"{SECRET}\nfine\n{SECRET}\n", "what the tool gave"


def test_the_ledger_finds_a_stream_by_the_rule_that_hid_something(tmp_path: Path) -> None:
    with open_ledger(tmp_path) as ledger:
        engine = Engine(add_builtin_interceptors(create_interceptor_registry()), recorder=ledger.recorder)
        list(engine.run_tool(ToolCall("exec", {"command": "a"}, "stream"), lambda _: pieces(SECRET)))
        engine.run_tool(ToolCall("exec", {"command": "b"}, "plain"), lambda _: SECRET)
        engine.run_tool(ToolCall("exec", {"command": "c"}, "nested"), lambda _: {"log": pieces(SECRET)})["log"].read()
        engine.run_tool(ToolCall("exec", {"command": "d"}, "quiet"), lambda _: pieces("fine"))
        ledger.flush()
        found = search(ledger.store, Query(rule="secret-redaction"), 10)
    assert {record.call_id for record in found} == {"stream", "plain", "nested"}


def test_who_reads_no_further_ends_it(engine: Engine, kept: Kept) -> None:
    closed: list[bool] = []

    def endless() -> Iterator[str]:
        try:
            while True:
                yield "again\n"
        finally:
            closed.append(True)

    with engine.run_tool(CALL, lambda _: endless()) as stream:
        assert next(stream) == "again\n"
    assert closed == [True]
    assert [outcome.result for outcome in kept.outcomes] == ["again\n"]
    engine.run_tool(CALL, lambda _: endless()).close()
    assert len(kept.outcomes) == 2, "one that was never read has an outcome, too"


def test_a_refusal_in_tool_after_ends_the_stream(kept: Kept) -> None:
    registry = create_interceptor_registry()

    @registry.on("tool.after")
    def stop(_input: Any, output: Any) -> None:
        output.block = "bomb" in output.result

    stream = Engine(registry, recorder=kept).run_tool(CALL, lambda _: pieces("fine", "a bomb", "more"))
    got = list(stream)
    assert got[0] == "fine"
    assert got[1]["status"] == "withheld"
    assert len(got) == 2
    assert len(kept.outcomes) == 1


def test_a_file_is_read_through(engine: Engine) -> None:
    stream = engine.run_tool(CALL, lambda _: io.StringIO(f"key {SECRET}\nend"))
    text = stream.read()
    assert SECRET not in text
    assert text.endswith("\nend")
    assert engine.run_tool(CALL, lambda _: io.BytesIO(b"abc")).read() == b"abc"


def test_an_async_generator(engine: Engine, kept: Kept) -> None:
    async def slowly() -> AsyncIterator[str]:
        for part in ("key " + SECRET[:12], SECRET[12:], "\nend"):
            await asyncio.sleep(0)
            yield part

    async def main() -> tuple[str, Any]:
        stream = await engine.arun_tool(CALL, lambda _: slowly())
        assert stream.outcome is None
        return "".join([part async for part in stream]), stream.outcome

    text, outcome = asyncio.run(main())
    assert SECRET not in text
    assert text.endswith("\nend")
    assert outcome.result == text
    assert len(kept.outcomes) == 1


def test_an_async_generator_that_nobody_reads_to_its_end(engine: Engine, kept: Kept) -> None:
    async def endless() -> AsyncIterator[str]:
        while True:
            yield "again\n"

    async def main() -> None:
        stream = await engine.arun_tool(CALL, lambda _: endless())
        assert await anext(stream) == "again\n"
        await stream.aclose()

    asyncio.run(main())
    assert [outcome.result for outcome in kept.outcomes] == ["again\n"]


def test_a_filter_that_fails_withholds_the_stream(kept: Kept) -> None:
    class Broken:
        def intercept(self, _outcome: ToolOutcome) -> Any:
            return Allow()

        def text_filter(self, _call: ToolCall) -> Any:
            raise RuntimeError("no patterns")

    registry = create_interceptor_registry()
    registry.add(id="broken", name="tool.after", interceptor=Broken())
    answer = Engine(registry, recorder=kept).run_tool(CALL, lambda _: pieces(SECRET))
    assert answer == {"status": "error", "tool": "exec", "error": "no patterns"}


class Collection:
    """Can be iterated again and again, in both ways: no stream, and none of ours."""

    def __iter__(self) -> Iterator[str]:
        return iter("ab")

    def __aiter__(self) -> AsyncIterator[str]:
        return slow("a", "b")


def test_what_can_be_iterated_again_and_again_is_no_stream(engine: Engine) -> None:
    given = Collection()
    assert engine.run_tool(CALL, lambda _: given) is given


def test_where_nobody_looks_the_generator_is_handed_on() -> None:
    given = pieces("a")
    assert Engine().run_tool(CALL, lambda _: given) is given


# --- what is a stream ------------------------------------------------------------------------------------------------


class Nexts:
    """Has `__next__` and nothing else."""

    def __init__(self, *parts: Any) -> None:
        self._parts = iter(parts)

    def __next__(self) -> Any:
        return next(self._parts)


class AsyncNexts(Nexts):
    """Has `__anext__` and nothing else."""

    __next__ = None  # type: ignore[assignment]

    async def __anext__(self) -> Any:
        for part in self._parts:
            return part
        raise StopAsyncIteration


class AsyncReader:
    """Has a `read` that is awaited."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def read(self, size: int) -> str:
        text, self._text = self._text[:size], self._text[size:]
        return text


SYNC: dict[str, Callable[[], Any]] = {
    "chain": lambda: itertools.chain([SECRET], ["end"]),
    "islice": lambda: itertools.islice([SECRET], 1),
    "tee": lambda: itertools.tee([SECRET])[0],
    "iter of a list": lambda: iter([SECRET]),
    "iter of a function": lambda: iter(functools.partial(next, iter([SECRET, ""])), ""),
    "enumerate": lambda: enumerate([SECRET]),
    "reversed": lambda: reversed([SECRET]),
    "map": lambda: map(str, [SECRET]),
    "a class with __next__": lambda: Nexts(SECRET),
    "csv": lambda: csv.reader([SECRET]),
    "a file": lambda: io.StringIO(SECRET),
}
ASYNC: dict[str, Callable[[], Any]] = {
    "a class with __anext__": lambda: AsyncNexts(SECRET),
    "a class with an async read": lambda: AsyncReader(SECRET),
}


@pytest.mark.parametrize("note", SYNC)
def test_every_iterator_is_redacted_as_it_is_read(engine: Engine, kept: Kept, note: str) -> None:
    stream = engine.run_tool(CALL, lambda _: SYNC[note]())
    got = repr(list(stream))
    assert SECRET not in got
    assert "[redacted:github-personal-token:" in got
    assert SECRET not in repr(kept.outcomes[0].result)


@pytest.mark.parametrize("note", ASYNC)
def test_every_async_iterator_is_redacted_as_it_is_read(engine: Engine, note: str) -> None:
    got = repr(read_async(lambda: engine.arun_tool(CALL, lambda _: ASYNC[note]())))
    assert SECRET not in got
    assert "[redacted:github-personal-token:" in got


def test_the_reader_of_asyncio(engine: Engine) -> None:
    async def main() -> bytes:
        reader = asyncio.StreamReader(limit=64)
        reader.feed_data(SECRET.encode() + b" " + b"x" * 200)
        reader.feed_data(b"\n" + SECRET.encode())
        reader.feed_eof()
        stream = await engine.arun_tool(CALL, lambda _: reader)
        got: bytes = await stream.read()
        return got

    assert SECRET.encode() not in asyncio.run(main())


@dataclass(frozen=True)
class Holder:
    name: str
    lines: Any


class Uncopied(Holder):
    def __copy__(self) -> Uncopied:
        return self


NESTED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "a mapping": (lambda it: {"a": it}, lambda got: got["a"]),
    "a list": (lambda it: [it], lambda got: got[0]),
    "a tuple in a mapping": (lambda it: {"a": (1, it)}, lambda got: got["a"][1]),
    "a dataclass": (lambda it: Holder("x", it), lambda got: got.lines),
    "a deque": (lambda it: deque([it]), lambda got: got[0]),
    "a namespace": (lambda it: SimpleNamespace(a=it), lambda got: got.a),
    "a read-only mapping": (lambda it: MappingProxyType({"a": it}), lambda got: got["a"]),
    "a stream of streams": (lambda it: iter([{"a": it}]), lambda got: next(got)["a"]),
}


@pytest.mark.parametrize("note", NESTED)
def test_streams_inside_of_results_are_read_through(engine: Engine, kept: Kept, note: str) -> None:
    around, inside = NESTED[note]
    made = around(pieces("key " + SECRET[:9], SECRET[9:] + "\nend"))
    got = engine.run_tool(CALL, lambda _: made)
    assert note == "a stream of streams" or type(got) is type(made)
    stream = inside(got)
    if note != "a stream of streams":
        assert kept.outcomes == [], "it is recorded when the last has ended"
    text = "".join(stream)
    assert SECRET not in text
    assert text.startswith("key [redacted:github-personal-token:")
    del got, stream
    assert len(kept.outcomes) == 1
    if note != "a stream of streams":
        assert inside(kept.outcomes[0].result) == text, "the record has what was read"
        assert kept.afters[0].rule == "secret-redaction"


def test_the_outcome_of_two_streams_comes_with_the_last(engine: Engine, kept: Kept) -> None:
    done = engine.run().run_tool(CALL, lambda _: {"out": pieces("out"), "err": broken(), "token": SECRET})
    assert done.response["token"].startswith("[redacted:")
    assert list(done.response["out"]) == ["out"]
    assert kept.outcomes == []
    assert list(done.response["err"])[-1]["status"] == "error"
    (outcome,) = kept.outcomes
    assert done.response["out"].outcome is outcome
    assert outcome.is_error
    assert outcome.result["out"] == "out"
    assert SECRET not in repr(outcome.result)


def test_the_same_generator_twice_is_one_stream(engine: Engine) -> None:
    one = pieces("a", "b")
    got = engine.run_tool(CALL, lambda _: [one, one])
    assert got[0] is got[1]


def test_a_stream_that_nobody_can_put_behind_us_is_withheld_with_a_reason(engine: Engine) -> None:
    got = engine.run_tool(CALL, lambda _: {"a": Uncopied("x", pieces(SECRET))})
    assert got["a"]["status"] == "withheld"
    assert got["a"]["reason"] == "Uncopied holds a stream that can't be put behind tool.after"


def test_a_host_that_runs_its_tools_itself_gets_streams_too(engine: Engine) -> None:
    run = engine.run()
    verdict = run.before(CALL)
    shown = run.after(ToolOutcome(verdict.payload, pieces(SECRET))).response
    assert SECRET not in "".join(shown)


def test_a_withheld_result_with_streams_is_recorded(kept: Kept) -> None:
    registry = create_interceptor_registry()
    registry.add(id="no", name="tool.after", handler=lambda _i, o: setattr(o, "block", True))
    answer = Engine(registry, recorder=kept).run_tool(CALL, lambda _: {"a": pieces("x")})
    assert answer["status"] == "withheld"
    assert [outcome.result["status"] for outcome in kept.outcomes] == ["withheld"]


# --- what nobody reads -----------------------------------------------------------------------------------------------


async def slow(*parts: str) -> AsyncIterator[str]:
    for part in parts:
        yield part


@pytest.mark.parametrize("note", ["dropped in the loop", "kept until the loop has ended", "dropped after one piece"])
def test_an_async_stream_that_nobody_reads_has_an_outcome(engine: Engine, kept: Kept, note: str) -> None:
    async def main() -> Any:
        stream = await engine.arun_tool(CALL, lambda _: slow("a\n", "b\n"))
        if note == "dropped after one piece":
            assert await anext(stream) == "a\n"
        if note == "kept until the loop has ended":
            return stream
        del stream
        if note == "dropped in the loop":
            while not kept.outcomes:
                await asyncio.sleep(0)
        return None

    left = asyncio.run(main())
    assert bool(kept.outcomes) is (left is None)
    del left
    assert len(kept.outcomes) == 1


def test_a_stream_that_nobody_reads_ends_when_its_reader_lets_go(engine: Engine, kept: Kept) -> None:
    gc.disable()
    try:
        stream = engine.run_tool(CALL, lambda _: pieces("a\n", "b\n"))
        assert next(stream) == "a\n"
        del stream
        assert [outcome.result for outcome in kept.outcomes] == ["a\n"], "at once, without the garbage collector"
    finally:
        gc.enable()
