"""Answers of model APIs, in the shapes that they have on the wire: what is judged, and what the agent gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interpose.doors.proxy.dialects import Dialect
from interpose.doors.proxy.openai_responses import Unanswered
from interpose.doors.proxy.wire_values import DoubtfulError
from tests.support.case_files import read_cases
from tests.support.peers.model_streams import DIALECTS, Ruled, datas, passed, ruling_of, sent

PLACE = Path(__file__).parent / "model_proxy"


def cases() -> list[Any]:
    found = []
    for file in sorted(PLACE.glob("*.yaml")):
        data = read_cases(file)
        dialect = DIALECTS[data["dialect"]]
        found += [pytest.param(dialect, case, id=f"{dialect.name}: {case['note']}") for case in data["cases"]]
    return found


STREAMS = [param for param in cases() if "events" in param.values[1]]
WHOLE = [param for param in cases() if "answer" in param.values[1]]


def check_calls(judged: Ruled, case: dict[str, Any]) -> None:
    wanted = case.get("calls", [])
    assert [(call.key, call.tool) for call in judged.calls] == [(key, tool) for key, tool, *_ in wanted]
    for call, (_, _, arguments, *wrong) in zip(judged.calls, wanted, strict=True):
        assert arguments is None or call.arguments == arguments
        assert wrong[0] in call.wrong if wrong else not call.wrong, call.wrong


@pytest.mark.parametrize(("dialect", "case"), STREAMS)
def test_streams(dialect: Dialect, case: dict[str, Any]) -> None:
    events = [sent(dialect, event) for event in case["events"]]
    judged = Ruled([ruling_of(said) for said in case.get("rulings", [])])
    got, stopped = passed(dialect, [b"".join(events)], judged)
    check_calls(judged, case)
    want = case.get("want")
    if want is None:
        return
    if isinstance(want, dict):
        assert want["broken"] in stopped
        before = b"".join(events[int(word[1:])] for word in want.get("after", []))
        assert got.startswith(before)
        assert b"Interpose ended this answer" in got[len(before) :]
        return
    assert not stopped
    if want == "same":
        assert got == b"".join(events)
        return
    wanted = [event if isinstance(event, dict) else events[int(event[1:])] for event in want]
    for one in wanted:
        if isinstance(one, bytes):
            assert got.startswith(one), (one, got)
            got = got[len(one) :]
        else:
            first, border, rest = got.partition(b"\r\n\r\n" if dialect.name == "gemini" else b"\n\n")
            assert datas(first + border) == [one]
            got = rest
    assert got == b""


@pytest.mark.parametrize(("dialect", "case"), STREAMS)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_stream_is_the_same_however_it_is_cut(dialect: Dialect, case: dict[str, Any], size: int) -> None:
    whole = b"".join(sent(dialect, event) for event in case["events"])
    rulings = [ruling_of(said) for said in case.get("rulings", [])]
    cut = [whole[at : at + size] for at in range(0, len(whole), size)]
    assert passed(dialect, cut, Ruled(list(rulings))) == passed(dialect, [whole], Ruled(list(rulings)))


@pytest.mark.parametrize(("dialect", "case"), WHOLE)
def test_whole_answers(dialect: Dialect, case: dict[str, Any]) -> None:
    answer, want = case["answer"], case.get("want")
    before = json.dumps(answer)
    if isinstance(want, dict) and "broken" in want:
        with pytest.raises(DoubtfulError, match=want["broken"]):
            dialect.judged(answer, Unanswered())
        return
    found = dialect.judged(answer, Unanswered())
    judged = Ruled([ruling_of(said) for said in case.get("rulings", [])])
    rulings = [judged.rule(call) for call in found.calls]
    check_calls(judged, case)
    if want is not None:
        assert found.written(rulings) == (answer if want == "same" else want)
    assert json.dumps(answer) == before, "what came was changed in place"
