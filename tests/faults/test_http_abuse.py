"""Clients that want too much: others are still served, and what is kept for them stays bounded.

The server is a process of its own. Its limits of time are short here, so that a test can wait for them to pass. Times
are compared generously: they show that nobody has to wait for an abuser, not how fast the server is.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from select import poll
from time import perf_counter

import msgspec
import pytest

from interpose.core.config.settings import ServerLimits
from tests.support.peers.wire import Wire
from tests.support.timing.patience import PATIENCE

MB = 1 << 20
LIMITS = ServerLimits(
    header_timeout=1.0, body_timeout=1.0, idle_timeout=2.0, max_body_bytes=4 * MB, max_connections=1500
)
BODY = b'{"command":"git status"}'


class Server:
    """The process."""

    def __init__(self, limits: ServerLimits = LIMITS) -> None:
        child = Path(__file__).with_name("http_child.py")
        self.process = subprocess.Popen(
            [sys.executable, str(child), msgspec.json.encode(limits).decode()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def head(self, line: str, *headers: str) -> bytes:
        return "\r\n".join([f"{line} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", *headers, "", ""]).encode()

    def memory(self, what: str = "VmRSS") -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(what)) << 10

    def slowest(self, count: int = 100) -> float:
        """The longest that one of some ordinary requests takes, on connections of their own."""
        request = self.head("POST /echo", f"Content-Length: {len(BODY)}") + BODY
        worst = 0.0
        for _ in range(count // 10):
            with Wire.to(self.port) as wire:
                for _ in range(10):
                    start = perf_counter()
                    wire.send(request)
                    assert wire.answer().body == BODY
                    worst = max(worst, perf_counter() - start)
        return worst

    def stop(self) -> None:
        self.process.communicate(timeout=PATIENCE)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.stop()
    assert found.process.returncode == 0


class Usual:
    """What ordinary clients see when nobody misbehaves, and whether it is still so."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._undisturbed = max(server.slowest(), 0.02)

    def holds(self) -> bool:
        """Once in a few looks: a busy machine is slow now and then, a server that is held up is slow every time."""
        return any(self._server.slowest() <= 20 * self._undisturbed for _ in range(5))


@pytest.fixture
def usual(server: Server) -> Usual:
    return Usual(server)


def end_of(sock: socket.socket) -> bytes:
    """Everything until the server ends the connection."""
    with Wire(sock) as wire:
        try:
            return wire.rest()
        except ConnectionError:
            return b""


def test_a_thousand_idle_sockets(server: Server, usual: Usual) -> None:
    before = server.memory()
    sockets = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(1000)]
    assert usual.holds()
    assert server.memory() - before < 64 * MB
    assert [end_of(sock) for sock in sockets] == [b""] * 1000


SLOW = {
    "a head that never ends": lambda server: server.head("POST /echo")[:-2],
    "a first line that never ends": lambda server: b"POST /ec",
    "a body that never comes": lambda server: server.head("POST /echo", "Content-Length: 100"),
    "a body that begins": lambda server: server.head("POST /echo", f"Content-Length: {MB}") + b"[" * 1000,
    "chunks that never end": lambda server: server.head("POST /echo", "Transfer-Encoding: chunked") + b"1\r\n[\r\n",
}


@pytest.mark.parametrize("start", SLOW.values(), ids=SLOW.keys())
def test_slow_clients(server: Server, usual: Usual, start: object) -> None:
    assert callable(start)
    sockets = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(100)]
    for sock in sockets:
        sock.sendall(start(server))
    assert usual.holds()
    answers = [end_of(sock) for sock in sockets]
    assert all(answer.startswith(b"HTTP/1.1 408 ") and b'"timeout"' in answer for answer in answers)


def test_a_client_that_sends_a_byte_at_a_time_is_not_waited_for(server: Server) -> None:
    """The time of a body is counted from its head, not from its last byte."""
    with Wire.to(server.port) as wire:
        wire.send(server.head("POST /echo", "Content-Length: 100000"))
        wire.socket.settimeout(0.05)
        start = perf_counter()
        while perf_counter() - start < 10:
            try:
                wire.send(b"[")
                found = wire.answer()
            except TimeoutError:
                continue
            assert found.status == 408
            break
        assert perf_counter() - start < 8


BODIES = {
    "a length": lambda server: [server.head("POST /echo", f"Content-Length: {10 * MB}"), *[b"1" * MB] * 10],
    "chunks": lambda server: [
        server.head("POST /echo", "Transfer-Encoding: chunked"),
        *[b"%x\r\n" % MB + b"1" * MB + b"\r\n"] * 10,
    ],
    "tiny chunks": lambda server: [
        server.head("POST /echo", "Transfer-Encoding: chunked"),
        *[b"1\r\n1\r\n" * 10_000] * 150,
    ],
    "endless trailers": lambda server: [
        server.head("POST /echo", "Transfer-Encoding: chunked") + b"1\r\n1\r\n0\r\nX: ",
        *[b"x" * MB] * 10,
    ],
    "endless extensions": lambda server: [
        server.head("POST /echo", "Transfer-Encoding: chunked") + b"1;",
        *[b"x" * MB] * 10,
    ],
}


