"""Events out of pieces: however a stream is cut, the events are the same, and none is held without a bound."""

from __future__ import annotations

import pytest

from interpose.doors.http_client.event_stream import EventSplitter, EventTooLongError, StreamEvent

STREAM = (
    b": hello\n\ndata: one\n\nevent: endpoint\r\ndata: two\r\nid: 5\r\n\r\ndata:three\rdata: more\r\r"
    b"retry: 250\ndata\ndata: last\n\nevent: lost\n\ndata: unfinished"
)
WANTED = [
    StreamEvent(b"one"), StreamEvent(b"two", "endpoint", "5"), StreamEvent(b"three\nmore", "message", "5"),
    StreamEvent(b"\nlast", "message", "5", 250),
]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 64, 1000])
def test_however_a_stream_is_cut_the_events_are_the_same(size: int) -> None:
    found: list[StreamEvent] = []
    splitter = EventSplitter(found.append, 1000)
    for start in range(0, len(STREAM), size):
        splitter.feed(STREAM[start : start + size])
    assert found == WANTED


@pytest.mark.parametrize(
    "piece", [b"data: " + b"x" * 50, b"data: " + b"x" * 50 + b"\n", b"x", b": comment without an end"]
)
def test_an_event_without_an_end_is_not_held(piece: bytes) -> None:
    splitter = EventSplitter(lambda _event: None, 10_000)

    def flood() -> None:
        for _ in range(100_000):
            splitter.feed(piece)

    with pytest.raises(EventTooLongError):
        flood()


def test_many_events_are_no_long_event() -> None:
    found: list[StreamEvent] = []
    splitter = EventSplitter(found.append, 1000)
    for _ in range(1000):
        splitter.feed(b": ping\n\ndata: " + b"x" * 500 + b"\n\n")
    assert len(found) == 1000
