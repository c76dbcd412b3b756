"""OpenAI Chat Completions, and the many servers that speak it: `tool_calls`, and `function_call` of old.

In a stream a call has no end of its own: it is whole when its choice has a `finish_reason`. Chunks with parts of calls
wait until then; all others pass. If no call of a choice is left, its `finish_reason` is `stop`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import msgspec

from interpose.doors.proxy.call_smells import elsewhere, no_call_in
from interpose.doors.proxy.found_calls import (
    MOST_CALLS,
    CallsToJudge,
    ChangedCall,
    FoundCall,
    JudgedAnswer,
    PassedCall,
    Ruling,
    StreamStep,
    TextInstead,
    json_call,
    text_call,
    unknown_call,
)
from interpose.doors.proxy.raw_events import RawEvent, rewritten, written
from interpose.doors.proxy.wire_values import DoubtfulError, number_in, object_in, objects_in, text_in, value_of

NAME = "chat"
_CALLS, _OLD = "tool_calls", "function_call"
_ENDED = "stop"
_FOR_CALLS = frozenset({"tool_calls", "function_call"})
_RUN_THERE = frozenset({"executed_tools"})
"""What a server says that it has run itself."""


def call_in(called: Mapping[str, Any], wrong: str = "") -> FoundCall:
    """One whole call of `tool_calls`."""
    key, kind = called.get("id"), called.get("type")
    wrong = wrong or ("it is a call of two kinds" if "custom" in called and "function" in called else elsewhere(called))
    if kind == "custom" or (not kind and "custom" in called):
        if isinstance(called.get("custom"), dict):
            custom = object_in(called["custom"], "custom")
            wrong = wrong or elsewhere(custom, "input")
            return text_call(key, custom.get("name"), custom.get("input"), wrong=wrong)
    elif kind in ("function", None, "") and isinstance(called.get("function"), dict):
        function = object_in(called["function"], "function")
        wrong = wrong or elsewhere(function, "arguments")
        return json_call(key, function.get("name"), function.get("arguments", ""), wrong=wrong)
    return unknown_call(kind, dict(called))


def old_call(called: object, wrong: str = "") -> FoundCall:
    """A `function_call`. It has no id."""
    function = object_in(called, _OLD)
    wrong = wrong or elsewhere(function, "arguments")
    return json_call("", function.get("name"), function.get("arguments", ""), wrong=wrong)


def changed_call(called: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """A call of `tool_calls` with other arguments."""
    if "custom" in called:
        return {**called, "custom": {**called["custom"], "input": arguments["input"]}}
    text = msgspec.json.encode(arguments).decode()
    return {**called, "function": {**called["function"], "arguments": text}}


class _Growing:
    """A call of which parts have come."""

    def __init__(self) -> None:
        self.called: dict[str, Any] = {}
        self.wrong = ""
        self._begun = False

    def add(self, part: dict[str, Any], kind: str) -> None:
        """INVARIANT: a text that comes in parts is put together in one way only. Of arguments every reader joins the
        parts; names and ids some join, others replace, and others begin a new call with: these come once, and first."""
        begun = self._begun
        for key, value in part.items():
            if key in ("function", "custom"):
                inner = self.called.setdefault(key, {})
                for name, item in object_in(value, key).items():
                    self._put(inner, name, item, begun=begun, joined=name in ("arguments", "input"))
            else:
                self._put(self.called, key, value, begun=begun, joined=kind == _OLD and key == "arguments")

    def _put(self, into: dict[str, Any], name: str, item: Any, *, begun: bool, joined: bool) -> None:
        before = into.get(name)
        self._begun = self._begun or (joined and bool(item))
        if joined and isinstance(item, str) and isinstance(before, str):
            into[name] = before + item
        elif before in (None, ""):
            into[name] = item
            if begun and item and name in ("id", "name"):
                self.wrong = f"its {name} comes after its arguments"
        elif item not in (None, "") and (name == "name" or item != before):
            self.wrong = f"its {name} comes twice"


class _Choice:
    """What is known of one choice."""

    def __init__(self) -> None:
        self.growing: dict[int, _Growing] = {}
        self.old: _Growing | None = None
        self.unnumbered = 0
        self.finished = self.said = False

    def take(self, delta: dict[str, Any]) -> None:
        """The parts of calls in a delta."""
        for part in objects_in(delta.get(_CALLS) or None, _CALLS):
            if part.get("index") is None:
                # Readers put such parts together in different ways; one alone is whole.
                self.unnumbered += 1
                place = -self.unnumbered
            else:
                place = number_in(part["index"], "index")
                if place < 0:
                    raise DoubtfulError("a call has a number below zero")
            if len(self.growing) > MOST_CALLS:
                raise DoubtfulError(f"it has more than {MOST_CALLS} calls")
            self.growing.setdefault(place, _Growing()).add(part, _CALLS)
        if delta.get(_OLD):
            self.old = self.old or _Growing()
            self.old.add(object_in(delta[_OLD], _OLD), _OLD)

    def calls(self) -> list[FoundCall]:
        """All calls, in their order."""
        mixed = "its parts are not numbered" if self.unnumbered and len(self.growing) > 1 else ""
        two = "there are calls of the old kind beside it" if self.old is not None and self.growing else ""
        found = [call_in(one.called, one.wrong or mixed or two) for one in self.ordered()]
        return found if self.old is None else [*found, old_call(self.old.called, self.old.wrong or two)]

    def ordered(self) -> list[_Growing]:
        """Calls of today's kind."""
        return [self.growing[place] for place in sorted(self.growing, key=lambda place: (place < 0, abs(place)))]

    @property
    def in_order(self) -> bool:
        """Whether all readers find the same calls by their numbers. Some take a number for a place in a list."""
        return list(self.growing) in (list(range(len(self.growing))), [-1])

    @property
    def waits(self) -> bool:
        """Whether a call has begun."""
        return bool(self.growing) or self.old is not None


