"""Gemini: parts of the content of candidates. A client runs `functionCall`; `executableCode` has run at Google.

A call comes whole, in one part. Of parallel calls only the first has a signature of thought, and Gemini wants one there
in the next request: if that call became a text, its signature goes to the first call that is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from interpose.doors.proxy.call_smells import elsewhere, no_call_in, smell_of
from interpose.doors.proxy.found_calls import (
    CallsToJudge,
    ChangedCall,
    FoundCall,
    JudgedAnswer,
    PassedCall,
    Ruling,
    StreamStep,
    TextInstead,
    object_call,
    unknown_call,
)
from interpose.doors.proxy.raw_events import RawEvent, rewritten
from interpose.doors.proxy.wire_values import number_in, object_in, objects_in, value_of

NAME = "gemini"
CALLS = ("functionCall", "function_call")
"""Both are read by some clients."""
RESULTS = ("functionResponse", "function_response")
_SIGNATURES = ("thoughtSignature", "thought_signature")
_SAID = frozenset({
    "text", "thought", "inlineData", "inline_data", "fileData", "file_data", "executableCode", "executable_code",
    "codeExecutionResult", "code_execution_result", "videoMetadata", "video_metadata", "mediaResolution",
    "partMetadata", *_SIGNATURES,
})  # fmt: skip
_RUN_THERE = frozenset({"toolCall", "tool_call", "toolResponse", "tool_response"})
"""Tools of Google's own, which have run there."""
_LATER = frozenset({"partialArgs", "partial_args", "willContinue", "will_continue"})


def call_in(part: dict[str, Any]) -> FoundCall | None:
    """The call that a part is; None if it is none. Raises DoubtfulError."""
    key = next((key for key in CALLS if key in part), "")
    if not key:
        rest = {name: item for name, item in part.items() if name not in _SAID and name not in _RUN_THERE}
        return unknown_call(next(iter(rest)), part) if smell_of(rest) else None
    called = object_in(part[key], key)
    wrong = "its arguments come in parts, which is not understood here" if _LATER & called.keys() else ""
    wrong = wrong or elsewhere(called, "args")
    return object_call(called.get("id", ""), called.get("name"), called.get("args"), wrong=wrong)


class _Signatures:
    """By candidate, the signature of a call that became a text, until another call takes it."""

    def __init__(self) -> None:
        self._left: dict[int, Any] = {}

    def ruled(self, candidate: int, part: dict[str, Any], ruling: Ruling) -> dict[str, Any]:
        """What takes the place of a part that is a call."""
        key = next((key for key in CALLS if key in part), "")
        match ruling:
            case TextInstead(text):
                signed = next((part[name] for name in _SIGNATURES if name in part), None)
                if signed is not None:
                    self._left.setdefault(candidate, signed)
                return {"text": text}
            case ChangedCall(arguments):
                new = {**part, key: {**part[key], "args": arguments}}
            case PassedCall():
                new = part
        signed = self._left.pop(candidate, None)
        return new if signed is None or any(name in part for name in _SIGNATURES) else {**new, _SIGNATURES[0]: signed}


def _parts(candidate: dict[str, Any]) -> list[dict[str, Any]]:
    no_call_in(candidate, "a candidate", "content")
    content = object_in(candidate.get("content") or {}, "content")
    no_call_in(content, "a content", "parts")
    return objects_in(content.get("parts"), "parts")


def _judged(body: Any, signatures: _Signatures) -> JudgedAnswer:
    answer = object_in(body, "an answer")
    no_call_in(answer, "an answer", "candidates")
    candidates = objects_in(answer.get("candidates"), "candidates")
    places = [
        (at, place, call)
        for at, candidate in enumerate(candidates)
        for place, part in enumerate(_parts(candidate))
        if (call := call_in(part)) is not None
    ]

    def written_with(rulings: Sequence[Ruling]) -> dict[str, Any]:
        new = list(candidates)
        for (at, place, _), ruling in zip(places, rulings, strict=True):
            number = number_in(candidates[at].get("index", at), "index")
            parts = list(_parts(new[at]))
            parts[place] = signatures.ruled(number, parts[place], ruling)
            new[at] = {**new[at], "content": {**new[at]["content"], "parts": parts}}
        return answer if not places else {**answer, "candidates": new}

    return JudgedAnswer(tuple(call for _, _, call in places), written_with)


class GeminiStream:
    """A streamed answer (`alt=sse`): each event is an answer with some of the parts."""

    waiting = b""  # its clients read nothing but data

    def __init__(self) -> None:
        self._signatures = _Signatures()

    def event(self, event: RawEvent, /) -> Iterator[StreamStep]:
        """One event."""
        if event.data is None or event.says_nothing:
            yield event.raw
            return
        value = value_of(event.data)
        found = _judged(value, self._signatures)
        if not found.calls:
            yield event.raw
            return

        def written_with(rulings: Sequence[Ruling]) -> Iterator[bytes]:
            return iter([rewritten(event, value, found.written(rulings))])

        yield CallsToJudge(found.calls, written_with)

    def end(self) -> Iterator[StreamStep]:
        """Nothing is held between events."""
        yield from ()

    def broken(self, why: str, /) -> bytes:
        """An error as Google says it in the middle of a stream: its clients look for plain JSON."""
        return msgspec.json.encode({"error": {"code": 502, "message": why, "status": "INTERNAL"}})


def judged(body: Any) -> JudgedAnswer:
    """A whole answer; also a list of them, as a stream without `alt=sse` is."""
    signatures = _Signatures()
    if not isinstance(body, list):
        return _judged(body, signatures)
    found = [_judged(one, signatures) for one in body]

    def written_with(rulings: Sequence[Ruling]) -> list[Any]:
        left = iter(rulings)
        return [one.written([next(left) for _ in one.calls]) for one in found]

    return JudgedAnswer(tuple(call for one in found for call in one.calls), written_with)
