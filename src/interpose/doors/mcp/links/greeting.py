"""What a client hears of us when it comes: `initialize` in the old era, `server/discover` in the modern one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interpose.doors.mcp.gate.contract import Era
from interpose.doors.mcp.links.eras import (
    CONNECTION_CLOSED,
    MODERN_VERSIONS,
    SERVER_INFO,
    Declared,
    handshake_version,
    map_of,
)
from interpose.doors.mcp.links.frames import RpcError
from interpose.doors.mcp.servers import routing

if TYPE_CHECKING:
    from interpose.doors.mcp.gateway import Gateway
    from interpose.doors.mcp.servers.supervised_server import SupervisedServer


async def initialised(gateway: Gateway, params: Mapping[str, Any]) -> tuple[Declared, dict[str, Any]]:
    """What the client declared, and our answer to `initialize`."""
    declared = Declared(
        era="handshake", version=handshake_version(params.get("protocolVersion")),
        info=map_of(params.get("clientInfo")), capabilities=map_of(params.get("capabilities")),
    )  # fmt: skip
    gateway.introduce(declared)
    await _settled(gateway)
    result: dict[str, Any] = {
        "protocolVersion": declared.version, "capabilities": capabilities(gateway, "handshake"),
        "serverInfo": _info(gateway),
    }  # fmt: skip
    if told := gateway.routes.instructions():
        result["instructions"] = told
    return declared, result


async def discovered(gateway: Gateway) -> dict[str, Any]:
    """Our answer to `server/discover`."""
    await _settled(gateway)
    result: dict[str, Any] = {
        "resultType": "complete", "supportedVersions": list(MODERN_VERSIONS),
        "capabilities": capabilities(gateway, "modern"), "ttlMs": 0, "cacheScope": "private",
        "_meta": {SERVER_INFO: _info(gateway)},
    }  # fmt: skip
    if told := gateway.routes.instructions():
        result["instructions"] = told
    return result


async def _settled(gateway: Gateway) -> None:
    """Wait, for a while, until it is known what servers there are and what they tell the model.

    Raises RpcError if there is only one, which we are to the client, and it does not run.
    """

    async def settled(server: SupervisedServer) -> None:
        try:
            await server.ready()
            # The catalogue sees a server's instructions with its tools, and may hold them back.
            await gateway.routes.shown_by(server, "tools")
        except RpcError:
            pass

    waiting = [asyncio.ensure_future(settled(server)) for server in gateway.routes.servers]
    if waiting:
        # Who wraps one server waits for it as they would without us: until it runs, or its time to start is up.
        _, late = await asyncio.wait(waiting, timeout=None if gateway.transparent else routing.PATIENCE)
        for task in late:
            task.cancel()
    if gateway.transparent and (why := gateway.routes.servers[0].failure):
        raise RpcError(CONNECTION_CLOSED, f"{gateway.routes.servers[0].name} does not run: {why}")


def _info(gateway: Gateway) -> dict[str, Any]:
    """Who we are: `interpose mcp wrap` is the server that it wraps."""
    servers = gateway.routes.servers
    if gateway.transparent and len(servers) == 1 and servers[0].negotiated is not None and servers[0].negotiated.info:
        return dict(servers[0].negotiated.info)
    return {"name": "interpose", "version": gateway.version}


def capabilities(gateway: Gateway, era: Era) -> dict[str, Any]:
    """What all servers can together. One that is not there yet may bring anything."""
    servers = gateway.routes.servers
    unknown = not servers or any(server.negotiated is None for server in servers)
    told = [server.negotiated for server in servers if server.negotiated is not None]
    said: dict[str, Any] = {}
    if unknown or any(one.has("tools") for one in told):
        said["tools"] = {"listChanged": True}
    if unknown or any(one.has("prompts") for one in told):
        said["prompts"] = {"listChanged": True}
    if unknown or any(one.has("resources") for one in told):
        said["resources"] = {"listChanged": True, "subscribe": True}
    if any(one.has("completions") for one in told):
        said["completions"] = {}
    if era == "handshake":
        if any(one.has("logging") for one in told):
            said["logging"] = {}
        for one in told:
            if one.era == "handshake" and isinstance(tasks := one.capabilities.get("tasks"), dict):
                said["tasks"] = {**tasks, **said.get("tasks", {})}
    else:
        extensions = [map_of(one.capabilities.get("extensions")) for one in told if one.era == "modern"]
        if merged := {key: value for each in extensions for key, value in each.items()}:
            said["extensions"] = merged
    return said
