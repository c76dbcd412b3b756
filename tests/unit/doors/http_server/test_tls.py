"""Certificates: of the server, of its clients, and new ones without an end to old connections."""

from __future__ import annotations

import asyncio
import ssl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import trustme

from interpose.core.config.settings import TlsSettings
from interpose.core.errors import ServerError
from interpose.doors.http_server.listener import Listener, Tcp
from interpose.doors.http_server.messages import Request, Response, Route, json_response
from interpose.doors.http_server.tls import subject_of, tls_context
from interpose.doors.http_server.trust import make_trust
from tests.support.peers.wire import Wire
from tests.support.servers.event_loops import Run


class Authority:
    """An authority that writes its certificates into a directory."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self.ca = trustme.CA()
        self.ca_file = directory / "ca.pem"
        self.ca.cert_pem.write_to_path(self.ca_file)

    def server(self) -> TlsSettings:
        made = self.ca.issue_cert("localhost", "127.0.0.1")
        made.cert_chain_pems[0].write_to_path(self.directory / "cert.pem")
        made.private_key_pem.write_to_path(self.directory / "key.pem")
        (self.directory / "key.pem").chmod(0o600)
        return TlsSettings(cert_file=str(self.directory / "cert.pem"), key_file=str(self.directory / "key.pem"))

    def client(self, name: str | None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca_file))
        if name is not None:
            self.ca.issue_cert("client.example", common_name=name).configure_cert(context)
        return context


async def _who(request: Request) -> Response:
    return json_response([request.peer.subject, request.caller.name])


def listener_with(tls: TlsSettings, host: str = "127.0.0.1") -> Listener:
    return Listener([Route("GET", "/", _who, "agent", "")], [Tcp(host)], make_trust(loopback="open"), tls=tls)


def wire_to(listener: Listener, context: ssl.SSLContext) -> Wire:
    port = int(listener.addresses[0].rpartition(":")[2])
    wire = Wire.to(port)
    wire.socket = context.wrap_socket(wire.socket, server_hostname="localhost")
    return wire


def ask(wire: Wire, listener: Listener) -> Any:
    port = listener.addresses[0].rpartition(":")[2]
    wire.send(f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: https://localhost:{port}\r\n\r\n".encode())
    return wire.answer().json


def serial(wire: Wire) -> Any:
    assert isinstance(wire.socket, ssl.SSLSocket)
    return (wire.socket.getpeercert() or {})["serialNumber"]


def test_a_certificate_can_be_replaced_while_connections_stay(run: Run, tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def main() -> None:
        listener = listener_with(authority.server())
        await listener.start()
        assert listener.addresses[0].startswith("https://")
        client = authority.client(None)
        with await asyncio.to_thread(wire_to, listener, client) as old:
            assert await asyncio.to_thread(ask, old, listener) == ["", ""]
            await listener.reload(make_trust(loopback="open"), authority.server())
            with await asyncio.to_thread(wire_to, listener, client) as new:
                assert serial(new) != serial(old)
                assert await asyncio.to_thread(ask, new, listener) == ["", ""]
            assert await asyncio.to_thread(ask, old, listener) == ["", ""]
        await listener.stop()

    run(main())


def test_a_certificate_that_can_not_be_used_changes_nothing(run: Run, tmp_path: Path) -> None:
    authority = Authority(tmp_path)

    async def main() -> None:
        tls = authority.server()
        listener = listener_with(tls)
        await listener.start()
        Path(tls.cert_file).write_text("no certificate", encoding="ascii")
        with pytest.raises(ServerError, match=r"cert\.pem with .*key\.pem can't be used"):
            await listener.reload(make_trust(loopback="open"), tls)
        with pytest.raises(ServerError, match="without a restart"):
            await listener.reload(make_trust(loopback="open"), TlsSettings())
        with await asyncio.to_thread(wire_to, listener, authority.client(None)) as wire:
            assert await asyncio.to_thread(ask, wire, listener) == ["", ""]
        await listener.stop()

    run(main())


def test_clients_show_certificates(run: Run, tmp_path: Path) -> None:
    """With an authority for clients an address that others reach needs no tokens: nobody else gets in."""
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    made = ours.server()
    tls = TlsSettings(cert_file=made.cert_file, key_file=made.key_file, client_ca_file=str(ours.ca_file))
    stranger = theirs.client("mallory")
    stranger.load_verify_locations(str(ours.ca_file))

    def try_once(listener: Listener, context: ssl.SSLContext) -> bool:
        try:
            with wire_to(listener, context) as wire:
                ask(wire, listener)
        except (ssl.SSLError, ConnectionError):
            return True
        return False

    async def refused(listener: Listener, context: ssl.SSLContext) -> bool:
        # In a thread of its own: OpenSSL keeps what went wrong by thread, and the next connection there would hear it.
        with ThreadPoolExecutor(1) as once:
            return await asyncio.get_running_loop().run_in_executor(once, try_once, listener, context)

    async def main() -> None:
        listener = listener_with(tls)
        await listener.start()
        with await asyncio.to_thread(wire_to, listener, ours.client("build-7")) as wire:
            assert await asyncio.to_thread(ask, wire, listener) == ["build-7", "build-7"]
            assert await refused(listener, ours.client(None))
            assert await refused(listener, stranger)
            swapped = TlsSettings(cert_file=made.cert_file, key_file=made.key_file, client_ca_file=str(theirs.ca_file))
            await listener.reload(make_trust(loopback="open"), swapped)
            assert await refused(listener, ours.client("build-7"))
            assert not await refused(listener, stranger)
            assert await asyncio.to_thread(ask, wire, listener) == ["build-7", "build-7"]
        await listener.stop()

    run(main())


def test_a_client_authority_is_enough_for_all_addresses(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    made = authority.server()
    tls = TlsSettings(cert_file=made.cert_file, key_file=made.key_file, client_ca_file=str(authority.ca_file))

    async def main() -> None:
        with pytest.raises(ServerError, match="nothing says who may ask"):
            await listener_with(made, "0.0.0.0").start()
        listener = listener_with(tls, "0.0.0.0")
        await listener.start()
        with pytest.raises(ServerError, match="nothing says who may ask"):
            await listener.reload(make_trust(loopback="open"), made)
        await listener.stop()

    asyncio.run(main())


@pytest.mark.parametrize("missing", ["cert_file", "key_file", "client_ca_file"])
def test_a_file_that_is_missing_is_named(tmp_path: Path, missing: str) -> None:
    authority = Authority(tmp_path)
    made = authority.server()
    files = {"cert_file": made.cert_file, "key_file": made.key_file, "client_ca_file": str(authority.ca_file)}
    Path(files[missing]).unlink()
    with pytest.raises(ServerError, match=rf"{Path(files[missing]).name}.* can't be used: No such file"):
        tls_context(TlsSettings(**files))


@pytest.mark.parametrize(
    ("certificate", "want"),
    [
        (None, ""),
        ({}, ""),
        ({"subject": ((("commonName", "a"),),)}, "a"),
        ({"subject": ((("organizationName", "o"),),), "subjectAltName": (("DNS", "b"),)}, "b"),
        ({"subject": ((("organizationName", "o"),),)}, "unnamed"),
    ],
)
def test_the_name_of_a_certificate(certificate: dict[str, Any] | None, want: str) -> None:
    assert subject_of(certificate) == want


@pytest.mark.parametrize("mode", [0o644, 0o620, 0o602])
def test_a_key_that_others_can_reach_is_none(tmp_path: Path, mode: int) -> None:
    made = Authority(tmp_path).server()
    Path(made.key_file).chmod(mode)
    with pytest.raises(ServerError, match=r"key\.pem can't be used: .*; run: chmod"):
        tls_context(made)
    Path(made.key_file).chmod(0o640)
    assert tls_context(made) is not None
