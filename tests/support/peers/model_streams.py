"""Streams of model APIs for tests: how events are sent, what is judged in them, and what an agent gets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from interpose.doors.proxy.dialects import CHAT, GEMINI, MESSAGES, RESPONSES, Dialect
from interpose.doors.proxy.found_calls import PASSED, ChangedCall, FoundCall, Ruling, TextInstead
from interpose.doors.proxy.held_streams import COULD_NOT, HeldStream
from interpose.doors.proxy.openai_responses import Unanswered

_LOOP = asyncio.new_event_loop()
DIALECTS = {dialect.name: dialect for dialect in (MESSAGES, CHAT, RESPONSES, GEMINI)}


class Ruled:
    """Says one ruling after the other, then passes; `wrong` calls never pass. `calls` are those that it was asked."""

    def __init__(self, rulings: Iterable[Ruling] = ()) -> None:
        self._left = list(rulings)
        self.calls: list[FoundCall] = []
        self.let_through: list[FoundCall] = []

    def rule(self, call: FoundCall) -> Ruling:
        self.calls.append(call)
        ruling = self._left.pop(0) if self._left else TextInstead(call.wrong) if call.wrong else PASSED
        if ruling == PASSED:
            self.let_through.append(call)
        return ruling

    async def __call__(self, calls: Sequence[FoundCall]) -> list[Ruling]:
        return [self.rule(call) for call in calls]


def ruling_of(said: Any) -> Ruling:
    match said:
        case "pass":
            return PASSED
        case {"text": text}:
            return TextInstead(text)
        case {"arguments": arguments}:
            return ChangedCall(arguments)
        case _:
            raise AssertionError(f"there is no ruling {said!r}")


def sent(dialect: Dialect, event: dict[str, Any]) -> bytes:
    """An event as the server of this API sends it."""
    if "raw" in event:
        return str(event["raw"]).encode()
    data = json.dumps(event, ensure_ascii=False)
    if dialect.name == "gemini":
        return f"data: {data}\r\n\r\n".encode()
    name = f"event: {event['type']}\n" if dialect.name in ("anthropic", "responses") else ""
    return f"{name}data: {data}\n\n".encode()


def passed(dialect: Dialect, pieces: Iterable[bytes], judge: Any) -> tuple[bytes, str]:
    """What the agent gets of a stream, and why it was stopped, if it was."""

    async def coming() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    async def main() -> tuple[bytes, str]:
        held = HeldStream(dialect.stream(Unanswered()), judge)
        got = b"".join([part async for part in held.passed(coming())])
        return got, held.stopped

    got, stopped = _LOOP.run_until_complete(main())
    assert COULD_NOT not in stopped, stopped
    return got, stopped


def datas(stream: bytes) -> list[Any]:
    """The values of a stream, as a plain reader of events finds them."""
    found = []
    for block in stream.replace(b"\r\n", b"\n").split(b"\n\n"):
        lines = [line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")]
        if lines and lines != [b"[DONE]"]:
            found.append(json.loads(b"\n".join(lines)))
    return found