class ChatStream:
    """A streamed answer."""

    waiting = b": interpose asks a person\n\n"

    def __init__(self) -> None:
        self._choices: dict[int, _Choice] = {}
        self._called = False
        self._numbers = count()
        self._held: list[tuple[RawEvent, dict[str, Any]]] = []

    def event(self, event: RawEvent, /) -> Iterator[StreamStep]:
        """One chunk."""
        if event.data is None or event.says_nothing:
            if event.data:
                yield from self._judge()
            yield event.raw
            return
        chunk = object_in(value_of(event.data), "a chunk")
        holds = self._take(chunk)
        if not holds:
            yield event.raw
            return
        self._held.append((event, chunk))
        if all(choice.finished for choice in self._choices.values() if choice.waits):
            yield from self._judge()

    def end(self) -> Iterator[StreamStep]:
        """Some servers end without a last word."""
        yield from self._judge()

    def broken(self, why: str, /) -> bytes:
        """An error chunk."""
        error = {"error": {"message": why, "type": "interpose_error", "param": None, "code": "interpose"}}
        return b"data: %b\n\n" % msgspec.json.encode(error)

    def _take(self, chunk: dict[str, Any]) -> bool:
        """Whether a chunk waits: a call is in it, or the end of a choice that has calls."""
        no_call_in(chunk, "a chunk", "choices")
        holds = False
        for one in objects_in(chunk.get("choices"), "choices"):
            no_call_in(one, "a choice", "delta")
            delta = object_in(one.get("delta") or {}, "delta")
            no_call_in(delta, "a delta", *_FOR_CALLS, *_RUN_THERE)
            choice = self._choices.setdefault(number_in(one.get("index", 0), "index"), _Choice())
            if len(self._choices) > MOST_CALLS:
                raise DoubtfulError(f"it has more than {MOST_CALLS} choices")
            if choice.finished and (delta.get(_CALLS) or delta.get(_OLD)):
                raise DoubtfulError("a call begins after its choice has ended")
            choice.take(delta)
            choice.said = choice.said or bool(delta.get("content"))
            finishes = bool(one.get("finish_reason"))
            holds = holds or bool(delta.get(_CALLS) or delta.get(_OLD)) or (finishes and choice.waits)
            choice.finished = choice.finished or finishes
        return holds

    def _judge(self) -> Iterator[StreamStep]:
        waiting = {at: choice for at, choice in self._choices.items() if choice.waits}
        if not waiting:
            return
        held, self._held = self._held, []
        # INVARIANT: some readers do not look at the number of a choice: calls of two never have the same number.
        in_order = not self._called and len(waiting) == 1 and all(choice.in_order for choice in waiting.values())
        self._called = True
        found = {at: choice.calls() for at, choice in waiting.items()}
        for at in waiting:
            self._choices[at] = _Choice()
            self._choices[at].finished = True

        def written_with(rulings: Sequence[Ruling]) -> Iterator[bytes]:
            if all(isinstance(ruling, PassedCall) for ruling in rulings) and in_order:
                self._numbers = count(len(rulings))
                return (event.raw for event, _ in held)
            left = iter(rulings)
            ruled = {at: [next(left) for _ in calls] for at, calls in found.items()}
            return _rewritten(held, waiting, ruled, self._numbers)

        yield CallsToJudge(tuple(call for calls in found.values() for call in calls), written_with)


