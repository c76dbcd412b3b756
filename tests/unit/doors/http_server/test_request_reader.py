"""The reader sees the same requests however the network cuts the bytes, and no bytes make it fail."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interpose.core.config.settings import ServerLimits
from interpose.doors.http_server.messages import Refusal
from interpose.doors.http_server.request_reader import Phase, Reader, RequestHead

LIMITS = ServerLimits(max_body_bytes=2048, max_header_bytes=2048)
CHUNKED = b"Host: x\r\nTransfer-Encoding: chunked\r\n"
UPGRADE = b"Host: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
PARTS = [
    b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    b"POST /c HTTP/1.1\r\n" + CHUNKED + b"\r\n3\r\nabc\r\n2;q\r\nde\r\n0\r\nX: trailer\r\n\r\n",
    b"POST /d HTTP/1.1\r\n" + UPGRADE + b"Content-Length: 5\r\n\r\nhello",
    b"POST /e HTTP/1.1\r\n" + UPGRADE + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    b"GET /f HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"POST /g HTTP/1.0\r\nContent-Length: 2\r\n\r\nok",
    b"POST /h HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n",
    b"POST /i HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"GET /refused HTTP/1.1\r\nHost: x\r\nX: 1\r\nx: 2\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
    b"\r\n",
    b"\x00\xff",
    b"5\r\n",
]


class Seen:
    """A sink that notes what it is told."""

    def __init__(self) -> None:
        self.notes: list[object] = []
        self.kept = 0

    def admit(self, head: RequestHead) -> None:
        self.notes.append((head.method, head.target, dict(head.headers), head.keep_alive, head.has_body))
        if head.target == b"/refused":
            raise Refusal(404, "not_found", "")

    def deliver(self, body: bytes) -> None:
        self.notes.append(body)
        self.kept -= len(body)

    def refuse(self, refusal: Refusal) -> None:
        self.notes.append(refusal.status)

    def hold(self, size: int) -> None:
        self.kept += size


def read(pieces: list[bytes]) -> Seen:
    seen = Seen()
    reader = Reader(seen, LIMITS, lambda: 0.0)
    for piece in pieces:
        if reader.phase is not Phase.ENDED:
            reader.feed(piece)
    reader.close()
    return seen


@given(st.lists(st.sampled_from(PARTS), max_size=6), st.lists(st.integers(1, 60), max_size=40))
def test_cuts_change_nothing(parts: list[bytes], sizes: list[int]) -> None:
    text = b"".join(parts)
    pieces, rest = [], text
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]
    whole, cut = read([text]), read([piece for piece in [*pieces, rest] if piece])
    assert cut.notes == whole.notes
    assert (whole.kept, cut.kept) == (0, 0)


@given(st.lists(st.binary(max_size=60) | st.sampled_from(PARTS), max_size=8))
def test_no_bytes_make_it_fail(pieces: list[bytes]) -> None:
    assert read([piece for piece in pieces if piece]).kept == 0


def test_after_the_end_nothing_is_told() -> None:
    refused = read([PARTS[10] + PARTS[0], PARTS[0]])
    assert refused.notes == [400]
    closed = read([PARTS[5] + PARTS[0], PARTS[0]])
    assert [note for note in closed.notes if isinstance(note, bytes)] == [b""]


def test_thousands_of_upgrades_at_once() -> None:
    assert len(read([PARTS[3] * 5000]).notes) == 10_000