@pytest.mark.parametrize("pieces", BODIES.values(), ids=BODIES.keys())
def test_bodies_that_are_too_large(server: Server, usual: Usual, pieces: object) -> None:
    """All of it is sent before the answer is read, and the answer still arrives."""
    assert callable(pieces)
    before = server.memory()

    def send(_number: int) -> int:
        with Wire.to(server.port) as wire:
            for piece in pieces(server):
                wire.send(piece)
            return wire.answer().status

    with ThreadPoolExecutor(4) as pool:
        sent = pool.map(send, range(8))
        assert usual.holds()
        assert set(sent) <= {413, 400}
    assert server.memory() - before < 96 * MB


def test_many_bodies_that_are_not_whole_share_one_budget(server: Server, usual: Usual) -> None:
    before = server.memory()
    wires = [Wire.to(server.port) for _ in range(40)]
    cut_off = [wire for wire in wires if not all_is_sent(wire, server)]
    assert usual.holds()
    assert server.memory("VmHWM") - before < 160 * MB
    statuses = {wire: end_of(wire.socket)[9:12] for wire in wires}
    # A busy machine may be too slow for the server's patience: it ends the connection, and its answer may be lost.
    assert {statuses[wire] for wire in wires if wire not in cut_off} | {b"503"} == {b"503", b"408"}
    assert {statuses[wire] for wire in cut_off} <= {b"503", b"408", b""}
    assert sum(status in (b"503", b"") for status in statuses.values()) >= 20


def all_is_sent(wire: Wire, server: Server) -> bool:
    """Whether the server takes all but the last byte of a large body, or at least lets us send it."""
    try:
        wire.send(server.head("POST /echo", f"Content-Length: {4 * MB}") + b"1" * (4 * MB - 1))
    except ConnectionError:
        return False
    return True


@pytest.mark.parametrize("piece", [b"[", b'{"a":', b"[0,"], ids=["lists", "objects", "wide lists"])
def test_nesting_to_a_million(server: Server, usual: Usual, piece: bytes) -> None:
    body = piece * (1_000_000 if len(piece) == 1 else 4 * MB // len(piece))
    request = server.head("POST /echo", f"Content-Length: {len(body)}") + body

    def send(_number: int) -> str:
        with Wire.to(server.port) as wire:
            wire.send(request)
            answer = wire.answer()
        assert answer.status == 400
        return str(answer.json["message"])

    with ThreadPoolExecutor(4) as pool:
        sent = pool.map(send, range(8))
        assert usual.holds()
        assert all("nested deeper than 128 levels" in message for message in sent)


HEADS = {
    "one header of 10 MB": lambda server: [server.head("GET /much")[:-2] + b"X: ", *[b"x" * MB] * 10],
    "one name of 10 MB": lambda server: [server.head("GET /much")[:-2], *[b"x" * MB] * 10],
    "ten thousand headers": lambda server: [server.head("GET /much")[:-2], b"X: y\r\n" * 10_000],
    "a target of 10 MB": lambda server: [b"GET /", *[b"x" * MB] * 10],
    "a method of 10 MB": lambda server: [b"G" * MB] * 10,
}


@pytest.mark.parametrize("pieces", HEADS.values(), ids=HEADS.keys())
def test_heads_that_are_too_large(server: Server, usual: Usual, pieces: object) -> None:
    assert callable(pieces)
    before = server.memory()

    def send(_number: int) -> int:
        with Wire.to(server.port) as wire:
            for piece in pieces(server):
                wire.send(piece)
            return wire.answer().status

    with ThreadPoolExecutor(8) as pool:
        sent = pool.map(send, range(16))
        assert usual.holds()
        assert set(sent) <= {400, 414, 431}
    assert server.memory() - before < 64 * MB


def test_clients_that_never_read_their_answers(server: Server, usual: Usual) -> None:
    before = server.memory()
    wires = [Wire.to(server.port) for _ in range(20)]
    for wire in wires:
        wire.send(server.head("GET /much") * 200)
    assert usual.holds()
    assert server.memory("VmHWM") - before < 200 * MB
    for wire in wires:
        end = poll()
        end.register(wire.socket, 0)
        assert end.poll(20_000), "the server still keeps answers for a client that does not read"
        wire.socket.close()


def test_a_client_that_asks_thousands_of_things_at_once(server: Server, usual: Usual) -> None:
    request = server.head("POST /echo", f"Content-Length: {len(BODY)}") + BODY

    def send(_number: int) -> int:
        with Wire.to(server.port) as wire, ThreadPoolExecutor(1) as writer:
            writing = writer.submit(wire.send, request * 2000)
            answered = sum(wire.answer().body == BODY for _ in range(2000))
            writing.result()
            return answered

    with ThreadPoolExecutor(2) as pool:
        sent = pool.map(send, range(2))
        assert usual.holds()
        assert list(sent) == [2000] * 2


def test_half_closed_sockets(server: Server, usual: Usual) -> None:
    starts = [b"", b"POST /ec", server.head("POST /echo", "Content-Length: 10") + b"[1", server.head("GET /much")]
    wires = [Wire.to(server.port) for _ in range(200)]
    for number, wire in enumerate(wires):
        wire.send(starts[number % 4])
        wire.finish()
    assert usual.holds()
    ends = [end_of(wire.socket) for wire in wires]
    assert {len(end) > MB for end in ends[3::4]} == {True}
    assert {end for number, end in enumerate(ends) if number % 4 != 3} == {b""}


def test_connections_that_are_opened_and_dropped(server: Server, usual: Usual) -> None:
    before = server.memory()
    for number in range(2000):
        with socket.create_connection(("127.0.0.1", server.port)) as sock:
            sock.sendall(server.head("GET /much")[: number % 40])
    assert usual.holds()
    assert server.memory() - before < 64 * MB
