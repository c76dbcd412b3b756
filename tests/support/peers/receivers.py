"""Who is told, in tests: a loopback HTTP server that plays ntfy and Slack, and one that takes mail."""

from __future__ import annotations

import json
import queue
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct

from tests.support.timing.patience import PATIENCE


class Came(Struct, frozen=True):
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Receiver:
    """What came in, and what is answered to it: the statuses in turn, the last one from then on."""

    def __init__(self, *statuses: int) -> None:
        self.statuses, self.came = list(statuses) or [200], queue.Queue[Came]()
        self.gate = threading.Event()
        self.gate.set()
        self.url = ""

    def next(self, seconds: float = PATIENCE) -> Came:
        """The next request."""
        return self.came.get(timeout=seconds)


@contextmanager
def receiving(*statuses: int) -> Iterator[Receiver]:
    """A server that takes what is posted."""
    receiver = Receiver(*statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.gate.wait(20)
            status = receiver.statuses.pop(0) if len(receiver.statuses) > 1 else receiver.statuses[0]
            # Before the answer: whoever is answered may look for it at once.
            receiver.came.put(Came(self.path, {name.lower(): text for name, text in self.headers.items()}, body))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with _serving(server):
        receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield receiver
        finally:
            receiver.gate.set()


class Mailbox:
    """Mail that came in. `refuses` is what is answered to a recipient, if it is no yes."""

    def __init__(self, refuses: str = "") -> None:
        self.refuses, self.came = refuses, queue.Queue[EmailMessage]()
        self.url, self.logins = "", list[str]()

    def next(self) -> EmailMessage:
        """The next mail."""
        return self.came.get(timeout=PATIENCE)


@contextmanager
def taking_mail(refuses: str = "") -> Iterator[Mailbox]:
    """A server that speaks as much SMTP as a client needs."""
    box = Mailbox(refuses)

    class Session(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 here")
            for raw in self.rfile:
                verb = raw.split(None, 1)[0].upper().strip() if raw.strip() else b""
                match verb:
                    case b"EHLO" | b"HELO":
                        self._say("250-here\r\n250 AUTH PLAIN")
                    case b"AUTH":
                        box.logins.append(raw.decode().strip())
                        self._say("235 fine")
                    case b"RCPT" if box.refuses:
                        self._say(box.refuses)
                    case b"DATA":
                        self._say("354 go on")
                        self._take()
                    case b"QUIT":
                        self._say("221 bye")
                        return
                    case _:
                        self._say("250 fine")

        def _take(self) -> None:
            lines: list[bytes] = []
            while (line := self.rfile.readline()) not in (b".\r\n", b""):
                lines.append(line[1:] if line.startswith(b"..") else line)
            found = message_from_bytes(b"".join(lines), policy=default)
            assert isinstance(found, EmailMessage)
            box.came.put(found)
            self._say("250 taken")

        def _say(self, line: str) -> None:
            self.wfile.write(line.encode() + b"\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session) as server, _serving(server):
        box.url = f"smtp://127.0.0.1:{server.server_address[1]}"
        yield box


@contextmanager
def _serving(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
