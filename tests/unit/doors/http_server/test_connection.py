"""HTTP/1.1 over a real socket: what is answered, in which order, and what is refused."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from interpose.core.config.settings import ServerLimits
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from tests.support.peers.wire import Wire
from tests.support.servers.servers import Running, running
from tests.support.timing.patience import PATIENCE

LIMITS = ServerLimits(max_body_bytes=4096, max_header_bytes=4096)
H = "Host: 127.0.0.1:PORT\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"
UPGRADE = "Connection: Upgrade\r\nUpgrade: h2c\r\n"


async def echo(request: Request) -> Response:
    return Response(body=request.body, headers=(("Content-Type", "application/octet-stream"),))


async def seen(request: Request) -> Response:
    return json_response({
        "method": request.method, "path": request.path, "params": request.params, "query": request.query,
        "headers": request.headers, "id": request.request_id, "peer": request.peer.kind, "client": request.client,
    })  # fmt: skip


async def later(request: Request) -> Response:
    for _ in range(5):
        await asyncio.sleep(0)
    return Response(body=request.body)


async def failing(_request: Request) -> Response:
    raise RuntimeError("the password is swordfish")


async def refusing(_request: Request) -> Response:
    raise Refusal(409, "taken", "somebody was faster", (("Retry-After", "3"),))


async def injecting(_request: Request) -> Response:
    return Response(headers=(("X-Evil", "a\r\nSet-Cookie: b"),))


async def streaming(request: Request) -> Response:
    async def pieces() -> AsyncIterator[bytes]:
        for number in range(3):
            if request.query.get("fail") == str(number):
                raise RuntimeError("in the middle")
            yield b'{"n":%d}\n' % number
            yield b""

    return Response(stream=pieces(), headers=(("Content-Type", "application/x-ndjson"),))


ROUTES = [
    Route("POST", "/echo", echo, "agent", ""),
    Route("POST", "/later", later, "agent", ""),
    Route("GET", "/seen", seen, "open", ""),
    Route("POST", "/seen", seen, "open", ""),
    Route("GET", "/things/{id}/parts/{part}", seen, "agent", ""),
    Route("GET", "/things/all/parts/{part}", seen, "agent", ""),
    Route("GET", "/failing", failing, "agent", ""),
    Route("GET", "/refusing", refusing, "agent", ""),
    Route("GET", "/operators", seen, "operator", ""),
    Route("GET", "/injecting", injecting, "agent", ""),
    Route("GET", "/streaming", streaming, "agent", ""),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(ROUTES, limits=LIMITS) as found:
        yield found


@pytest.fixture
def wire(server: Running) -> Iterator[Wire]:
    with Wire.to(server.port) as found:
        yield found


def filled(server: Running, text: str) -> bytes:
    return text.replace("PORT", str(server.port)).encode("latin-1")


def chunked(*pieces: str) -> str:
    return "".join(f"{len(piece):x}\r\n{piece}\r\n" for piece in pieces) + "0\r\n\r\n"


GOOD = [
    ("a length", f"POST /echo HTTP/1.1\r\n{H}Content-Length: 3\r\n\r\nabc", b"abc"),
    ("chunks", f"POST /echo HTTP/1.1\r\n{H}{CHUNKED}\r\n" + chunked("ab", "c"), b"abc"),
    ("chunks in capitals", f"POST /echo HTTP/1.1\r\n{H}TRANSFER-ENCODING: Chunked\r\n\r\n" + chunked("abc"), b"abc"),
    ("a chunk with an extension", f"POST /echo HTTP/1.1\r\n{H}{CHUNKED}\r\n3;x=y\r\nabc\r\n0\r\n\r\n", b"abc"),
    ("no body", f"POST /echo HTTP/1.1\r\n{H}\r\n", b""),
    ("an upgrade that we don't follow", f"POST /echo HTTP/1.1\r\n{H}{UPGRADE}Content-Length: 3\r\n\r\nabc", b"abc"),
    ("an upgrade with chunks", f"POST /echo HTTP/1.1\r\n{H}{UPGRADE}{CHUNKED}\r\n" + chunked("a", "bc"), b"abc"),
    ("an upgrade without a body", f"POST /echo HTTP/1.1\r\n{H}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n", b""),
    ("empty lines before the request", f"\r\n\r\nPOST /echo HTTP/1.1\r\n{H}Content-Length: 1\r\n\r\nx", b"x"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "want"), [pytest.param(*case[1:], id=case[0]) for case in GOOD])
@pytest.mark.parametrize("step", [0, 1, 7], ids=["at once", "byte by byte", "in pieces"])
def test_bodies_arrive_and_the_connection_stays(server: Running, wire: Wire, text: str, want: bytes, step: int) -> None:
    data = filled(server, text)
    for start in range(0, len(data), step or len(data)):
        wire.send(data[start : start + (step or len(data))])
    first = wire.answer()
    wire.send(filled(server, f"POST /echo HTTP/1.1\r\n{H}Content-Length: 2\r\n\r\nok"))
    assert (first.status, first.body, wire.answer().body) == (200, want, b"ok")


BAD = [
    ("two lengths", f"POST /echo HTTP/1.1\r\n{H}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400),
    ("two different lengths", f"POST /echo HTTP/1.1\r\n{H}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400),
    ("a list of lengths", f"POST /echo HTTP/1.1\r\n{H}Content-Length: 3, 3\r\n\r\nabc", 400),
    ("a length with a sign", f"POST /echo HTTP/1.1\r\n{H}Content-Length: +3\r\n\r\nabc", 400),
    ("a hexadecimal length", f"POST /echo HTTP/1.1\r\n{H}Content-Length: 0x3\r\n\r\nabc", 400),
    ("an empty length", f"POST /echo HTTP/1.1\r\n{H}Content-Length:\r\n\r\n", 400),
    ("a length beyond 64 bits", f"POST /echo HTTP/1.1\r\n{H}Content-Length: {'9' * 30}\r\n\r\n", 400),
    ("length, then chunks", f"POST /echo HTTP/1.1\r\n{H}Content-Length: 3\r\n{CHUNKED}\r\n0\r\n\r\n", 400),
    ("chunks, then length", f"POST /echo HTTP/1.1\r\n{H}{CHUNKED}Content-Length: 3\r\n\r\n0\r\n\r\n", 400),
    ("an unknown coding", f"POST /echo HTTP/1.1\r\n{H}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
    ("compressed chunks", f"POST /echo HTTP/1.1\r\n{H}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    ("chunked not last", f"POST /echo HTTP/1.1\r\n{H}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400),
    ("chunked twice", f"POST /echo HTTP/1.1\r\n{H}{CHUNKED}{CHUNKED}\r\n0\r\n\r\n", 400),
    ("a blank before the colon", f"POST /echo HTTP/1.1\r\n{H}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
    ("chunks in HTTP/1.0", f"POST /echo HTTP/1.0\r\n{H}{CHUNKED}\r\n0\r\n\r\n", 501),
    ("a chunk size beyond 64 bits", f"POST /echo HTTP/1.1\r\n{H}{CHUNKED}\r\n{'f' * 17}\r\n", 400),
    ("a chunk size with a sign", f"POST /echo HTTP/1.1\r\n{H}{CHUNKED}\r\n-1\r\n", 400),
    ("bare line feeds", "GET /seen HTTP/1.1\nHost: 127.0.0.1:PORT\n\n", 400),
    ("a folded header", f"GET /seen HTTP/1.1\r\n{H} folded: x\r\n\r\n", 400),
    ("a zero byte in a header", f"GET /seen HTTP/1.1\r\n{H}X: a\0b\r\n\r\n", 400),
    ("a header without a name", f"GET /seen HTTP/1.1\r\n{H}: x\r\n\r\n", 400),
    ("the type twice", f"POST /echo HTTP/1.1\r\n{H}Content-Type: a/b\r\nContent-Type: c/d\r\n\r\n", 400),
    ("two tokens", f"GET /seen HTTP/1.1\r\n{H}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n", 400),
    ("HTTP/2", f"GET /seen HTTP/2.0\r\n{H}\r\n", 505),
    ("HTTP/0.9", f"GET /seen HTTP/0.9\r\n{H}\r\n", 505),
    ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    ("a TLS hello", "\x16\x03\x01\x02\x00\x01\x00", 400),
    ("no such method", f"FROB /seen HTTP/1.1\r\n{H}\r\n", 400),
    ("a tunnel", f"CONNECT evil.example:443 HTTP/1.1\r\n{H}\r\n", 405),
    ("blanks in the target", f"GET /se en HTTP/1.1\r\n{H}\r\n", 400),
    ("a target that is too long", f"GET /{'a' * 9000} HTTP/1.1\r\n{H}\r\n", 414),
    ("a header that is too long", f"GET /seen HTTP/1.1\r\n{H}X: {'a' * 5000}\r\n\r\n", 431),
    ("too many headers", f"GET /seen HTTP/1.1\r\n{H}" + "X: a\r\n" * 101 + "\r\n", 431),
    ("a body that is too long", f"POST /echo HTTP/1.1\r\n{H}Content-Length: 4097\r\n\r\n", 413),
    ("chunks that are too long", f"POST /echo HTTP/1.1\r\n{H}{CHUNKED}\r\n" + chunked("a" * 4000, "b" * 97), 413),
    ("a body in too many pieces", f"POST /echo HTTP/1.1\r\n{H}{CHUNKED}\r\n" + chunked(*["a"] * 1025), 400),
    ("another expectation", f"POST /echo HTTP/1.1\r\n{H}Expect: a-miracle\r\nContent-Length: 1\r\n\r\nx", 417),
    ("nothing there, with a body", f"POST /nothing HTTP/1.1\r\n{H}Content-Length: 5\r\n\r\nabcde", 404),
    ("another method, with a body", f"PUT /echo HTTP/1.1\r\n{H}Content-Length: 5\r\n\r\nabcde", 405),
]  # fmt: skip
REFUSED = [
    ("a fragment", f"GET /seen#x HTTP/1.1\r\n{H}\r\n", 400),
    ("a broken escape", f"GET /things/%zz/parts/1 HTTP/1.1\r\n{H}\r\n", 400),
    ("an escaped zero byte", f"GET /things/%00/parts/1 HTTP/1.1\r\n{H}\r\n", 400),
    ("escapes that are no UTF-8", f"GET /things/%ff/parts/1 HTTP/1.1\r\n{H}\r\n", 400),
    ("a field of the query twice", f"GET /seen?a=1&a=2 HTTP/1.1\r\n{H}\r\n", 400),
    ("too many fields in the query", f"GET /seen?{'&'.join(f'a{n}=1' for n in range(70))} HTTP/1.1\r\n{H}\r\n", 400),
    ("nothing there", f"GET /nothing HTTP/1.1\r\n{H}\r\n", 404),
    ("another method", f"DELETE /seen HTTP/1.1\r\n{H}\r\n", 405),
    ("a role that is missing", f"GET /operators HTTP/1.1\r\n{H}\r\n", 401),
    ("an answer of the handler", f"GET /refusing HTTP/1.1\r\n{H}\r\n", 409),
]  # fmt: skip


@pytest.mark.parametrize(("text", "status"), [pytest.param(*case[1:], id=case[0]) for case in BAD])
def test_after_what_could_mean_two_things_nothing_is_read(server: Running, wire: Wire, text: str, status: int) -> None:
    """Behind it comes a request that must never be seen: whoever disagrees about lengths could smuggle it in."""
    wire.send(filled(server, text + f"GET /seen HTTP/1.1\r\n{H}\r\n"))
    answer = wire.answer()
    assert answer.status == status
    assert answer.json.keys() == {"error", "message"}
    assert answer.headers["connection"] == "close"
    assert wire.closed()


@pytest.mark.parametrize(("text", "status"), [pytest.param(*case[1:], id=case[0]) for case in REFUSED])
def test_a_refusal_without_a_body_keeps_the_connection(server: Running, wire: Wire, text: str, status: int) -> None:
    wire.send(filled(server, text + f"GET /seen HTTP/1.1\r\n{H}\r\n"))
    answer = wire.answer()
    assert answer.status == status
    assert answer.json.keys() == {"error", "message"}
    assert wire.answer().status == 200


def test_answers_come_in_the_order_of_the_requests(server: Running, wire: Wire) -> None:
    paths = ["later", "echo", "nothing", "later", "echo"] * 20
    text = "".join(f"POST /{path} HTTP/1.1\r\n{H}X-Request-ID: r{n}\r\n\r\n" for n, path in enumerate(paths[:40]))
    wire.send(filled(server, text))
    answers = [wire.answer() for _ in range(40)]
    assert [answer.headers["x-request-id"] for answer in answers] == [f"r{n}" for n in range(40)]
    assert [answer.status for answer in answers] == [404 if path == "nothing" else 200 for path in paths[:40]]


def test_a_client_that_waits_for_a_sign_gets_one(server: Running, wire: Wire) -> None:
    wire.send(filled(server, f"POST /echo HTTP/1.1\r\n{H}Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"))
    assert wire.answer().status == 100
    wire.send(b"abc")
    assert wire.answer().body == b"abc"


def test_the_sign_waits_for_earlier_answers(server: Running, wire: Wire) -> None:
    ahead = f"POST /later HTTP/1.1\r\n{H}\r\n"
    wire.send(filled(server, ahead + f"POST /echo HTTP/1.1\r\n{H}Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"))
    assert [wire.answer().status, wire.answer().status] == [200, 100]
    wire.send(b"abc")
    assert wire.answer().body == b"abc"


def test_no_sign_for_what_is_refused(server: Running, wire: Wire) -> None:
    wire.send(filled(server, f"POST /echo HTTP/1.1\r\n{H}Expect: 100-continue\r\nContent-Length: 9999\r\n\r\n"))
    assert wire.answer().status == 413


def test_head_has_the_length_but_not_the_body(server: Running, wire: Wire) -> None:
    wire.send(filled(server, f"HEAD /seen HTTP/1.1\r\n{H}\r\nHEAD /streaming HTTP/1.1\r\n{H}\r\n"))
    assert int(wire.answer(without_body=True).headers["content-length"]) > 0
    assert wire.answer(without_body=True).status == 200
    wire.send(filled(server, f"GET /seen HTTP/1.1\r\n{H}\r\n"))
    assert wire.answer().json["method"] == "GET"


def test_methods_are_told(server: Running, wire: Wire) -> None:
    wire.send(filled(server, f"OPTIONS /seen HTTP/1.1\r\n{H}\r\nPUT /echo HTTP/1.1\r\n{H}\r\n"))
    told, refused = wire.answer(), wire.answer()
    assert (told.status, told.headers["allow"]) == (204, "GET, HEAD, OPTIONS, POST")
    assert (refused.status, refused.headers["allow"]) == (405, "OPTIONS, POST")


@pytest.mark.parametrize("version", ["HTTP/1.0\r\n", "HTTP/1.1\r\nConnection: close\r\n"])
def test_the_connection_ends_when_the_client_wants_it(server: Running, wire: Wire, version: str) -> None:
    wire.send(filled(server, f"GET /seen {version}{H}\r\n"))
    assert wire.answer().headers["connection"] == "close"
    assert wire.closed()


def test_a_half_closed_client_gets_its_answers(server: Running, wire: Wire) -> None:
    wire.send(filled(server, f"POST /later HTTP/1.1\r\n{H}\r\n" * 2))
    wire.finish()
    assert [wire.answer().status, wire.answer().status] == [200, 200]
    assert wire.closed()


def test_a_client_that_leaves_in_a_request_is_let_go(server: Running, wire: Wire) -> None:
    wire.send(filled(server, f"POST /echo HTTP/1.1\r\n{H}Content-Length: 100\r\n\r\nabc"))
    wire.finish()
    assert wire.closed()


def test_what_the_handler_sees(server: Running, wire: Wire) -> None:
    target = "/things/a%2Fb%20%C3%BC/parts/7?q=x+y%26z&empty="
    wire.send(filled(server, f"GET {target} HTTP/1.1\r\n{H}X-Many: a\r\nx-many: b\r\nX-Request-ID: my-1\r\n\r\n"))
    found = wire.answer()
    assert found.headers["x-request-id"] == "my-1"
    assert found.json["id"] == "my-1"
    assert found.json["path"] == "/things/a/b ü/parts/7"
    assert found.json["params"] == {"id": "a/b ü", "part": "7"}
    assert found.json["query"] == {"q": "x y&z", "empty": ""}
    assert found.json["headers"]["x-many"] == "a, b"
    assert (found.json["peer"], found.json["client"]) == ("tcp", "127.0.0.1")


def test_a_written_segment_goes_before_a_name(server: Running) -> None:
    assert server.ask("GET", "/things/all/parts/1").json["params"] == {"part": "1"}
    assert server.ask("GET", "/things//parts/1").status == 404


@pytest.mark.parametrize("given", ["x" * 129, "a b", 'a"b', "ü", ""])
def test_a_request_id_that_could_do_harm_is_replaced(server: Running, wire: Wire, given: str) -> None:
    wire.send(filled(server, f"GET /seen HTTP/1.1\r\n{H}X-Request-ID: {given}\r\n\r\n"))
    found = wire.answer().headers["x-request-id"]
    assert found != given
    assert len(found) == 32


@pytest.mark.parametrize("path", ["failing", "injecting"])
def test_what_went_wrong_inside_stays_inside(
    server: Running, wire: Wire, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="interpose.http"):
        wire.send(filled(server, f"GET /{path} HTTP/1.1\r\n{H}X-Request-ID: lookup-1\r\n\r\n"))
        answer = wire.answer()
    assert (answer.status, answer.json["error"]) == (500, "internal_error")
    assert "lookup-1" in answer.json["message"]
    assert b"swordfish" not in answer.body
    assert b"Traceback" not in answer.body
    assert "set-cookie" not in answer.headers
    assert "lookup-1" in caplog.text
    wire.send(filled(server, f"GET /seen HTTP/1.1\r\n{H}\r\n"))
    assert wire.answer().status == 200


def test_a_stream_comes_in_chunks(server: Running, wire: Wire) -> None:
    wire.send(filled(server, f"GET /streaming HTTP/1.1\r\n{H}\r\n" * 2))
    for _ in range(2):
        answer = wire.answer()
        assert answer.headers["content-type"] == "application/x-ndjson"
        assert answer.body == b'{"n":0}\n{"n":1}\n{"n":2}\n'


def test_an_old_client_gets_a_stream_that_ends_with_the_connection(server: Running, wire: Wire) -> None:
    wire.send(filled(server, f"GET /streaming HTTP/1.0\r\n{H}\r\n"))
    answer = wire.answer()
    assert "transfer-encoding" not in answer.headers
    assert answer.body.count(b"\n") == 3


def test_a_stream_that_fails_does_not_look_whole(server: Running, wire: Wire) -> None:
    wire.send(filled(server, f"GET /streaming?fail=1 HTTP/1.1\r\n{H}\r\n"))
    with pytest.raises(ConnectionError):
        wire.answer()


def test_a_handler_whose_client_left_is_cancelled() -> None:
    """A client that is gone looks like one that only sends no more, so it is given a moment."""
    entered, cancelled = threading.Event(), threading.Event()

    async def waiting(_request: Request) -> Response:
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return Response()

    with running([Route("GET", "/", waiting, "agent", "")], limits=ServerLimits(body_timeout=0.1)) as server:
        with Wire.to(server.port) as wire:
            wire.send(filled(server, f"GET / HTTP/1.1\r\n{H}\r\n"))
            assert entered.wait(PATIENCE)
        assert cancelled.wait(PATIENCE)


def test_an_answer_before_the_answer() -> None:
    async def slow(request: Request) -> Response:
        request.inform(102, (("X-Why", "a person thinks"),))
        return Response(body=b"yes")

    with running([Route("GET", "/", slow, "agent", "")]) as server, Wire.to(server.port) as wire:
        wire.send(filled(server, f"GET / HTTP/1.1\r\n{H}\r\n"))
        first = wire.answer(without_body=True)
        assert (first.status, first.headers) == (102, {"x-why": "a person thinks"})
        assert wire.answer().body == b"yes"


def test_an_old_client_gets_none() -> None:
    async def slow(request: Request) -> Response:
        request.inform(102, ())
        return Response(body=b"yes")

    with running([Route("GET", "/", slow, "agent", "")]) as server, Wire.to(server.port) as wire:
        wire.send(filled(server, f"GET / HTTP/1.0\r\n{H}\r\n"))
        assert wire.answer().status == 200


def test_who_was_told_to_wait_and_leaves_is_given_up_at_once() -> None:
    """Not after the time that a client gets that only sends no more: that is an hour here."""
    entered, cancelled = threading.Event(), threading.Event()

    async def waiting(request: Request) -> Response:
        request.inform(102, ())
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return Response()

    with running([Route("GET", "/", waiting, "agent", "")], limits=ServerLimits(body_timeout=3600)) as server:
        with Wire.to(server.port) as wire:
            wire.send(filled(server, f"GET / HTTP/1.1\r\n{H}\r\n"))
            assert entered.wait(PATIENCE)
        assert cancelled.wait(PATIENCE)
