"""Results that come piece by piece are redacted as they are read, and their outcome is known when they end."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from interpose import Allow, Engine, ToolCall, add_builtin_interceptors, create_interceptor_registry
from interpose.types import ToolOutcome

SECRET = "ghp_" + "a1B2" * 9
CALL = ToolCall("exec", {"command": "tail -f log"})


class Kept:
    """A recorder that keeps outcomes."""

    def __init__(self) -> None:
        self.outcomes: list[ToolOutcome] = []

    def decided(self, _verdict: Any) -> None:
        return None

    def finished(self, _verdict: Any, outcome: ToolOutcome, _after: Any) -> None:
        self.outcomes.append(outcome)


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


def test_an_error_is_raised_where_it_happens_and_is_the_outcome(engine: Engine, kept: Kept) -> None:
    def broken() -> Iterator[str]:
        yield "one\n"
        raise OSError("gone")

    stream = engine.run_tool(CALL, lambda _: broken())
    assert next(stream) == "one\n"
    with pytest.raises(OSError, match="gone"):
        next(stream)
    assert [(outcome.is_error, str(outcome.error)) for outcome in kept.outcomes] == [(True, "gone")]


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

        def text_filter(self) -> Any:
            raise RuntimeError("no patterns")

    registry = create_interceptor_registry()
    registry.add(id="broken", name="tool.after", interceptor=Broken())
    answer = Engine(registry, recorder=kept).run_tool(CALL, lambda _: pieces(SECRET))
    assert answer == {"status": "error", "tool": "exec", "error": "no patterns"}


def test_where_nobody_looks_the_generator_is_handed_on() -> None:
    given = pieces("a")
    assert Engine().run_tool(CALL, lambda _: given) is given
