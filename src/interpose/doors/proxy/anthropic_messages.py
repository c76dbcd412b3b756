"""Anthropic Messages: content blocks, whole or as `content_block_start`, `_delta`, `_stop`.

A client runs `tool_use`. `server_tool_use` and `mcp_tool_use` have run at Anthropic, with their results beside them. If
all calls of an answer became texts, `stop_reason` says that the turn has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from interpose.doors.proxy.call_smells import block_smells, elsewhere, no_call_in, smell_of
from interpose.doors.proxy.found_calls import (
    CallsToJudge,
    ChangedCall,
    FoundCall,
    JudgedAnswer,
    PassedCall,
    Ruling,
    StreamStep,
    TextInstead,
    json_call,
    object_call,
    unknown_call,
)
from interpose.doors.proxy.raw_events import RawEvent, rewritten, written
from interpose.doors.proxy.wire_values import DoubtfulError, number_in, object_in, objects_in, text_in, value_of

NAME = "anthropic"
_CALL = "tool_use"
_RUN_THERE = frozenset({"server_tool_use", "mcp_tool_use"})
_SAID = frozenset({"text", "thinking", "redacted_thinking", "container_upload", "compaction"})
_ENDED = "end_turn"
_DELTAS = frozenset({"text_delta", "thinking_delta", "signature_delta", "citations_delta", "compaction_delta"})
_ARGUMENTS = "input_json_delta"
MOST_BLOCKS = 10_000

BlockKind = Literal["said", "run there", "call", "unknown"]


def kind_of(block: dict[str, Any]) -> BlockKind:
    """What a block is to us."""
    kind = text_in(block.get("type"))
    if kind == _CALL:
        return "call"
    if kind in _RUN_THERE:
        return "run there"
    # Results of what ran there; a result that a client gives is no part of an answer.
    if kind in _SAID or kind.endswith("_tool_result"):
        return "unknown" if smell_of(block) else "said"
    return "unknown" if block_smells(block) else "said"


class _OpenBlock:
    """A block whose end has not come."""

    def __init__(self, kind: BlockKind, block: dict[str, Any], start: RawEvent) -> None:
        self.kind, self.block = kind, block
        self.held = [start]
        self.fragments: list[str] = []
        self.wrong = ""

    def call(self) -> FoundCall:
        block = self.block
        if self.kind == "unknown":
            return unknown_call(block.get("type"), block)
        if not self.fragments:
            return _call_in(block, self.wrong)
        twice = "its arguments stand in two places" if block.get("input") else elsewhere(block, "input")
        return json_call(block.get("id"), block.get("name"), "".join(self.fragments), wrong=self.wrong or twice)


def _call_in(block: dict[str, Any], wrong: str = "") -> FoundCall:
    return object_call(
        block.get("id"), block.get("name"), block.get("input"), wrong=wrong or elsewhere(block, "input")
    )  # fmt: skip


class MessagesStream:
    """A streamed answer."""

    waiting = b'event: ping\ndata: {"type":"ping"}\n\n'

    def __init__(self) -> None:
        self._open: dict[int, _OpenBlock] = {}
        self._newest, self._count = -1, 0
        self._held: int | None = None
        self._asked = self._kept = 0

    def event(self, event: RawEvent, /) -> Iterator[StreamStep]:
        """One event."""
        if event.data is None or event.says_nothing:
            yield event.raw
            return
        value = object_in(value_of(event.data), "an event")
        kind = text_in(value.get("type"))
        if event.name not in ("", kind):
            raise DoubtfulError("an event has one name in its head and another in its data")
        match kind:
            case "content_block_start":
                yield from self._start(event, value)
            case "content_block_delta":
                yield from self._delta(event, value)
            case "content_block_stop":
                yield from self._stop(event, value)
            case "message_start":
                message = object_in(value.get("message"), "message")
                no_call_in(value, "an event", "message")
                no_call_in(message, "a message", "content", "usage")
                if any(
                    kind_of(block) in ("call", "unknown") for block in objects_in(message.get("content"), "content")
                ):
                    raise DoubtfulError("it begins with a call that is whole already")
                yield event.raw
            case "message_delta":
                yield self._ended(event, value)
            case _:
                if found := smell_of(value):
                    raise DoubtfulError(f"an event that nobody knows has a call in it ({found})")
                yield event.raw

    def end(self) -> Iterator[StreamStep]:
        """A call without its end is no call."""
        if self._held is not None:
            raise DoubtfulError("it ended in the middle of a call")
        yield from ()

    def broken(self, why: str, /) -> bytes:
        """An error event."""
        error = {"type": "error", "error": {"type": "api_error", "message": why}}
        return b"event: error\ndata: %b\n\n" % msgspec.json.encode(error)

    def _start(self, event: RawEvent, value: dict[str, Any]) -> Iterator[StreamStep]:
        index = number_in(value.get("index"), "index")
        block = object_in(value.get("content_block"), "content_block")
        no_call_in(value, "an event", "content_block")
        # INVARIANT: some readers find a block by its number, some by its place in the list: both find the same.
        if index <= self._newest or self._held is not None or self._count >= MOST_BLOCKS:
            raise DoubtfulError("its blocks overlap, are not numbered in their order, or are too many")
        self._newest, self._count = index, self._count + 1
        kind = kind_of(block)
        opened = self._open[index] = _OpenBlock(kind, block, event)
        if kind in ("call", "unknown"):
            self._held = index
            return
        opened.held.clear()
        yield event.raw

    def _delta(self, event: RawEvent, value: dict[str, Any]) -> Iterator[StreamStep]:
        block = self._block(value)
        if value["index"] != self._newest:
            raise DoubtfulError("its blocks overlap")
        no_call_in(value, "an event", "delta")
        delta = object_in(value.get("delta"), "delta")
        kind = text_in(delta.get("type"))
        if block.kind in ("call", "unknown"):
            block.held.append(event)
            if kind == _ARGUMENTS and isinstance(part := delta.get("partial_json"), str):
                block.fragments.append(part)
            else:
                block.wrong = "a part of it is of a kind that nobody knows"
            return
        if kind == _ARGUMENTS:
            if block.kind != "run there":
                raise DoubtfulError("a block that is no call has arguments")
        elif kind not in _DELTAS and block_smells(delta):
            raise DoubtfulError("a part of a block that nobody knows looks like a call")
        yield event.raw

    def _stop(self, event: RawEvent, value: dict[str, Any]) -> Iterator[StreamStep]:
        index = number_in(value.get("index"), "index")
        block = self._block(value)
        del self._open[index]
        if block.kind not in ("call", "unknown"):
            yield event.raw
            return
        self._held = None
        block.held.append(event)
        yield CallsToJudge((block.call(),), lambda rulings: self._written(index, block, rulings[0]))

    def _block(self, value: dict[str, Any]) -> _OpenBlock:
        index = number_in(value.get("index"), "index")
        found = self._open.get(index)
        if found is None or (self._held is not None and self._held != index):
            raise DoubtfulError("its blocks overlap")
        return found

    def _written(self, index: int, block: _OpenBlock, ruling: Ruling) -> Iterator[bytes]:
        start, stop = block.held[0], block.held[-1]
        self._asked += 1
        self._kept += not isinstance(ruling, TextInstead)
        match ruling:
            case PassedCall():
                return iter([event.raw for event in block.held])
            case ChangedCall(arguments):
                begun = {"type": "content_block_start", "index": index, "content_block": {**block.block, "input": {}}}
                part = {"type": _ARGUMENTS, "partial_json": msgspec.json.encode(arguments).decode()}
            case TextInstead(text):
                begun = {
                    "type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}
                }  # fmt: skip
                part = {"type": "text_delta", "text": text}
        delta = {"type": "content_block_delta", "index": index, "delta": part}
        name = "content_block_delta" if start.name else ""
        before = {"type": "content_block_start", "index": index, "content_block": block.block}
        return iter([rewritten(start, before, begun), written(delta, start, name), stop.raw])

    def _ended(self, event: RawEvent, value: dict[str, Any]) -> bytes:
        if self._held is not None:
            raise DoubtfulError("it ended in the middle of a call")
        delta = object_in(value.get("delta"), "delta")
        if found := smell_of(value):
            raise DoubtfulError(f"its end has a call in it ({found})")
        if delta.get("stop_reason") == _CALL and self._asked and not self._kept:
            return written({**value, "delta": {**delta, "stop_reason": _ENDED}}, event)
        return event.raw


def judged(body: Any) -> JudgedAnswer:
    """A whole answer."""
    message = object_in(body, "the answer")
    if "content" not in message:
        if found := smell_of(message):
            raise DoubtfulError(f"it has a call where none belongs ({found})")
        return JudgedAnswer((), lambda _rulings: message)
    content = message["content"]
    blocks = [] if isinstance(content, str) else objects_in(content, "content")
    no_call_in(message, "a message", "content", "usage")
    kinds = [kind_of(block) for block in blocks]
    places = [at for at, kind in enumerate(kinds) if kind in ("call", "unknown")]
    calls = tuple(
        _call_in(blocks[at]) if kinds[at] == "call" else unknown_call(blocks[at].get("type"), blocks[at])
        for at in places
    )

    def written_with(rulings: Sequence[Ruling]) -> dict[str, Any]:
        new = list(blocks)
        for at, ruling in zip(places, rulings, strict=True):
            match ruling:
                case PassedCall():
                    pass
                case ChangedCall(arguments):
                    new[at] = {**blocks[at], "input": arguments}
                case TextInstead(text):
                    new[at] = {"type": "text", "text": text}
        none_left = all(block.get("type") != _CALL for block in new)
        ends = places and none_left and message.get("stop_reason") == _CALL
        return {**message, "content": new} | ({"stop_reason": _ENDED} if ends else {})

    return JudgedAnswer(calls, written_with)
