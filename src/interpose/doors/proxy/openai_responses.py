"""OpenAI Responses: items of output, whole or as `response.output_item.added`, parts, `response.output_item.done`.

Clients differ in what they read: some only the end of an item, some its parts, some the last event, which has all items
once more. INVARIANT: an item is passed on only if all of them would find the same call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from interpose.doors.hooks.hosts.result_shapes import texts_in
from interpose.doors.proxy.call_smells import no_call_in, smell_of, type_smells
from interpose.doors.proxy.found_calls import (
    CallsToJudge,
    ChangedCall,
    FoundCall,
    JudgedAnswer,
    PassedCall,
    Ruling,
    StreamStep,
    TextInstead,
    unknown_call,
)
from interpose.doors.proxy.raw_events import RawEvent, written
from interpose.doors.proxy.response_items import answer_to, call_in, is_run_there, ruled_item, text_part
from interpose.doors.proxy.wire_values import DoubtfulError, number_in, object_in, objects_in, text_in, value_of

NAME = "responses"
MOST_ITEMS = 10_000
_MOST_IDS = 8
_ADDED, _DONE = "response.output_item.added", "response.output_item.done"
_RUN_THERE = (
    "response.web_search_call.", "response.file_search_call.", "response.code_interpreter_call",
    "response.image_generation_call.", "response.mcp_call", "response.mcp_list_tools.",
)  # fmt: skip
_ABOUT = frozenset({"type", "item_id", "output_index", "sequence_number", "obfuscation", "delta"})
"""What an event about a part of a call says that is no part of the call."""


class Unanswered:
    """Calls that became texts here, and that a server still waits for. `ids` are the answers that they belong to."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.items: list[dict[str, Any]] = []

    def heard(self, response: Mapping[str, Any]) -> None:
        """An answer says its name, and that of its conversation."""
        conversation = response.get("conversation")
        named = (response.get("id"), conversation.get("id") if isinstance(conversation, dict) else conversation)
        if len(self.ids) < _MOST_IDS:
            self.ids.update(name for name in named if isinstance(name, str) and name)

    def refused(self, item: Mapping[str, Any], ruling: Ruling) -> None:
        """What became of an item."""
        answer = answer_to(item, ruling.text) if isinstance(ruling, TextInstead) else None
        if answer is not None and answer not in self.items:
            self.items.append(answer)


class _OpenItem:
    """A call whose end has not come."""

    def __init__(self) -> None:
        self.held: list[RawEvent] = []
        self.values: list[dict[str, Any]] = []

    def add(self, event: RawEvent, value: dict[str, Any]) -> None:
        self.held.append(event)
        self.values.append(value)

    def call(self, item: dict[str, Any]) -> FoundCall:
        """The call that it is, now that its end is there."""
        found = call_in(item)
        if found is None:
            return unknown_call(item.get("type"), item)  # it began as a call, and ends as something else
        return replace(found, wrong=found.wrong or self._wrong(item))

    def _wrong(self, item: dict[str, Any]) -> str:
        """Why readers of its parts would find another call than readers of its end; empty if they would not."""
        whole = {*texts_in(item), ""}
        joined: dict[tuple[str, ...], list[str]] = {}
        for value in self.values:
            if value.get("type") in (_ADDED, _DONE):
                begun = object_in(value.get("item"), "item")
                if not whole.issuperset(texts_in({key: part for key, part in begun.items() if key != "status"})):
                    return "it begins as another call than it ends"
                continue
            if isinstance(delta := value.get("delta"), str):
                numbers = tuple(
                    f"{key}={part}" for key, part in value.items() if type(part) is int and key not in _ABOUT
                )
                joined.setdefault((text_in(value.get("type")), *numbers), []).append(delta)
            if not whole.issuperset(texts_in({key: part for key, part in value.items() if key not in _ABOUT})):
                return "a part of it says something else than its end"
        return "" if whole.issuperset(map("".join, joined.values())) else "its parts say something else than its end"


