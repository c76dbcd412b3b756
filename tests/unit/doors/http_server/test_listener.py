"""Where the server listens, how it stops, and what a reload changes. On both event loops."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interpose.core.config.settings import ServerLimits, ServerSettings
from interpose.core.errors import ServerError
from interpose.doors.http_server.listener import Address, Listener, Tcp, Unix, addresses_of, trust_of
from interpose.doors.http_server.messages import Request, Response, Route, json_response
from interpose.doors.http_server.tokens import Tokens, open_tokens
from interpose.doors.http_server.trust import Trust, make_trust
from tests.support.peers.wire import Wire
from tests.support.servers.event_loops import Run
from tests.support.timing.patience import PATIENCE

HELLO = b"GET / HTTP/1.1\r\nHost: localhost:%d\r\n\r\n"


async def _hello(request: Request) -> Response:
    return json_response({"peer": request.peer.kind, "role": request.caller.role})


def listener_on(*where: Address, trust: Trust | None = None, **settings: Any) -> Listener:
    return Listener([Route("GET", "/", _hello, "agent", "")], where, trust or make_trust(loopback="open"), **settings)


def port_of(listener: Listener) -> int:
    return int(listener.addresses[0].rpartition(":")[2])


def hello(wire: Wire, port: int) -> Any:
    wire.send(HELLO % port)
    return wire.answer().json


def unix_wire(path: Path) -> Wire:
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(PATIENCE)
    sock.connect(str(path))
    return Wire(sock)


def test_a_port_and_a_private_socket(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run" / "api.sock"

    async def main() -> None:
        listener = listener_on(Tcp("127.0.0.1"), Unix(str(path)))
        await listener.start()
        port = port_of(listener)
        assert listener.addresses == (f"http://127.0.0.1:{port}", f"unix:{path}")
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        with Wire.to(port) as tcp, unix_wire(path) as unix:
            assert await asyncio.to_thread(hello, tcp, port) == {"peer": "tcp", "role": "agent"}
            assert await asyncio.to_thread(hello, unix, 1) == {"peer": "unix", "role": "agent"}
        await listener.stop()
        assert not path.exists()
        with pytest.raises(ConnectionRefusedError):
            Wire.to(port)

    run(main())


def test_localhost_is_one_port_on_both_families(run: Run) -> None:
    async def main() -> None:
        listener = listener_on(Tcp("localhost"))
        await listener.start()
        assert len({address.rpartition(":")[2] for address in listener.addresses}) == 1
        await listener.stop()

    run(main())


def test_a_socket_that_was_left_over_is_replaced_and_a_live_one_is_not(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run" / "api.sock"
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))

    async def main() -> None:
        first, second = listener_on(Unix(str(path))), listener_on(Unix(str(path)))
        await first.start()
        with pytest.raises(ServerError, match=r"api\.sock: another server listens"):
            await second.start()
        with unix_wire(path) as wire:
            assert (await asyncio.to_thread(hello, wire, 1))["peer"] == "unix"
        await first.stop()
        await second.start()
        await second.stop()

    run(main())


def _foreign_server(path: Path) -> None:
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(path))
    sock.listen()
    KEPT.append(sock)


KEPT: list[socket.socket] = []
IN_THE_WAY: list[tuple[str, Callable[[Path], object], str]] = [
    ("a file", lambda path: path.write_text("precious"), "no socket"),
    ("a directory", lambda path: path.mkdir(), "no socket"),
    ("a link", lambda path: path.symlink_to(path.with_name("target")), "no socket"),
    ("a link for the lock", lambda path: Path(f"{path}.lock").symlink_to(path.with_name("target")), "can't listen"),
    ("a server without a lock", _foreign_server, "another server listens"),
    ("a directory that others can read", lambda path: path.parent.chmod(0o750), "mode 0750.*mode 0700"),
    ("a directory that others can enter", lambda path: path.parent.chmod(0o701), "mode 0701.*mode 0700"),
]


@pytest.mark.parametrize(("prepare", "why"), [pytest.param(*case[1:], id=case[0]) for case in IN_THE_WAY])
def test_what_is_in_the_way_stays(tmp_path: Path, prepare: Callable[[Path], object], why: str) -> None:
    path = tmp_path / "run" / "api.sock"
    path.parent.mkdir(mode=0o700)
    prepare(path)
    before = sorted(tmp_path.rglob("*"))

    async def main() -> None:
        with pytest.raises(ServerError, match=why):
            await listener_on(Unix(str(path))).start()

    asyncio.run(main())
    for sock in KEPT:
        sock.close()
    KEPT.clear()
    assert set(before) <= set(tmp_path.rglob("*"))
    assert not (tmp_path / "run" / "target").exists()


def test_a_long_path_is_refused_with_its_limit(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="at most 107 bytes"):
        asyncio.run(listener_on(Unix(str(tmp_path / ("x" * 120)))).start())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.77"])
def test_an_address_that_others_reach_needs_to_know_who_may_ask(host: str) -> None:
    for trust in (make_trust(loopback="open"), make_trust(tokens=Tokens())):
        with pytest.raises(
            ServerError, match=r"set server\.tokens_file or server\.tls\.client_ca_file, or listen on 127"
        ):
            asyncio.run(listener_on(Tcp(host), trust=trust).start())


def test_with_tokens_it_listens_everywhere_and_nobody_is_let_in_without(run: Run, tmp_path: Path) -> None:
    tokens = open_tokens(tmp_path / "tokens")

    async def main() -> None:
        listener = listener_on(Tcp("0.0.0.0"), trust=make_trust(tokens=tokens))
        await listener.start()
        port = port_of(listener)
        with Wire.to(port) as wire:
            wire.send(HELLO % port)
            assert (await asyncio.to_thread(wire.answer)).status == 401
            token = b"Authorization: Bearer " + tokens.secret_of("operator").encode()
            wire.send(HELLO[:-2] % port + token + b"\r\n\r\n")
            assert (await asyncio.to_thread(wire.answer)).json["role"] == "operator"
        await listener.stop()

    run(main())


def test_if_one_address_can_not_be_had_none_is_kept(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run" / "api.sock"

    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            listener = listener_on(Unix(str(path)), Tcp("127.0.0.1", taken.getsockname()[1]))
            with pytest.raises(ServerError, match=r"127\.0\.0\.1:\d+: can't listen here: Address already in use"):
                await listener.start()
            assert list(listener.addresses) == []
            assert not path.exists()
        await listener.start()
        assert len(listener.addresses) == 2
        await listener.stop()

    run(main())


def test_from_the_configuration(tmp_path: Path) -> None:
    server = ServerSettings(port=0, socket=str(tmp_path / "api.sock"), tokens_file=str(tmp_path / "tokens"))
    assert addresses_of(server) == (Tcp("127.0.0.1", 0), Unix(str(tmp_path / "api.sock")))
    assert trust_of(server).tokens is not None
    assert addresses_of(ServerSettings(socket="")) == (Tcp("127.0.0.1", 8080),)
    assert trust_of(ServerSettings(tokens_file="")).tokens is None


class Gate:
    """A handler that waits until it is let go."""

    def __init__(self) -> None:
        self.entered = 0
        self.open = asyncio.Event()

    async def __call__(self, _request: Request) -> Response:
        self.entered += 1
        await self.open.wait()
        return Response(body=b"done")


def gated(gate: Gate, **settings: Any) -> Listener:
    return Listener([Route("GET", "/", gate, "agent", "")], [Tcp("127.0.0.1")], make_trust(loopback="open"), **settings)


def test_a_stop_answers_all_that_was_accepted(run: Run) -> None:
    """Requests in work, queued behind another, in a socket's buffer, and on a connection not yet accepted."""

    async def main() -> None:
        gate = Gate()
        listener = gated(gate)
        await listener.start()
        port = port_of(listener)
        wires = [Wire.to(port) for _ in range(20)]
        for wire in wires[:10]:
            wire.send(HELLO % port * 3)
        while gate.entered < 10:
            await asyncio.sleep(0)
        for wire in wires[10:]:
            wire.send(HELLO % port)
        late = Wire.to(port)  # no turn of the loop between this and the stop
        late.send(HELLO % port)
        stopping = asyncio.ensure_future(listener.stop())
        while gate.entered < 21:
            await asyncio.sleep(0)
        gate.open.set()

        def collect() -> None:
            for wire, count in [(wire, 3 if wire in wires[:10] else 1) for wire in [*wires, late]]:
                answers = [wire.answer() for _ in range(count)]
                assert [answer.body for answer in answers] == [b"done"] * count
                assert [answer.headers.get("connection") for answer in answers] == [None] * (count - 1) + ["close"]
                assert wire.closed()
                wire.socket.close()

        await asyncio.to_thread(collect)
        await stopping
        assert listener.connections == 0

    run(main())


