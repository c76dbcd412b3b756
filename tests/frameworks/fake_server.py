"""A server that answers what it is told to, or is gone."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.support.timing.patience import PATIENCE

ALLOWED = json.dumps({
    "point": "tool.before", "decision": "allow", "allowed": True, "reason": "", "findings": [], "questions": [],
    "approval_id": "", "approver": "", "policy": "", "request_id": "1", "duration_ms": 0,
})  # fmt: skip


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def answering(bodies: Sequence[str | None]) -> Iterator[str]:
    """Answers each request with the next of these bodies. None, and what comes after the last, is no answer at all."""
    left = list(bodies)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                if not _read(connection) or not left or (body := left.pop(0)) is None:
                    continue
                data = body.encode()
                head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
                connection.sendall(head.encode() + data)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(PATIENCE)


def _read(connection: socket.socket) -> bool:
    """Read one whole request."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := connection.recv(65536)):
            return False
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    size = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
    while len(body) < size:
        if not (more := connection.recv(65536)):
            return False
        body += more
    return True