class ResponsesStream:
    """A streamed answer."""

    waiting = b": interpose asks a person\n\n"

    def __init__(self, unanswered: Unanswered) -> None:
        self.unanswered = unanswered
        self._held: tuple[int, _OpenItem] | None = None
        self._later: list[RawEvent] = []
        self._begun: set[int] = set()
        self._done: set[int] = set()
        self._run_there: set[int] = set()
        self._ruled: dict[int, tuple[FoundCall | None, Ruling]] = {}
        self._last = 0

    def event(self, event: RawEvent, /) -> Iterator[StreamStep]:
        """One event."""
        if event.data is None or event.says_nothing:
            yield event.raw
            return
        value = object_in(value_of(event.data), "an event")
        kind, index = text_in(value.get("type")), value.get("output_index")
        if event.name not in ("", kind):
            raise DoubtfulError("an event has one name in its head and another in its data")
        if index is not None:
            number_in(index, "output_index")
        if type(number := value.get("sequence_number")) is int:
            self._last = number
        if "response" in value and kind not in (_ADDED, _DONE) and not self._is_part(value):
            # What was held and has no end is left out: the whole answer that comes now is judged instead.
            self._held = None
            yield from self._again()
            self._held, self._later = None, []
            yield from self._whole(event, value)
        elif self._held is not None and index != self._held[0]:
            self._later.append(event)
        elif self._held is not None or kind in (_ADDED, _DONE) or self._is_part(value):
            yield from self._item(event, value, number_in(index, "output_index"))
        else:
            if found := smell_of(value):
                raise DoubtfulError(f"an event that nobody knows has a call in it ({found})")
            yield event.raw

    def end(self) -> Iterator[StreamStep]:
        """A call without its end is no call."""
        if self._held is not None:
            raise DoubtfulError("it ended in the middle of a call")
        yield from ()

    def broken(self, why: str, /) -> bytes:
        """Two events, as clients look for one or the other."""
        failed = {
            "type": "response.failed",
            "sequence_number": self._last + 1,
            "response": {
                "id": next(iter(self.unanswered.ids), "resp_interpose"), "object": "response", "status": "failed",
                "error": {"code": "server_error", "message": why}, "output": [],
            },
        }  # fmt: skip
        error = {
            "type": "error", "code": "interpose", "message": why, "param": None, "sequence_number": self._last + 2
        }  # fmt: skip
        said = ((one["type"], msgspec.json.encode(one)) for one in (failed, error))
        return b"".join(b"event: %b\ndata: %b\n\n" % (str(kind).encode(), data) for kind, data in said)

    def _is_part(self, value: dict[str, Any]) -> bool:
        """Whether an event is about a part of something that sounds like a call and that we have not let through."""
        kind = text_in(value.get("type"))
        if kind.startswith(_RUN_THERE) or not type_smells(kind):
            return False
        return value.get("output_index") not in self._run_there

    def _item(self, event: RawEvent, value: dict[str, Any], index: int) -> Iterator[StreamStep]:
        kind = text_in(value.get("type"))
        item = object_in(value.get("item"), "item") if kind in (_ADDED, _DONE) else None
        if "response" in value:
            raise DoubtfulError("an event has a part of the answer and all of it")
        if index in self._done or (kind == _ADDED and index in self._begun) or len(self._begun) > MOST_ITEMS:
            raise DoubtfulError("an item begins twice, or there are too many")
        self._begun.add(index)
        if kind == _DONE:
            self._done.add(index)
        if self._held is None:
            if item is not None and call_in(item) is None:
                if is_run_there(item):
                    self._run_there.add(index)
                yield event.raw
                return
            self._held = (index, _OpenItem())
        opened = self._held[1]
        opened.add(event, value)
        if kind == _DONE and item is not None:
            self._held = None
            call = opened.call(item)
            yield CallsToJudge((call,), lambda rulings: self._written(index, opened, item, rulings[0]))
            yield from self._again()

    def _again(self) -> Iterator[StreamStep]:
        """What came while a call was held."""
        later, self._later = self._later, []
        for one in later:
            yield from self.event(one)

    def _written(self, index: int, opened: _OpenItem, item: dict[str, Any], ruling: Ruling) -> Iterator[bytes]:
        self._ruled[index] = (call_in(item), ruling)
        self.unanswered.refused(item, ruling)
        match ruling:
            case PassedCall():
                return iter([event.raw for event in opened.held])
            case ChangedCall():
                said = _call_events(index, ruled_item(item, ruling), item)
            case TextInstead(text):
                said = _text_events(index, ruled_item(item, ruling), text)
        numbers = [number for value in opened.values if type(number := value.get("sequence_number")) is int]
        return _numbered(said, opened.held[-1], numbers)

    def _whole(self, event: RawEvent, value: dict[str, Any]) -> Iterator[StreamStep]:
        """An event that has the whole answer, as far as it is."""
        response = object_in(value["response"], "response")
        no_call_in(value, "an event", "response")
        no_call_in(response, "an answer", "output", "tools")
        self.unanswered.heard(response)
        items = objects_in(response.get("output"), "output")
        found = {at: call for at, item in enumerate(items) if (call := call_in(item)) is not None}
        known = {
            at: self._ruled[at][1] for at, call in found.items() if at in self._ruled and self._ruled[at][0] == call
        }
        asked = [at for at in found if at not in known]

        def written_with(rulings: Sequence[Ruling]) -> Iterator[bytes]:
            said = known | dict(zip(asked, rulings, strict=True))
            if all(isinstance(ruling, PassedCall) for ruling in said.values()):
                return iter([event.raw])
            for at, ruling in said.items():
                self.unanswered.refused(items[at], ruling)
            output = [ruled_item(item, said[at]) if at in said else item for at, item in enumerate(items)]
            return iter([written({**value, "response": {**response, "output": output}}, event)])

        if asked:
            yield CallsToJudge(tuple(found[at] for at in asked), written_with)
        else:
            yield from written_with(())