def test_a_stop_ends_idle_connections_and_lets_a_started_request_come(run: Run) -> None:
    async def main() -> None:
        listener = listener_on(Tcp("127.0.0.1"))
        await listener.start()
        port = port_of(listener)
        with Wire.to(port) as idle, Wire.to(port) as partial:
            await asyncio.to_thread(hello, idle, port)
            partial.send((HELLO % port)[:10])
            while listener.connections < 2:
                await asyncio.sleep(0)
            stopping = asyncio.ensure_future(listener.stop())
            assert await asyncio.to_thread(idle.closed)
            partial.send((HELLO % port)[10:])
            assert (await asyncio.to_thread(partial.answer)).headers["connection"] == "close"
            await stopping

    run(main())


def test_at_a_stop_a_client_that_is_about_to_ask_still_may(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that was just answered can't know that we stop; its next answer says so."""
    monkeypatch.setattr("interpose.doors.http_server.listener.GRACE", 30)

    async def main() -> None:
        listener = listener_on(Tcp("127.0.0.1"))
        await listener.start()
        port = port_of(listener)
        with Wire.to(port) as wire:
            await asyncio.to_thread(hello, wire, port)
            stopping = asyncio.ensure_future(listener.stop())
            for _ in range(20):
                await asyncio.sleep(0)
            wire.send(HELLO % port)
            assert (await asyncio.to_thread(wire.answer)).headers["connection"] == "close"
            await stopping

    run(main())


def test_a_stop_cuts_off_what_takes_too_long(run: Run) -> None:
    async def main() -> None:
        gate = Gate()
        listener = gated(gate, shutdown_timeout=0.05)
        await listener.start()
        port = port_of(listener)
        with Wire.to(port) as wire:
            wire.send(HELLO % port)
            while not gate.entered:
                await asyncio.sleep(0)
            await listener.stop()
            assert wire.closed()
        assert listener.connections == 0

    run(main())


def test_every_handled_request_is_answered_while_clients_go_on(run: Run) -> None:
    """Clients that send one request after another see an answer or an end, never half an answer."""
    handled = 0

    async def count(_request: Request) -> Response:
        nonlocal handled
        handled += 1
        return Response(body=b"x" * 1000)

    async def main() -> None:
        listener = Listener([Route("GET", "/", count, "agent", "")], [Tcp("127.0.0.1")], make_trust(loopback="open"))
        await listener.start()
        port = port_of(listener)
        answered: list[int] = []
        torn: list[str] = []
        busy = threading.Semaphore(0)

        def client() -> None:
            done = 0
            with Wire.to(port) as wire:
                while True:
                    try:
                        wire.send(HELLO % port)
                        answer = wire.answer()
                    except ConnectionError as error:
                        torn.extend([str(error)] if "in a body" in str(error) else [])
                        break
                    assert len(answer.body) == 1000
                    done += 1
                    if done == 20:
                        busy.release()
                    if answer.headers.get("connection") == "close":
                        break
            answered.append(done)

        threads = [threading.Thread(target=client) for _ in range(8)]
        for thread in threads:
            thread.start()
        for _ in threads:
            await asyncio.to_thread(busy.acquire)
        await listener.stop()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        assert not torn
        assert sum(answered) == handled

    run(main())


def test_a_reload_of_trust_holds_for_open_connections(run: Run) -> None:
    async def main() -> None:
        listener = listener_on(Tcp("127.0.0.1"))
        await listener.start()
        port = port_of(listener)
        other = b"GET / HTTP/1.1\r\nHost: agents.example\r\n\r\n"
        with Wire.to(port) as wire:
            statuses = []
            for trust in (make_trust(loopback="open"), make_trust(allowed_hosts=["agents.example"]), make_trust()):
                await listener.reload(trust)
                wire.send(other)
                statuses.append((await asyncio.to_thread(wire.answer)).status)
        assert statuses == [403, 200, 403]
        await listener.stop()

    run(main())


def test_too_many_connections_make_the_idle_ones_go(run: Run) -> None:
    async def main() -> None:
        listener = listener_on(Tcp("127.0.0.1"), limits=ServerLimits(max_connections=5))
        await listener.start()
        port = port_of(listener)
        wires = []
        for _ in range(12):
            wires.append(Wire.to(port))
            assert (await asyncio.to_thread(hello, wires[-1], port))["role"] == "agent"
        assert listener.connections == 5
        assert [await asyncio.to_thread(wire.closed) for wire in wires[:7]] == [True] * 7
        for wire in wires:
            wire.socket.close()
        await listener.stop()

    run(main())


def test_when_all_are_busy_the_next_is_told(run: Run) -> None:
    async def main() -> None:
        gate = Gate()
        listener = gated(gate, limits=ServerLimits(max_connections=2))
        await listener.start()
        port = port_of(listener)
        with Wire.to(port) as first, Wire.to(port) as second:
            for wire in (first, second):
                wire.send(HELLO % port)
            while gate.entered < 2:
                await asyncio.sleep(0)
            with Wire.to(port) as third:
                told = await asyncio.to_thread(third.answer)
                assert (told.status, told.json["error"], told.headers["retry-after"]) == (503, "overloaded", "1")
            gate.open.set()
            assert (await asyncio.to_thread(first.answer)).status == 200
        await listener.stop()

    run(main())