def _rewritten(
    held: list[tuple[RawEvent, dict[str, Any]]],
    choices: Mapping[int, _Choice],
    ruled: Mapping[int, Sequence[Ruling]],
    numbers: Iterator[int],
) -> Iterator[bytes]:
    """The chunks that waited, without their calls; and before the end of each choice what became of its calls."""
    done: set[int] = set()
    for event, chunk in held:
        kept: list[dict[str, Any]] = []
        for one in objects_in(chunk.get("choices"), "choices"):
            at = one.get("index", 0)
            if at not in choices:
                kept.append(one)
                continue
            delta = {key: item for key, item in (one.get("delta") or {}).items() if key not in _FOR_CALLS}
            finishes = bool(one.get("finish_reason"))
            if finishes:
                done.add(at)
                yield from _calls_of(event, chunk, at, choices[at], ruled[at], numbers)
            if delta or finishes:
                kept.append({**one, "delta": delta, "finish_reason": _finish(one, ruled[at])})
        if kept or chunk.get("usage"):
            yield rewritten(event, chunk, {**chunk, "choices": kept})
    for at in choices.keys() - done:
        event, chunk = held[-1]
        yield from _calls_of(event, chunk, at, choices[at], ruled[at], numbers)


def _finish(one: dict[str, Any], rulings: Sequence[Ruling]) -> Any:
    reason = one.get("finish_reason")
    none_left = all(isinstance(ruling, TextInstead) for ruling in rulings)
    return _ENDED if text_in(reason) in _FOR_CALLS and none_left else reason


def _calls_of(
    event: RawEvent,
    chunk: dict[str, Any],
    at: int,
    choice: _Choice,
    rulings: Sequence[Ruling],
    numbers: Iterator[int],
) -> Iterator[bytes]:
    envelope = {key: item for key, item in chunk.items() if key not in ("choices", "usage")}

    def said(delta: dict[str, Any]) -> bytes:
        return written({**envelope, "choices": [{"index": at, "delta": delta, "finish_reason": None}]}, event)

    texts = [ruling.text for ruling in rulings if isinstance(ruling, TextInstead)]
    if texts:
        yield said({"content": ("\n\n" if choice.said else "") + "\n\n".join(texts)})
    for one, ruling in zip(choice.ordered(), rulings, strict=False):
        if isinstance(ruling, TextInstead):
            continue
        called = changed_call(one.called, ruling.arguments) if isinstance(ruling, ChangedCall) else one.called
        yield said({_CALLS: [{**called, "index": next(numbers)}]})
    if choice.old is not None and not isinstance(last := rulings[-1], TextInstead):
        function = choice.old.called
        if isinstance(last, ChangedCall):
            function = {**function, "arguments": msgspec.json.encode(last.arguments).decode()}
        yield said({_OLD: function})


def judged(body: Any) -> JudgedAnswer:
    """A whole answer."""
    answer = object_in(body, "the answer")
    no_call_in(answer, "the answer", "choices")
    choices = objects_in(answer.get("choices"), "choices")
    messages = [object_in(one.get("message") or {}, "message") for one in choices]
    found: list[FoundCall] = []
    for one, message in zip(choices, messages, strict=True):
        no_call_in(one, "a choice", "message")
        no_call_in(message, "a message", *_FOR_CALLS, *_RUN_THERE)
        old = message.get(_OLD)
        called = objects_in(message.get(_CALLS), _CALLS)
        two = "there are calls of the old kind beside it" if old and called else ""
        found += [call_in(each, two) for each in called]
        found += [old_call(old, two)] if old else []

    def written_with(rulings: Sequence[Ruling]) -> dict[str, Any]:
        left = iter(rulings)
        new = [_with(one, message, left) for one, message in zip(choices, messages, strict=True)]
        return {**answer, "choices": new}

    return JudgedAnswer(tuple(found), written_with)


def _with(one: dict[str, Any], message: dict[str, Any], left: Iterator[Ruling]) -> dict[str, Any]:
    texts: list[str] = []
    kept: list[dict[str, Any]] = []
    new = {key: item for key, item in message.items() if key not in _FOR_CALLS}
    called, old = objects_in(message.get(_CALLS), _CALLS), message.get(_OLD)
    if not called and not old:
        return one
    for each in called:
        match next(left):
            case PassedCall():
                kept.append(each)
            case ChangedCall(arguments):
                kept.append(changed_call(each, arguments))
            case TextInstead(text):
                texts.append(text)
    if kept:
        new[_CALLS] = kept
    if old:
        match next(left):
            case PassedCall():
                new[_OLD] = old
            case ChangedCall(arguments):
                new[_OLD] = {**old, "arguments": msgspec.json.encode(arguments).decode()}
            case TextInstead(text):
                texts.append(text)
    if texts:
        said = message.get("content")
        new["content"] = "\n\n".join([said, *texts] if isinstance(said, str) and said else texts)
    ended = not kept and _OLD not in new and text_in(one.get("finish_reason")) in _FOR_CALLS
    return {**one, "message": new, "finish_reason": _ENDED if ended else one.get("finish_reason")}
