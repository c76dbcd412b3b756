"""HTTP to a provider: the only module that imports the HTTP client, and only when a judge is asked.

The client's transport is used without the client around it, so there is nothing that follows redirects, keeps cookies,
reads proxies or passwords from the environment, or unpacks bodies.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from interpose.rules.policy.judge.rulings import MisansweredError, UnavailableError

if TYPE_CHECKING:
    import httpx2

MAX_BYTES = 1_000_000
"""Far more than verdicts need."""

_TRYING = frozenset({401, 403, 404, 405, 408, 425, 429})
"""Refusals that have nothing to do with this one operation."""

_transports: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncHTTPTransport] = WeakKeyDictionary()
"""Connections belong to the event loop that made them."""


async def post(url: str, headers: dict[str, str], body: bytes, timeout: float) -> bytes:
    """The body of the answer. INVARIANT: no error holds the address, a header or anything that the server sent."""
    transport = await _transport()
    import httpx2

    request = httpx2.Request(
        "POST", url, content=body,
        headers={"content-type": "application/json", "accept": "application/json", "accept-encoding": "identity",
                 "user-agent": "interpose", **headers},
        extensions={"timeout": {"connect": timeout, "read": timeout, "write": timeout, "pool": timeout}},
    )  # fmt: skip
    try:
        response = await transport.handle_async_request(request)
        try:
            _check(response.status_code, response.headers.get("content-encoding", "identity"))
            return await _body(response)
        finally:
            await response.aclose()
    except httpx2.HTTPError as error:
        raise UnavailableError(f"no answer ({type(error).__name__})") from None
    except OSError as error:
        raise UnavailableError(f"no connection ({type(error).__name__})") from None


def _check(status: int, encoding: str) -> None:
    if status != 200:
        kind = UnavailableError if status < 400 or status >= 500 or status in _TRYING else MisansweredError
        raise kind(f"answered with HTTP status {status}")
    if encoding.lower() != "identity":
        raise UnavailableError("answered with a packed body, which was not asked for")


async def _body(response: httpx2.Response) -> bytes:
    received = bytearray()
    async for part in response.aiter_raw():
        received += part
        if len(received) > MAX_BYTES:
            raise MisansweredError(f"answered with more than {MAX_BYTES} bytes")
    return bytes(received)


async def _transport() -> httpx2.AsyncHTTPTransport:
    loop = asyncio.get_running_loop()
    transport = _transports.get(loop)
    if transport is None:
        # In a thread: importing the client and reading certificates takes longer than other judgements should wait.
        transport = _transports.setdefault(loop, await asyncio.to_thread(_new_transport))
    return transport


def _new_transport() -> httpx2.AsyncHTTPTransport:
    try:
        import httpx2
    except ImportError:
        raise UnavailableError("httpx2 is missing: pip install 'interpose[judge]'") from None
    return httpx2.AsyncHTTPTransport(verify=True, trust_env=False, limits=httpx2.Limits(max_connections=64))