def _text_events(index: int, item: dict[str, Any], text: str) -> list[dict[str, Any]]:
    at = {"item_id": item["id"], "output_index": index, "content_index": 0}
    return [
        {"type": _ADDED, "output_index": index, "item": {**item, "status": "in_progress", "content": []}},
        {"type": "response.content_part.added", **at, "part": text_part("")},
        {"type": "response.output_text.delta", **at, "delta": text, "logprobs": []},
        {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": text_part(text)},
        {"type": _DONE, "output_index": index, "item": item},
    ]


def _call_events(index: int, new: dict[str, Any], item: dict[str, Any]) -> list[dict[str, Any]]:
    field = "input" if item.get("type") == "custom_tool_call" else "arguments"
    part = "custom_tool_call_input" if field == "input" else "function_call_arguments"
    at = {"item_id": item.get("id"), "output_index": index}
    return [
        {"type": _ADDED, "output_index": index, "item": {**new, "status": "in_progress", field: ""}},
        {"type": f"response.{part}.delta", **at, "delta": new[field]},
        {"type": f"response.{part}.done", **at, field: new[field]},
        {"type": _DONE, "output_index": index, "item": new},
    ]


def _numbered(said: list[dict[str, Any]], like: RawEvent, numbers: list[int]) -> Iterator[bytes]:
    """INVARIANT: numbers never go down, and never reach that of the next event."""
    for at, one in enumerate(said):
        value = {**one, "sequence_number": min(numbers[0] + at, numbers[-1])} if numbers else one
        yield written(value, like, one["type"] if like.name else "")


def judged(body: Any, unanswered: Unanswered) -> JudgedAnswer:
    """A whole answer."""
    answer = object_in(body, "the answer")
    no_call_in(answer, "an answer", "output", "tools")
    unanswered.heard(answer)
    items = objects_in(answer.get("output"), "output")
    found = {at: call for at, item in enumerate(items) if (call := call_in(item)) is not None}

    def written_with(rulings: Sequence[Ruling]) -> dict[str, Any]:
        said = dict(zip(found, rulings, strict=True))
        for at, ruling in said.items():
            unanswered.refused(items[at], ruling)
        return {**answer, "output": [ruled_item(item, said.get(at, PassedCall())) for at, item in enumerate(items)]}

    return JudgedAnswer(tuple(found.values()), written_with)
