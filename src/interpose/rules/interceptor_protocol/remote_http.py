"""JSON-RPC to a program with interceptors over streamable HTTP: one POST a message.

The client's transport is used without the client around it: nothing follows redirects, keeps cookies, or reads proxies
and passwords from the environment.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from interpose.core.config.remote_interceptors import RemoteInterceptorProgram
from interpose.rules.interceptor_protocol.remote_links import LARGEST, RemoteUnavailableError, result_of

if TYPE_CHECKING:
    import httpx2

_SESSION = "mcp-session-id"


class RemoteHttpLink:
    """One address."""

    def __init__(self, program: RemoteInterceptorProgram, transport: httpx2.AsyncHTTPTransport) -> None:
        self._url, self._headers, self._transport = program.url, dict(program.headers), transport
        self._next = 0
        self._protocol = self._session = ""
        self._alive = True

    @classmethod
    async def connect(cls, program: RemoteInterceptorProgram) -> RemoteHttpLink:
        """Nothing is sent yet. Raises RemoteUnavailableError if there is no HTTP client."""
        try:
            import httpx2
        except ImportError:
            raise RemoteUnavailableError("the HTTP client is missing: install interpose[judge]") from None
        limits = httpx2.Limits(max_connections=64)
        return cls(program, httpx2.AsyncHTTPTransport(verify=True, trust_env=False, limits=limits))

    @property
    def alive(self) -> bool:
        """Whether it can be used."""
        return self._alive

    def agreed(self, protocol: str) -> None:
        """Said in a header from now on."""
        self._protocol = protocol

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """One request. Cancelled, its connection ends."""
        self._next += 1
        body = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        return result_of(await self._post(method, body, self._next))

    async def notify(self, method: str) -> None:
        """One notification."""
        await self._post(method, {"jsonrpc": "2.0", "method": method}, None)

    async def close(self) -> None:
        """Let go of connections."""
        self._alive = False
        await self._transport.aclose()

    async def _post(self, method: str, body: Mapping[str, Any], id: int | None) -> Mapping[str, Any]:
        import httpx2

        headers = {
            "content-type": "application/json", "accept": "application/json, text/event-stream",
            "accept-encoding": "identity", "user-agent": "interpose", "mcp-method": method,
        }  # fmt: skip
        if self._protocol:
            headers["mcp-protocol-version"] = self._protocol
        if self._session:
            headers[_SESSION] = self._session
        request = httpx2.Request(
            "POST", self._url, content=msgspec.json.encode(body, enc_hook=str), headers=headers | self._headers,
            extensions={"timeout": {"connect": 30.0, "read": None, "write": 30.0, "pool": 30.0}},
        )  # fmt: skip
        try:
            response = await self._transport.handle_async_request(request)
            try:
                return await self._read(response, id)
            finally:
                await response.aclose()
        except httpx2.HTTPError as error:
            raise RemoteUnavailableError(f"no answer ({type(error).__name__})") from None
        except OSError as error:
            raise RemoteUnavailableError(f"no connection ({type(error).__name__})") from None

    async def _read(self, response: httpx2.Response, id: int | None) -> Mapping[str, Any]:
        if response.status_code == 404 and self._session:
            self._alive = False  # its session ended: the next call begins a new one
        if not 200 <= response.status_code < 300:
            raise RemoteUnavailableError(f"it answered with HTTP status {response.status_code}")
        self._session = response.headers.get(_SESSION, self._session)
        if id is None:
            return {}
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        texts = _events(response) if kind == "text/event-stream" else _whole(response)
        async for text in texts:
            try:
                message = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict) and message.get("id") == id and "method" not in message:
                return message
        raise RemoteUnavailableError("it answered with something else than a message")


async def _pieces(response: httpx2.Response) -> AsyncIterator[bytes]:
    received = 0
    async for piece in response.aiter_raw():
        received += len(piece)
        if received > LARGEST:
            raise RemoteUnavailableError(f"it answered with more than {LARGEST} bytes")
        yield piece


async def _whole(response: httpx2.Response) -> AsyncIterator[bytes]:
    yield b"".join([piece async for piece in _pieces(response)])


async def _events(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The data of each event of a stream."""
    rest, data = b"", []
    async for piece in _pieces(response):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            line = line.rstrip(b"\r")
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                yield b"\n".join(data)
                data = []
    if data:
        yield b"\n".join(data)
