"""Which era a server is of: asked the modern way first, then the old one, within a bounded time.

A server that starts slowly may answer the first question after the second was put. Both stay open: what comes first
and proves an era counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from interpose.core.types import EMPTY
from interpose.doors.mcp.gate.contract import Era
from interpose.doors.mcp.links.eras import (
    HANDSHAKE_VERSIONS,
    MODERN_VERSIONS,
    SERVER_INFO,
    UNSUPPORTED_VERSION,
    Declared,
    capabilities_for,
    map_of,
    meta_for,
    text_of,
)
from interpose.doors.mcp.links.frames import RpcError
from interpose.doors.mcp.links.links import LinkError
from interpose.doors.mcp.servers.server_connection import ServerConnection

LONGEST_INSTRUCTIONS = 20_000


class Negotiated(Struct, frozen=True, kw_only=True):
    """What a server said of itself."""

    era: Era
    version: str
    capabilities: Mapping[str, Any] = EMPTY
    info: Mapping[str, Any] = EMPTY
    instructions: str = ""

    def has(self, *path: str) -> bool:
        """Whether it declared this capability: `has("tools")`, `has("tools", "listChanged")`."""
        found: Any = self.capabilities
        for name in path:
            found = map_of(found).get(name)
        return found is not None and found is not False


async def negotiate(
    connection: ServerConnection, declared: Declared, *, probe: float, seconds: float, modern: bool = True
) -> Negotiated:
    """Agree on an era. `probe` seconds are left to the modern question alone. Raises LinkError."""
    try:
        async with asyncio.timeout(seconds):
            found = await _negotiated(connection, declared, probe if modern else 0.0)
    except TimeoutError:
        raise LinkError(f"it did not say what it speaks within {seconds:g} seconds") from None
    except RpcError as error:
        raise LinkError(f"it can't be spoken with: {error}") from None
    if found.era == "handshake":
        connection.negotiated(found.era, found.version)
        await connection.notify("notifications/initialized")
    return found


async def _negotiated(connection: ServerConnection, declared: Declared, probe: float) -> Negotiated:
    asking = asyncio.ensure_future(_discover(connection, declared)) if probe else None
    try:
        if asking is not None:
            await asyncio.wait([asking], timeout=probe)
            if asking.done() and (found := asking.result()) is not None:
                return found
        greeting = asyncio.ensure_future(_initialize(connection, declared))
        waiting = {task for task in (asking, greeting) if task is not None and not task.done()}
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if (found := task.result()) is not None:
                        return found
        finally:
            greeting.cancel()
        # It answered neither: it may have become a modern one with the question that we gave up.
        found = await _discover(connection, declared) if probe else None
        if found is None:
            raise LinkError("it speaks no version of the protocol that we speak")
        return found
    finally:
        if asking is not None:
            asking.cancel()


async def _discover(connection: ServerConnection, declared: Declared) -> Negotiated | None:
    version = MODERN_VERSIONS[-1]
    # HTTP says the version in a header, with the first request already.
    connection.negotiated("modern", version)
    try:
        raw = await connection.request("server/discover", {}, meta_for({}, declared, "modern", version), seconds=0)
    except RpcError as error:
        supported = map_of(error.data).get("supported")
        if (
            error.code == UNSUPPORTED_VERSION
            and isinstance(supported, list)
            and not _any(supported, HANDSHAKE_VERSIONS)
        ):
            raise LinkError(
                f"it speaks other versions of the protocol: {', '.join(map(str, supported))[:200]}"
            ) from None
        return None
    said = _object(raw)
    versions = said.get("supportedVersions")
    if not isinstance(versions, list) or not _any(versions, MODERN_VERSIONS):
        return None
    connection.negotiated("modern", version)
    return Negotiated(
        era="modern", version=version, capabilities=map_of(said.get("capabilities")),
        info=map_of(map_of(said.get("_meta")).get(SERVER_INFO)),
        instructions=text_of(said.get("instructions"), LONGEST_INSTRUCTIONS),
    )  # fmt: skip


async def _initialize(connection: ServerConnection, declared: Declared) -> Negotiated | None:
    params = {
        "protocolVersion": HANDSHAKE_VERSIONS[-1],
        "capabilities": capabilities_for(declared, "handshake"),
        "clientInfo": dict(declared.info) or {"name": "interpose", "version": "0"},
    }
    connection.negotiated("handshake", HANDSHAKE_VERSIONS[-1])
    try:
        said = _object(await connection.request("initialize", params, seconds=0))
    except RpcError as error:
        if error.code == UNSUPPORTED_VERSION:
            return None
        raise
    version = said.get("protocolVersion")
    if version not in HANDSHAKE_VERSIONS:
        raise LinkError(f"it speaks another version of the protocol: {str(version)[:100]}")
    return Negotiated(
        era="handshake", version=version, capabilities=map_of(said.get("capabilities")),
        info=map_of(said.get("serverInfo")), instructions=text_of(said.get("instructions"), LONGEST_INSTRUCTIONS),
    )  # fmt: skip


def _any(said: list[Any], known: tuple[str, ...]) -> bool:
    return any(version in known for version in said if isinstance(version, str))


def _object(raw: Raw) -> Mapping[str, Any]:
    try:
        return map_of(msgspec.json.decode(raw))
    except (msgspec.DecodeError, RecursionError):
        return EMPTY
