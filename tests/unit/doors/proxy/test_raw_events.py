"""Events with their bytes: nothing is lost, and what readers could see differently is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.doors.proxy.raw_events import RawEvent, RawEvents, rewritten, written
from interpose.doors.proxy.wire_values import DoubtfulError

STREAM = b': hi\n\nevent: a\r\ndata:{"x":1}\r\nid: 7\r\n\r\n\nretry: 5\ndata\n\ndata: last'


def split(stream: bytes, size: int) -> list[RawEvent]:
    events = RawEvents()
    found = [event for at in range(0, len(stream), size) for event in events.feed(stream[at : at + size])]
    last = events.finish()
    return found if last is None else [*found, last]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 1000])
def test_events_and_their_bytes(size: int) -> None:
    found = split(STREAM, size)
    assert b"".join(event.raw for event in found) == STREAM
    assert [(event.data, event.name, event.id) for event in found] == [
        (None, "", b""), (b'{"x":1}', "a", b"7"), (None, "", b""), (b"", "", b""), (b"last", "", b""),
    ]  # fmt: skip
    assert [event.line_end for event in found] == [b"\n", b"\r\n", b"\n", b"\n", b"\n"]


@given(st.lists(st.sampled_from([b"data: x", b"event: y", b"\n", b"\r\n", b": z", b"\n\n", b"data:"]), max_size=30))
def test_no_byte_is_lost_or_made_up(parts: list[bytes]) -> None:
    stream = b"".join(parts)
    try:
        whole = split(stream, 1)
    except DoubtfulError:
        with pytest.raises(DoubtfulError):
            split(stream, 7)
        return
    assert b"".join(event.raw for event in whole) == stream
    assert split(stream, 7) == whole


@pytest.mark.parametrize(
    ("note", "stream"),
    [
        ("a byte order mark, which the standard takes away", b'\xef\xbb\xbfdata: {"type": "call"}\n\n'),
        ("a field that nobody knows", b"datum: x\n\n"),
        ("a field in another spelling", b"DATA: x\n\n"),
        ("a field behind a blank", b" data: x\n\n"),
        ("no field at all", b'{"type": "call"}\n\n'),
        ("a carriage return alone, which only some take for the end of a line", b"data: a\rdata: b\n\n"),
        ("a carriage return in a comment", b": a\rdata: b\n\n"),
        ("a NUL", b"data: a\0\n\n"),
        ("two carriage returns", b"data: a\r\r\n\n"),
        ("data in two lines, which some take for two events", b'data: {"type": "ping", "x":\ndata: {"type": "y"}}\n\n'),
        ("a comment with a letter at which some end a line", ": \u2028data: {}\n\n".encode()),
        ("a comment with a vertical tab", b": \x0bdata: {}\n\n"),
        ("a name with such a letter", "event: a\x85data: {}\n\n".encode()),
        ("a number with such a letter", b"id: 1\x1cdata: {}\n\n"),
    ],
)
@pytest.mark.parametrize("size", [1, 4, 100])
def test_what_readers_see_differently_is_refused(note: str, stream: bytes, size: int) -> None:
    with pytest.raises(DoubtfulError):
        split(stream, size)


@pytest.mark.parametrize("piece", [b"data: " + b"x" * 50, b"data: " + b"x" * 50 + b"\n", b": comment\n", b"x"])
def test_an_event_without_an_end_is_not_held(piece: bytes) -> None:
    events = RawEvents(10_000)

    def flood() -> None:
        for _ in range(100_000):
            list(events.feed(piece))

    with pytest.raises(DoubtfulError):
        flood()


def test_many_small_events_are_no_large_one() -> None:
    events = RawEvents(100)
    assert sum(1 for _ in range(1000) for _ in events.feed(b"data: x\n\n")) == 1000


def test_an_event_in_the_form_of_another() -> None:
    like = RawEvent(b"event: a\r\nid: 5\r\ndata: 1\r\n\r\n", b"1", "a", b"5")
    assert written({"x": "\n"}, like) == b'event: a\r\nid: 5\r\ndata: {"x":"\\n"}\r\n\r\n'
    assert written([], like, "b") == b"event: b\r\ndata: []\r\n\r\n"
    assert written([], RawEvent(b"data: 1\n\n", b"1")) == b"data: []\n\n"


@pytest.mark.parametrize(("before", "after"), [({"a": 1}, {"a": True}), ({"a": 1}, {"a": 1.0}), ([0], [False])])
def test_values_that_only_look_the_same_are_written_anew(before: Any, after: Any) -> None:
    event = RawEvent(b"data: x\n\n", b"x")
    assert rewritten(event, before, after) != event.raw
    assert rewritten(event, before, before) == event.raw
