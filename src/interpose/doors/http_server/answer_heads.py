"""The first lines of an answer, as bytes. What is the same for a second is made once a second."""

from __future__ import annotations

import re
from email.utils import formatdate
from http import HTTPStatus

from interpose.doors.http_server.messages import Headers, Response

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"

_JSON = b"Content-Type: application/json\r\n"
_OWN = frozenset({"content-length", "transfer-encoding", "connection", "date", "x-request-id"})
_WITHOUT_BODY = frozenset({204, 304})
_FRAMING = frozenset({"content-length", "transfer-encoding", "connection"})
_WORD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class AnswerHeads:
    """Heads of answers with the time of the last `tick`."""

    def __init__(self) -> None:
        self._starts: dict[int, bytes] = {}
        self.tick()

    def tick(self) -> None:
        """The clock went on."""
        self._date = formatdate(usegmt=True)
        self._starts.clear()

    def head(self, response: Response, request_id: str, *, keep_alive: bool, chunked: bool = False) -> bytes:
        """Everything before the body. Raises ValueError for a header that would break out of its line."""
        if chunked:
            framing = b"Transfer-Encoding: chunked\r\n"
        elif response.stream is not None or response.status in _WITHOUT_BODY:
            framing = b""
        else:
            framing = b"Content-Length: %d\r\n" % len(response.body)
        connection = b"" if keep_alive else b"Connection: close\r\n"
        if response.relayed:
            return b"%b%b%b%b\r\n" % (_status_line(response.status), _relayed(response.headers), framing, connection)
        start = self._starts.get(response.status) or self._start(response.status)
        fields = _fields(response.headers) if response.headers else _JSON
        return b"%bX-Request-ID: %b\r\n%b%b%b\r\n" % (start, request_id.encode("ascii"), fields, framing, connection)

    def interim(self, status: int, headers: Headers) -> bytes:
        """An answer before the answer (1xx). Raises ValueError as `head` does."""
        return b"%b%b\r\n" % (_status_line(status), _relayed(headers))

    def _start(self, status: int) -> bytes:
        made = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nDate: {self._date}\r\n"
            "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
        ).encode("ascii")
        self._starts[status] = made
        return made


def chunk(piece: bytes) -> bytes:
    """One piece of a streamed body."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def _status_line(status: int) -> bytes:
    """Also of a status that Python has no name for: some model APIs say 529."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unnamed"
    return f"HTTP/1.1 {status} {phrase}\r\n".encode("ascii")


def _relayed(headers: tuple[tuple[str, str], ...]) -> bytes:
    for name, value in headers:
        if name.lower() in _FRAMING or not _WORD.fullmatch(name) or any(char in value for char in "\r\n\0"):
            raise ValueError(f"the header {name!r} can't be passed on with this value")
    return "".join(f"{name}: {value}\r\n" for name, value in headers).encode("latin-1")


def _fields(headers: tuple[tuple[str, str], ...]) -> bytes:
    lines: list[str] = []
    typed = False
    for name, value in headers:
        if name.lower() in _OWN or "\r" in value or "\n" in value or not name.replace("-", "").isalnum():
            raise ValueError(f"a handler may not send the header {name!r} with this value")
        typed = typed or name.lower() == "content-type"
        lines.append(f"{name}: {value}\r\n")
    return (b"" if typed else _JSON) + "".join(lines).encode("latin-1")
