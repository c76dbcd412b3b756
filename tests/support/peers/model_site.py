"""A proxy over a real service, between a real client and a model's server that says what a test wants."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.config.proxy import ProxySettings
from interpose.core.types import EMPTY
from interpose.doors.proxy.serving import serving
from interpose.doors.proxy.upstreams import Upstream
from tests.support.servers.servers import JSON, Reply
from tests.support.timing.patience import PATIENCE

T = TypeVar("T")

EVENTS = (("Content-Type", "text/event-stream; charset=utf-8"),)
AS_JSON = (("Content-Type", "application/json"),)


class Asked(Struct, frozen=True):
    """A request that the model's server got. `fields` are its headers as they were written."""

    method: str
    target: str
    fields: tuple[tuple[str, str], ...]
    body: bytes
    number: int = 1
    """Which it is on its connection."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.fields if key.lower() == name.lower()), None)


class Said(Struct, frozen=True):
    """What it answers. A body in pieces is sent in chunks; one that raises is cut off there."""

    body: bytes | Iterable[bytes] = b"{}"
    status: int = 200
    fields: tuple[tuple[str, str], ...] = AS_JSON


class ModelServer:
    """Entered, it listens. `says` is what it answers to a request, None to hang up; `asked` are those that came."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, for another test."""
        self.says: Callable[[Asked], Said | None] = lambda _asked: Said()
        self.asked: list[Asked] = []
        self.cut_off = threading.Event()
        """Somebody ended a connection in the middle of an answer."""

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def authority(self) -> str:
        return self.url.removeprefix("http://")


class CutOffError(Exception):
    """Raised by a body: the connection is ended there."""


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        number = 0

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.number += 1
            asked = Asked(self.command, self.path, tuple(self.headers.items()), body, self.number)
            server.asked.append(asked)
            said = server.says(asked)
            if said is None:
                self.close_connection = True
                return
            self.send_response_only(said.status)
            for name, value in said.fields:
                self.send_header(name, value)
            try:
                self._send(said.body)
            except OSError:
                server.cut_off.set()
                self.close_connection = True
            except CutOffError:
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

        def _send(self, body: bytes | Iterable[bytes]) -> None:
            if isinstance(body, bytes):
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)
                return
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in body:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_words: object) -> None:
            pass

    for method in ("GET", "POST", "DELETE", "PUT", "HEAD", "PATCH"):
        setattr(Handler, f"do_{method}", Handler.handle_any)
    return Handler


class ProxySite:
    """A proxy that listens, and the model's server behind it, under the name `model`."""

    def __init__(self, address: str, model: ModelServer, upstreams: Mapping[str, Upstream]) -> None:
        self.model, self.upstreams, self.address = model, upstreams, address
        self.host, _, port = address.removeprefix("http://").rpartition(":")
        self.port = int(port)

    def at(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Reply:
        """One request to the proxy, on a connection of its own."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, named, answer.read())
        finally:
            connection.close()

    def ask(
        self, path: str, body: bytes | None = None, *, method: str = "POST", headers: Mapping[str, str] | None = None
    ) -> Reply:
        """A request to the model's server, by way of the proxy."""
        return self.at(method, f"/model{path}", body, headers)

    def post(self, path: str, value: Any, **headers: str) -> Reply:
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return self.ask(path, json.dumps(value).encode(), headers=JSON | named)

    def raw(self, *lines: str, body: bytes = b"", until: Callable[[bytes], bool] | None = None) -> bytes:
        """What comes back for a request that is written line by line, however the answer ends."""
        head = "\r\n".join((lines[0], f"Host: localhost:{self.port}", *lines[1:], "", "")).encode()
        with socket.create_connection((self.host, self.port), timeout=PATIENCE) as one:
            one.sendall(head + body)
            got = b""
            try:
                while (until is None or not until(got)) and (part := one.recv(65536)):
                    got += part
            except ConnectionError:
                pass
            return got

    def says(self, *events: bytes, fields: tuple[tuple[str, str], ...] = EVENTS) -> None:
        """Let the model's server answer with these events."""
        self.model.says = lambda _asked: Said(list(events), fields=fields)

    def answers(self, value: Any, status: int = 200) -> None:
        """Let the model's server answer with a value."""
        self.model.says = lambda _asked: Said(json.dumps(value).encode(), status)


@contextmanager
def site(
    service: Service, settings: ProxySettings | None = None, *, session: str = "", more: Mapping[str, str] = EMPTY
) -> Iterator[ProxySite]:
    """A proxy over a service, on an event loop and a thread of its own. Nobody is waited for unless settings say so."""
    service.config = replace(service.config, proxy=settings or ProxySettings(wait=0, timeout=10))
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="proxy under test", daemon=True)
    thread.start()

    def perform(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result(PATIENCE)

    with ModelServer() as model:
        proxy = serving(service, {"model": model.url, **more}, port=0, session=session, start_server=False)
        try:
            address, upstreams = perform(proxy.__aenter__())
            try:
                yield ProxySite(address, model, upstreams)
            finally:
                perform(proxy.__aexit__(None, None, None))
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(PATIENCE)
            loop.close()


def files_with(directory: Path, text: str) -> list[str]:
    """The files below a directory in which a text stands."""
    wanted = text.encode()
    return [str(path) for path in directory.rglob("*") if path.is_file() and wanted in path.read_bytes()]
