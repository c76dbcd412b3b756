"""A client that sends the bytes it is told to, right or wrong, and reads answers one by one."""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Self

from tests.support.servers.servers import Reply
from tests.support.timing.patience import PATIENCE


class Wire:
    """One connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self._unread = b""

    @classmethod
    def to(cls, port: int, host: str = "127.0.0.1") -> Self:
        """A connection to a loopback port."""
        return cls(socket.create_connection((host, port), timeout=PATIENCE))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """All of the data."""
        self.socket.sendall(data)

    def finish(self) -> None:
        """Say that no more will come."""
        self.socket.shutdown(socket.SHUT_WR)

    def answer(self, *, without_body: bool = False) -> Reply:
        """The next answer, interim ones included. ConnectionError if there is none."""
        first, *lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        status = int(first.split()[1])
        if without_body or status in {100, 204}:
            return Reply(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            return Reply(status, headers, self._chunks())
        if "content-length" not in headers:
            return Reply(status, headers, self.rest())
        return Reply(status, headers, self._exactly(int(headers["content-length"])))

    def closed(self) -> bool:
        """Whether the server ends the connection without another byte."""
        try:
            return not self._unread and not self.socket.recv(1)
        except ConnectionError:
            return True

    def rest(self) -> bytes:
        """Everything until the server ends the connection."""
        while self._more():
            pass
        found, self._unread = self._unread, b""
        return found

    def _chunks(self) -> bytes:
        body = b""
        while True:
            size = int(self._until(b"\r\n"), 16)
            piece = self._exactly(size + 2)[:-2]
            if not size:
                return body
            body += piece

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._unread:
            if not self._more():
                raise ConnectionError(f"the server ended the connection after {self._unread[:200]!r}")
        found, _, self._unread = self._unread.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._unread) < size:
            if not self._more():
                raise ConnectionError("the server ended the connection in a body")
        found, self._unread = self._unread[:size], self._unread[size:]
        return found

    def _more(self) -> bool:
        data = self.socket.recv(1 << 16)
        self._unread += data
        return bool(data)
