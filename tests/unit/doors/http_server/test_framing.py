"""Where requests begin and end (RFC 9112), over a real socket: what could be read in two ways is refused.

Each case is a note, the bytes of a connection, and the statuses of all answers on it. A `400` ends the connection: what
follows a request whose end is in doubt is never taken for another one. Bodies of accepted requests come back, so that a
wrong end shows.

Where we are milder than RFC 9112 asks: more than one blank in a request line is taken for one (section 3 allows it).
Where the code is another: an unknown method is a 400 and not a 501, a malformed Host a 403 and not a 400.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

import pytest

from interpose.core.config.settings import ServerLimits
from interpose.doors.http_server.messages import Request, Response, Route
from tests.support.servers.servers import running
from tests.support.timing.patience import PATIENCE

LIMITS = ServerLimits(max_body_bytes=4096, max_header_bytes=4096)
H = "Host: 127.0.0.1:@\r\n"
"""`:@` is the port, written when it is known."""
NEXT = f"GET /next HTTP/1.1\r\n{H}\r\n"
TE, CL = "Transfer-Encoding", "Content-Length"
WHOLE = "3\r\nabc\r\n0\r\n\r\n"

OK, BAD = (200,), (400,)
Case = tuple[str, str | bytes, tuple[int, ...]]


def post(*fields: str, body: str = "", version: str = "HTTP/1.1", target: str = "/echo") -> str:
    """A POST with these header lines."""
    return f"POST {target} {version}\r\n{H}{''.join(f'{field}{chr(13)}{chr(10)}' for field in fields)}\r\n{body}"


def chunked(body: str, *fields: str) -> str:
    """A POST in chunks."""
    return post(f"{TE}: chunked", *fields, body=body)


def line(text: str, fields: str = H) -> str:
    """A request with this first line."""
    return f"{text}\r\n{fields}\r\n"


def field(text: str) -> str:
    """A GET with one more header line."""
    return f"GET /next HTTP/1.1\r\n{H}{text}\r\n\r\n"


ACCEPTED: list[Case] = [
    ("no body", NEXT, OK),
    ("length and body", post(f"{CL}: 3", body="abc"), OK),
    ("length of zero", post(f"{CL}: 0"), OK),
    ("length with zeros before", post(f"{CL}: 0003", body="abc"), OK),
    ("name in other letters", post("cOnTeNt-LeNgTh: 3", body="abc"), OK),
    ("no blank behind the colon", post(f"{CL}:3", body="abc"), OK),
    ("blanks around a value", post(f"{CL}:  \t3 \t", body="abc"), OK),
    ("chunks", chunked(WHOLE), OK),
    ("chunked in other letters", post(f"{TE}: ChUnKeD", body=WHOLE), OK),
    ("size in large letters", chunked("A\r\n0123456789\r\n0\r\n\r\n"), OK),
    ("size in small letters", chunked("a\r\n0123456789\r\n0\r\n\r\n"), OK),
    ("size with zeros before", chunked("0003\r\nabc\r\n0\r\n\r\n"), OK),
    ("last chunk of many zeros", chunked("3\r\nabc\r\n000\r\n\r\n"), OK),
    ("no chunks but the last", chunked("0\r\n\r\n"), OK),
    ("many chunks", chunked("1\r\na\r\n" * 50 + "0\r\n\r\n"), OK),
    ("extension", chunked("3;a=b\r\nabc\r\n0\r\n\r\n"), OK),
    ("extension without a value", chunked("3;a\r\nabc\r\n0\r\n\r\n"), OK),
    ("extension in quotes", chunked('3;a="b;c"\r\nabc\r\n0\r\n\r\n'), OK),
    ("extension of the last chunk", chunked("3\r\nabc\r\n0;a=b\r\n\r\n"), OK),
    ("trailer", chunked("3\r\nabc\r\n0\r\nX: y\r\n\r\n"), OK),
    ("trailers", chunked("3\r\nabc\r\n0\r\nX: y\r\nZ: w\r\n\r\n"), OK),
    ("trailer that names a length", chunked(f"3\r\nabc\r\n0\r\n{CL}: 9\r\n\r\n"), BAD),
    ("empty lines before", f"\r\n\r\n{NEXT}", OK),
    ("two at once", NEXT + NEXT, (200, 200)),
    ("three with bodies", post(f"{CL}: 3", body="abc") + chunked(WHOLE) + NEXT, (200, 200, 200)),
    ("an empty line between two", f"{NEXT}\r\n{NEXT}", (200, 200)),
    ("nothing behind close", field("Connection: close") + NEXT, OK),
    ("close in other letters", field("Connection: ClOsE") + NEXT, OK),
    ("close among others", field("Connection: x, close") + NEXT, OK),
    ("HTTP/1.0 ends", line("GET /next HTTP/1.0") + NEXT, OK),
    ("HTTP/1.0 that wants to stay", line("GET /next HTTP/1.0", H + "Connection: keep-alive\r\n") + NEXT, OK),
    ("HTTP/1.0 with a length", f"POST /echo HTTP/1.0\r\n{H}{CL}: 3\r\n\r\nabc", OK),
    ("absolute form", line("GET http://127.0.0.1:@/next HTTP/1.1"), OK),
    ("a later minor version", line("GET /next HTTP/1.1"), OK),
    ("query", line("GET /next?a=b HTTP/1.1"), OK),
    ("upgrade that nobody knows", field("Connection: upgrade\r\nUpgrade: h2c") + NEXT, (200, 200)),
    ("upgrade with a body", post("Connection: upgrade", "Upgrade: x", f"{CL}: 3", body="abc") + NEXT, (200, 200)),
    ("empty value", field("X-A:"), OK),
    ("value not ASCII", field("X-A: \xe4").encode("latin-1"), OK),
    ("tab in a value", field("X-A: a\tb"), OK),
    ("all letters of a name", field("!#$%&'*+-.^_`|~09Az: a"), OK),
    ("Host in other letters", "GET /next HTTP/1.1\r\nhOsT: 127.0.0.1:@\r\n\r\n", OK),
    ("HEAD has no body in its answer", line("HEAD /next HTTP/1.1") + NEXT, (200, 200)),
    ("body at the limit", post(f"{CL}: 4096", body="x" * 4096), OK),
]  # fmt: skip

REFUSED: list[Case] = [
    ("two lengths", post(f"{CL}: 3", f"{CL}: 4", body="abc") + NEXT, BAD),
    ("two equal lengths", post(f"{CL}: 3", f"{CL}: 3", body="abc") + NEXT, BAD),
    ("two lengths in one line", post(f"{CL}: 3, 4", body="abc") + NEXT, BAD),
    ("two equal lengths in one line", post(f"{CL}: 3, 3", body="abc") + NEXT, BAD),
    ("length and chunks", post(f"{CL}: 3", f"{TE}: chunked", body=WHOLE) + NEXT, BAD),
    ("chunks and length", post(f"{TE}: chunked", f"{CL}: 3", body=WHOLE) + NEXT, BAD),
    ("length of zero and chunks", post(f"{CL}: 0", f"{TE}: chunked", body=WHOLE) + NEXT, BAD),
    ("length below zero", post(f"{CL}: -1", body="abc") + NEXT, BAD),
    ("length with a plus", post(f"{CL}: +3", body="abc") + NEXT, BAD),
    ("length in hex", post(f"{CL}: 0x3", body="abc") + NEXT, BAD),
    ("length with an underscore", post(f"{CL}: 1_0", body="0123456789") + NEXT, BAD),
    ("length with a point", post(f"{CL}: 3.0", body="abc") + NEXT, BAD),
    ("length with an exponent", post(f"{CL}: 3e0", body="abc") + NEXT, BAD),
    ("length with a blank inside", post(f"{CL}: 3 3", body="abc") + NEXT, BAD),
    ("length with a comma behind", post(f"{CL}: 3,", body="abc") + NEXT, BAD),
    ("length in words", post(f"{CL}: three", body="abc") + NEXT, BAD),
    ("length in quotes", post(f'{CL}: "3"', body="abc") + NEXT, BAD),
    ("no length", post(f"{CL}:", body="abc") + NEXT, BAD),
    ("length in other digits", post(f"{CL}: \u0663", body="abc").encode() + NEXT.encode(), BAD),
    ("length with a superscript", post(f"{CL}: \xb3", body="abc").encode("latin-1"), BAD),
    ("two encodings", post(f"{TE}: chunked", f"{TE}: chunked", body=WHOLE) + NEXT, BAD),
    ("encodings in one line", post(f"{TE}: chunked, chunked", body=WHOLE) + NEXT, BAD),
    ("chunked not last", post(f"{TE}: chunked, identity", body=WHOLE) + NEXT, BAD),
    ("no encoding", post(f"{TE}:", body=WHOLE) + NEXT, BAD),
    ("a letter more", post(f"{TE}: xchunked", body=WHOLE) + NEXT, (501,)),
    ("a letter behind", post(f"{TE}: chunkedx", body=WHOLE) + NEXT, (501,)),
    ("identity", post(f"{TE}: identity", body=WHOLE) + NEXT, (501,)),
    ("gzip, then chunked", post(f"{TE}: gzip, chunked", body=WHOLE) + NEXT, (501,)),
    ("vertical tab before chunked", post(f"{TE}: \x0bchunked", body=WHOLE) + NEXT, BAD),
    ("chunked in quotes", post(f'{TE}: "chunked"', body=WHOLE) + NEXT, (501,)),
    ("chunked with a parameter", post(f"{TE}: chunked;q=1", body=WHOLE) + NEXT, (501,)),
    ("chunks in HTTP/1.0", f"POST /echo HTTP/1.0\r\n{H}{TE}: chunked\r\n\r\n{WHOLE}{NEXT}", (501,)),
    ("blank before the colon of a length", post(f"{CL} : 3", body="abc") + NEXT, BAD),
    ("blank before the colon of an encoding", post(f"{TE} : chunked", body=WHOLE) + NEXT, BAD),
    ("tab before the colon", field("X-A\t: b") + NEXT, BAD),
    ("blank in a name", field("X A: b") + NEXT, BAD),
    ("no colon", field("X-A") + NEXT, BAD),
    ("no name", field(": b") + NEXT, BAD),
    ("name in brackets", field("X(A): b") + NEXT, BAD),
    ("name not ASCII", field("X-\xe4: b").encode("latin-1"), BAD),
    ("NUL in a name", field("X-\0A: b") + NEXT, BAD),
    ("NUL in a value", field("X-A: a\0b") + NEXT, BAD),
    ("return in a value", field("X-A: a\rb") + NEXT, BAD),
    ("bell in a value", field("X-A: a\x07b") + NEXT, BAD),
    ("DEL in a value", field("X-A: a\x7fb") + NEXT, BAD),
    ("folded line", field("X-A: a\r\n b") + NEXT, BAD),
    ("folded with a tab", field("X-A: a\r\n\tb") + NEXT, BAD),
    ("folded length", post(f"{CL}:\r\n 3", body="abc") + NEXT, BAD),
    ("folded encoding", post(f"{TE}:\r\n chunked", body=WHOLE) + NEXT, BAD),
    ("fold before the first field", f"GET /next HTTP/1.1\r\n {H}\r\n", BAD),
    ("bare line ends", f"GET /next HTTP/1.1\nHost: 127.0.0.1:@\n\n{NEXT}", BAD),
    ("a bare line end behind the first line", f"GET /next HTTP/1.1\n{H}\r\n", BAD),
    ("a bare line end behind a field", "GET /next HTTP/1.1\r\nHost: 127.0.0.1:@\nX-A: b\r\n\r\n", BAD),
    ("a bare line end at the end of the head", f"GET /next HTTP/1.1\r\n{H}\n{NEXT}", BAD),
    ("bare returns", f"GET /next HTTP/1.1\rHost: 127.0.0.1:@\r\r{NEXT}", BAD),
    ("two returns", f"GET /next HTTP/1.1\r\r\n{H}\r\n", BAD),
    ("chunk with a bare line end", chunked("3\nabc\r\n0\r\n\r\n") + NEXT, BAD),
    ("chunk data with a bare line end", chunked("3\r\nabc\n0\r\n\r\n") + NEXT, BAD),
    ("last chunk with a bare line end", chunked("3\r\nabc\r\n0\n\r\n") + NEXT, BAD),
    ("chunk longer than its size", chunked("3\r\nabcd\r\n0\r\n\r\n") + NEXT, BAD),
    ("chunk without an end", chunked("3\r\nabc0\r\n\r\n") + NEXT, BAD),
    ("chunk size below zero", chunked("-3\r\nabc\r\n0\r\n\r\n") + NEXT, BAD),
    ("chunk size with a plus", chunked("+3\r\nabc\r\n0\r\n\r\n") + NEXT, BAD),
    ("chunk size with 0x", chunked("0x3\r\nabc\r\n0\r\n\r\n") + NEXT, BAD),
    ("chunk size with an underscore", chunked("1_0\r\n0123456789abcdef\r\n0\r\n\r\n") + NEXT, BAD),
    ("chunk size in words", chunked("three\r\nabc\r\n0\r\n\r\n") + NEXT, BAD),
    ("no chunk size", chunked("\r\nabc\r\n0\r\n\r\n") + NEXT, BAD),
    ("blank before a chunk size", chunked(" 3\r\nabc\r\n0\r\n\r\n") + NEXT, BAD),
    ("chunk size of 17 digits", chunked("10000000000000003\r\nabc\r\n0\r\n\r\n") + NEXT, BAD),
    ("extension with a bare line end", chunked("3;a\nb\r\nabc\r\n0\r\n\r\n") + NEXT, BAD),
    ("extension with a return", chunked("3;a\rb\r\nabc\r\n0\r\n\r\n") + NEXT, BAD),
    ("extension with a NUL", chunked("3;a\0\r\nabc\r\n0\r\n\r\n") + NEXT, BAD),
    ("trailer without a colon", chunked("3\r\nabc\r\n0\r\nX\r\n\r\n") + NEXT, BAD),
    ("trailer with a blank before the colon", chunked("3\r\nabc\r\n0\r\nX : y\r\n\r\n") + NEXT, BAD),
    ("folded trailer", chunked("3\r\nabc\r\n0\r\nX: y\r\n z\r\n\r\n") + NEXT, BAD),
    ("no Host", "GET /next HTTP/1.1\r\n\r\n" + NEXT, (400, 200)),
    ("two Hosts", f"GET /next HTTP/1.1\r\n{H}{H}\r\n" + NEXT, BAD),
    ("Host in two parts", "GET /next HTTP/1.1\r\nHost: 127.0.0.1:@, x\r\n\r\n" + NEXT, (403, 200)),
    ("Host with a path", "GET /next HTTP/1.1\r\nHost: 127.0.0.1:@/x\r\n\r\n" + NEXT, (403, 200)),
    ("Host with a user", "GET /next HTTP/1.1\r\nHost: a@127.0.0.1:@\r\n\r\n" + NEXT, (403, 200)),
    ("no version", line("GET /next") + NEXT, (505,)),
    ("no target", line("GET HTTP/1.1") + NEXT, BAD),
    ("two blanks", line("GET  /next HTTP/1.1") + NEXT, (200, 200)),
    ("two blanks before the version", line("GET /next  HTTP/1.1") + NEXT, (200, 200)),
    ("tab for a blank", line("GET\t/next HTTP/1.1") + NEXT, BAD),
    ("blank before the method", line(" GET /next HTTP/1.1") + NEXT, BAD),
    ("blank behind the version", line("GET /next HTTP/1.1 ") + NEXT, BAD),
    ("more behind the version", line("GET /next HTTP/1.1 x") + NEXT, BAD),
    ("blank in the target", line("GET /ne xt HTTP/1.1") + NEXT, BAD),
    ("NUL in the target", line("GET /ne\0xt HTTP/1.1") + NEXT, BAD),
    ("DEL in the target", line("GET /ne\x7fxt HTTP/1.1") + NEXT, BAD),
    ("target not ASCII", line("GET /n\xe4xt HTTP/1.1").encode("latin-1"), BAD),
    ("target without a slash", line("GET next HTTP/1.1") + NEXT, BAD),
    ("fragment", line("GET /next#a HTTP/1.1") + NEXT, (400, 200)),
    ("broken escape", line("GET /next%zz HTTP/1.1"), BAD),
    ("asterisk with GET", line("GET * HTTP/1.1") + NEXT, (400, 200)),
    ("authority form without CONNECT", line("GET 127.0.0.1:80 HTTP/1.1") + NEXT, BAD),
    ("absolute form of another scheme", line("GET ftp://127.0.0.1/next HTTP/1.1") + NEXT, (400, 200)),
    ("method with a bracket", line("G(T /next HTTP/1.1") + NEXT, BAD),
    ("method with a NUL", line("G\0T /next HTTP/1.1") + NEXT, BAD),
    ("no method", line("/next HTTP/1.1") + NEXT, BAD),
    ("small letters in the version", line("GET /next http/1.1") + NEXT, BAD),
    ("HTTP/1", line("GET /next HTTP/1") + NEXT, BAD),
    ("HTTP/1.1.1", line("GET /next HTTP/1.1.1") + NEXT, BAD),
    ("HTTP/01.1", line("GET /next HTTP/01.1") + NEXT, BAD),
    ("HTTP/1.x", line("GET /next HTTP/1.x") + NEXT, BAD),
    ("HTTPS/1.1", line("GET /next HTTPS/1.1") + NEXT, BAD),
    ("HTTP/2.0", line("GET /next HTTP/2.0") + NEXT, (505,)),
    ("HTTP/0.9", line("GET /next HTTP/0.9") + NEXT, (505,)),
    ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", BAD),
    ("a method that nobody knows", line("BREW /next HTTP/1.1"), BAD),
    ("a target that nobody knows", line("GET /nowhere HTTP/1.1"), (404,)),
    ("an expectation that nobody knows", post("Expect: 200-ok", f"{CL}: 3", body="abc") + NEXT, (417,)),
    ("length above the limit", post(f"{CL}: 4097", body="x" * 10) + NEXT, (413,)),
    ("length of twenty digits", post(f"{CL}: 99999999999999999999") + NEXT, BAD),
    ("length of three thousand digits", post(f"{CL}: {'9' * 3000}") + NEXT, BAD),
    ("chunks above the limit", chunked(f"800\r\n{'x' * 2048}\r\n801\r\n{'x' * 2049}\r\n0\r\n\r\n"), (413,)),
    ("a chunk above the limit that never comes", chunked("1001\r\n") + NEXT, ()),
    ("head above the limit", field("X-A: " + "a" * 5000), (431,)),
    ("trailers above the limit", chunked("0\r\n" + "X: y\r\n" * 2000 + "\r\n"), (431,)),
    ("a chunk line without an end", chunked("3;" + "a" * 9000), ()),
    ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 40 + b"\r\n\r\n", BAD),
]  # fmt: skip

CASES = ACCEPTED + REFUSED


async def _echo(request: Request) -> Response:
    return Response(200, b"[" + request.body + b"]")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    routes = (Route("POST", "/echo", _echo, "agent", "say it again"), Route("GET", "/next", _echo, "agent", "answer"))
    with running(routes, limits=LIMITS) as server:
        yield server.port


def talked(port: int, data: bytes) -> bytes:
    """All that is said on a connection on which these bytes are sent, and then no more."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        try:
            connection.sendall(data.replace(b":@", b":%d" % port))
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was refused before its end
        parts = []
        try:
            while part := connection.recv(65536):
                parts.append(part)
        except ConnectionResetError:
            pass
        return b"".join(parts)


def statuses(said: bytes) -> tuple[int, ...]:
    """The statuses of the answers."""
    return tuple(int(code) for code in re.findall(rb"(?:^|\]|\}|\n)HTTP/1\.1 (\d{3}) ", said))


@pytest.mark.parametrize(("note", "data", "want"), CASES, ids=[row[0] for row in CASES])
def test_framing(port: int, note: str, data: str | bytes, want: tuple[int, ...]) -> None:
    said = talked(port, data if isinstance(data, bytes) else data.encode("latin-1"))
    assert statuses(said) == want, (note, [line for line in said.split(b"\r\n") if line[:5] in (b"HTTP/", b'{"err')])
    if want == OK and b"abc" in (data if isinstance(data, bytes) else data.encode("latin-1")) and "xt" not in note:
        assert b"[abc]" in said, said


def test_the_body_is_waited_for_when_the_client_waits(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(post("Expect: 100-continue", f"{CL}: 3").replace(":@", f":{port}").encode())
        assert connection.recv(4096).startswith(b"HTTP/1.1 100 ")
        connection.sendall(b"abc")
        assert b"[abc]" in connection.recv(4096)


def test_no_two_cases_have_one_name() -> None:
    assert len({row[0] for row in CASES}) == len(CASES) > 145
