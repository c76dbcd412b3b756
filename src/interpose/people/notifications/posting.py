"""One POST to an address that the operator chose. No redirects, one attempt, bounded time."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from time import monotonic
from urllib.parse import urlsplit

from interpose.core.errors import NotificationError, text_of

TIMEOUT = 5.0
"""Seconds for the connection, and for each word of the answer."""
LONGEST = 15.0
"""Seconds for all of it: whoever answers letter by letter is hung up on."""
_SAID = 200
_BUSY = (408, 429)


def post(url: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Post it. Raises NotificationError, which says nothing of the address: it may be a secret."""
    began = monotonic()
    try:
        address = urlsplit(url)
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        connection = kind(address.hostname or "", address.port, timeout=TIMEOUT)
        target = (address.path or "/") + (f"?{address.query}" if address.query else "")
        try:
            with bounded(lambda: connection.sock):
                connection.request("POST", target, body, {"User-Agent": "interpose", **headers})
                answer = connection.getresponse()
                status, said = answer.status, answer.read(_SAID)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        why = f"no answer within {TIMEOUT:g} s" if monotonic() - began >= TIMEOUT else text_of(error)
        raise NotificationError(f"it can't be reached: {why}", again=True) from None
    if status >= 300:
        words = f": {said.decode('utf-8', 'replace').strip()}" if said.strip() else ""
        raise NotificationError(f"it answered {status}{words}", again=status >= 500 or status in _BUSY)


@contextmanager
def bounded(connected: Callable[[], socket.socket | None]) -> Iterator[None]:
    """Hang up on the other side when all of it takes too long, however lively it is."""

    def hang_up() -> None:
        with suppress(OSError, ValueError):
            if (own := connected()) is not None:
                own.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(LONGEST, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
