"""Laws of streams: nothing that any client would run gets by unjudged, everything else passes byte for byte, and it
does not matter how a stream is cut."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.doors.proxy.dialects import Dialect
from interpose.doors.proxy.found_calls import PASSED, Ruling, TextInstead
from tests.support.case_files import read_cases
from tests.support.peers.model_clients import lowered, normal, runs
from tests.support.peers.model_streams import DIALECTS, Ruled, passed, sent

CASES = Path(__file__).parents[3] / "cases" / "model_proxy"


def corpus(name: str) -> list[dict[str, Any]]:
    """Every event of the cases of a dialect, hostile ones included."""
    data = read_cases(CASES / f"{name}.yaml")
    return [event for case in data["cases"] for event in case.get("events", ())]


EVENTS = {name: corpus(name) for name in DIALECTS}
NAMES = st.sampled_from(sorted(DIALECTS))
RULINGS: st.SearchStrategy[list[Ruling]] = st.lists(st.sampled_from([PASSED, TextInstead("No.")]), max_size=8)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a value."""
    found = [at] if at else []
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += places(item, (*at, key))
    return found


def at(value: Any, place: tuple[Any, ...]) -> Any:
    for step in place:
        value = value[step]
    return value


@st.composite
def mutated(draw: Any, name: str) -> dict[str, Any]:
    """An event of the corpus with a few changes: other numbers, other kinds, other spellings, things put elsewhere."""
    event: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(EVENTS[name])))
    if "raw" in event:
        return event
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.sampled_from(places(event)))
        around, key = at(event, place[:-1]), place[-1]
        what = draw(st.integers(0, 6))
        if what == 0 and isinstance(around[key], int):
            around[key] = draw(st.integers(0, 2))
        elif what == 1 and isinstance(key, str):
            around[draw(st.sampled_from([key.upper(), key.title(), key.replace("_", "")]))] = around[key]
        elif what == 2 and isinstance(key, str):
            around[draw(st.sampled_from([key.upper(), key.replace("_", "")]))] = around.pop(key)
        elif what == 3:
            other = copy.deepcopy(draw(st.sampled_from(EVENTS[name])))
            around[key] = at(other, draw(st.sampled_from(places(other)))) if "raw" not in other else None
        elif what == 4:
            around[key] = None
        elif what == 5 and isinstance(around[key], str):
            around[key] = draw(
                st.sampled_from(["", "tool_use", "function_call", "text", "{}", '{"command":"rm"}', "Bash"])
            )
        elif what == 6:
            around[key] = [around[key]]
    return event


CUTS = [
    b"\ndata: ", b"\ndata:", b"\n\n", b"\n\ndata: ", b"\r", b"\r\n", b"\n: x", b" ", b"\0", b"\xef\xbb\xbf",
    b"\xe2\x80\xa8data: ", b"\x0bdata: ", b"\xc2\x85data: ",
]  # fmt: skip
"""What ends a line, or an event, to some readers."""


@st.composite
def hostile(draw: Any) -> tuple[Dialect, bytes]:
    """A stream that no server should send: events in a wrong order, changed, and cut by what ends lines to some."""
    name = draw(NAMES)
    dialect = DIALECTS[name]
    events = [draw(mutated(name)) for _ in range(draw(st.integers(1, 8)))]
    sent_as = [sent(dialect, event) if "type" in event or "raw" in event else _plain(event) for event in events]
    whole = b"".join(sent_as)
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(whole)))
        whole = whole[:place] + draw(st.sampled_from(CUTS)) + whole[place:]
    return dialect, whole


def _plain(event: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()


@given(hostile(), RULINGS)
@settings(max_examples=300, deadline=None)
def test_nothing_that_a_client_would_run_gets_by_unjudged(stream: tuple[Dialect, bytes], rulings: list[Ruling]) -> None:
    dialect, data = stream
    judged = _NothingWrong(rulings)
    got, _ = passed(dialect, [data], judged)
    let_through = {
        normal(call.tool, arguments)
        for call in judged.let_through
        for arguments in (call.arguments, lowered(call.arguments))
    }
    for who, call in runs(dialect.name, got):
        assert call in let_through, (who, got)


class _NothingWrong(Ruled):
    """A call that is wrong is refused, whatever was drawn."""

    def rule(self, call: Any) -> Ruling:
        if call.wrong and self._left:
            self._left[0] = TextInstead(call.wrong)
        return super().rule(call)


@pytest.mark.parametrize("name", sorted(DIALECTS))
def test_clients_of_the_test_find_calls_where_there_are_some(name: str) -> None:
    """Else the law above would say nothing."""
    dialect = DIALECTS[name]
    data = b"".join(sent(dialect, event) for event in EVENTS[name])
    assert len({who.split()[0] for who, _ in runs(name, data)}) >= (1 if name == "gemini" else 2)


TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)


def text_events(name: str, text: str) -> list[dict[str, Any]]:
    """Text as each API streams it."""
    match name:
        case "anthropic":
            return [
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
            ]
        case "chat":
            return [{"choices": [{"index": 0, "delta": {"content": text, "reasoning_content": text}}]}]
        case "responses":
            part = {"type": "output_text", "text": text}
            return [
                {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text},
                {"type": "response.content_part.done", "output_index": 0, "part": part},
            ]
        case _:
            return [{"candidates": [{"content": {"parts": [{"text": text, "thought": True}]}}]}]


@given(NAMES, st.lists(TEXTS, max_size=4), st.data())
@settings(max_examples=150, deadline=None)
def test_what_is_no_call_passes_byte_for_byte(name: str, texts: list[str], data: st.DataObject) -> None:
    dialect = DIALECTS[name]
    events: list[bytes] = []
    for number, text in enumerate(texts):
        for event in text_events(name, text):
            events.append(sent(dialect, {**event, "index": number} if "index" in event else event))
        events.append(
            data.draw(st.sampled_from([b"", b": a comment\n\n", b"\n", b"retry: 5\n\n", b"id: 7\ndata: [DONE]\n\n"]))
        )
    whole = b"".join(events)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    judged = Ruled()
    assert passed(dialect, pieces, judged) == (whole, "")
    assert judged.calls == []


@given(hostile(), RULINGS, st.data())
@settings(max_examples=150, deadline=None)
def test_it_does_not_matter_how_a_stream_is_cut(
    stream: tuple[Dialect, bytes], rulings: list[Ruling], data: st.DataObject
) -> None:
    dialect, whole = stream
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=20)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert passed(dialect, pieces, _NothingWrong(list(rulings))) == passed(
        dialect, [whole], _NothingWrong(list(rulings))
    )
