"""Which server a name or a URI is for, and what clients see of all servers together.

Names are `server__name`: a server's own names stay as they are, its prefix has no `__`, so the first one ends it. URIs
stay as they are unless two servers show the same one: then both are `interpose://server/URI`, and the bare URI is
nobody's. That way no server can take another's place by showing what that one shows.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct

from interpose.doors.mcp.gate.contract import ServerCatalogue
from interpose.doors.mcp.links.frames import INVALID_PARAMS, RpcError
from interpose.doors.mcp.servers.server_listings import METHODS, Kind, Listed
from interpose.doors.mcp.servers.supervised_server import SupervisedServer

log = logging.getLogger("interpose.gateway")

SEPARATOR = "__"
QUALIFIED = "interpose://"
PATIENCE = 6.0
"""Seconds that a client waits for servers that are starting, where there are others. Hosts give up after 10 to 30."""
LONGEST = 8192
"""Characters of a name or a URI that a client may ask for."""


Hide = Callable[[str, Sequence[Mapping[str, Any]]], tuple[Mapping[str, Any], ...]]
"""What of a server's items somebody may see."""


class Target(Struct, frozen=True):
    """What a client means: a server, and that server's own name for it."""

    server: SupervisedServer
    name: str


class Routes:
    """All servers, in the order of the configuration."""

    def __init__(self, servers: Sequence[tuple[str, SupervisedServer]], catalogue: ServerCatalogue) -> None:
        """Each with its prefix; one server may have none."""
        self._catalogue = catalogue
        self.servers = tuple(server for _, server in servers)
        self._by_prefix = dict(servers)
        self._prefix = {server.name: prefix for prefix, server in servers}
        self._by_name = {server.name: server for server in self.servers}
        self._admitted: dict[tuple[str, Kind], Listed] = {}

    def client_name(self, server: str, name: str) -> str:
        """What clients call it."""
        prefix = self._prefix[server]
        return f"{prefix}{SEPARATOR}{name}" if prefix else name

    def named(self, name: str, what: str) -> Target:
        """The tool or prompt that a client means. Raises RpcError."""
        prefix, separator, own = name.partition(SEPARATOR)
        if separator and prefix and (server := self._by_prefix.get(prefix)) is not None:
            return Target(server, own)
        if (server := self._by_prefix.get("")) is not None:
            return Target(server, name)
        raise RpcError(INVALID_PARAMS, f"Unknown {what}: {name[:200]}")

    async def definition(self, target: Target, kind: Kind) -> Mapping[str, Any] | None:
        """What its server says of it; None if it does not show it. Raises RpcError."""
        listed = target.server.listings.known(kind)
        if listed is None:
            listed = await target.server.listing(kind)
        self._admit(target.server, kind, listed)
        return listed.by_name.get(target.name)

    def held(self, target: Target, kind: Kind) -> str:
        """Why it may not be used now. Empty if it may."""
        return self._catalogue.held(target.server.name, kind, target.name)

    def _admit(self, server: SupervisedServer, kind: Kind, listed: Listed) -> None:
        # INVARIANT: nothing of a list is used before the catalogue has seen it.
        key = (server.name, kind)
        if self._admitted.get(key) is not listed:
            self._catalogue.admit(server.as_listing(kind, listed))
            self._admitted[key] = listed

    async def shown(self, kind: Kind, hide: Hide | None = None) -> list[dict[str, Any]]:
        """What all servers show, as clients see it. A server that does not answer shows nothing."""
        key = METHODS[kind][1]
        found = list(await asyncio.gather(*(self.shown_by(server, kind) for server in self.servers)))
        if hide is not None:
            found = [hide(server.name, items) for server, items in zip(self.servers, found, strict=True)]
        pairs = list(zip(self.servers, found, strict=True))
        if kind == "resources":
            shared = _shared(items for _, items in pairs)
            return [
                {**item, key: _qualified(server.name, item[key]) if item[key] in shared else item[key]}
                for server, items in pairs
                for item in items
            ]
        if kind == "resourceTemplates":
            return [dict(item) for _, items in pairs for item in items]
        return self._renamed(pairs, key)

    def _renamed(
        self, pairs: Sequence[tuple[SupervisedServer, Sequence[Mapping[str, Any]]]], key: str
    ) -> list[dict[str, Any]]:
        shown: dict[str, dict[str, Any]] = {}
        for server, items in pairs:
            for item in items:
                name = self.client_name(server.name, item[key])
                meant = self.named(name, "item")
                if meant.server is not server:
                    # Only a server without a prefix can do that: its name would be taken for another server's.
                    log.error("name collides", extra={"server": server.name, "item": name})
                    continue
                shown[name] = {**item, key: name}
        return list(shown.values())

    async def shown_by(self, server: SupervisedServer, kind: Kind) -> tuple[Mapping[str, Any], ...]:
        """What one server shows of what the catalogue admits; nothing if it does not answer.

        One that is still starting is left out where there are others: clients hear that the list changed when it runs.
        """
        try:
            if not server.running and len(self.servers) > 1:
                async with asyncio.timeout(PATIENCE):
                    await server.ready()
            listed = await server.listing(kind, fresh=True)
        except TimeoutError:
            log.warning("server is still starting", extra={"server": server.name})
            return ()
        except RpcError as error:
            log.warning("server shows nothing", extra={"server": server.name, "kind": kind, "why": str(error)})
            return ()
        admitted = self._catalogue.admit(server.as_listing(kind, listed))
        self._admitted[(server.name, kind)] = listed
        return admitted

    def client_uri(self, server: str, uri: str) -> str:
        """What clients call a resource of this server."""
        shown = [
            one.name for one in self.servers if (listed := one.listings.known("resources")) and uri in listed.by_name
        ]
        return _qualified(server, uri) if len(shown) > 1 else uri

    async def of_uri(self, uri: str) -> Target:
        """The resource that a client means. Raises RpcError."""
        if uri.startswith(QUALIFIED):
            name, _, own = uri.removeprefix(QUALIFIED).partition("/")
            if (server := self._by_name.get(name)) is not None:
                return Target(server, unquote(own))
        if len(self.servers) == 1:
            return Target(self.servers[0], uri)
        exact = [server for server in self.servers if uri in (await self._listed(server, "resources")).by_name]
        if not exact:
            exact = [
                server
                for server in self.servers
                if any(matches(one, uri) for one in (await self._listed(server, "resourceTemplates")).by_name)
            ]
        if len(exact) == 1:
            return Target(exact[0], uri)
        if exact:
            choices = ", ".join(_qualified(server.name, uri) for server in exact)
            raise RpcError(INVALID_PARAMS, f"Several servers have this resource; ask for one of {choices}")
        raise RpcError(INVALID_PARAMS, f"Unknown resource: {uri[:200]}")

    async def of_template(self, uri: str) -> Target:
        """The template of resources that a client means. Raises RpcError."""
        if len(self.servers) == 1:
            return Target(self.servers[0], uri)
        found = [one for one in self.servers if uri in (await self._listed(one, "resourceTemplates")).by_name]
        if len(found) == 1:
            return Target(found[0], uri)
        why = "Several servers have this template" if found else "Unknown resource template"
        raise RpcError(INVALID_PARAMS, f"{why}: {uri[:200]}")

    async def _listed(self, server: SupervisedServer, kind: Kind) -> Listed:
        try:
            return await server.listing(kind)
        except RpcError:
            return Listed()

    def extended(self, method: str, methods: Mapping[str, Sequence[str]]) -> SupervisedServer | None:
        """The one server for which the configuration lets this method through."""
        found = [name for name, allowed in methods.items() if method in allowed]
        return self._by_name.get(found[0]) if len(found) == 1 else None

    def instructions(self) -> str:
        """What all servers tell the model, each under its name."""
        told = []
        for server in self.servers:
            if server.negotiated and (text := self._catalogue.instructions(server.name)):
                told.append(text if len(self.servers) == 1 else f"# {server.name}\n{text}")
        return "\n\n".join(told)


def matches(template: str, uri: str) -> bool:
    """Whether a URI can be of a template: its fixed parts stand in it, in their order. Linear, unlike a pattern."""
    fixed = _fixed_parts(template)
    if len(fixed) == 1:
        return uri == template
    first, *between, last = fixed
    if not first or not uri.startswith(first) or not uri.endswith(last) or len(uri) < len(first) + len(last):
        return False
    at, end = len(first), len(uri) - len(last)
    for part in between:
        at = uri.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def _fixed_parts(template: str) -> list[str]:
    parts, rest = [], template
    while True:
        before, opened, behind = rest.partition("{")
        parts.append(before)
        if not opened:
            return parts
        _, closed, rest = behind.partition("}")
        if not closed:
            return [template]


def _shared(lists: Any) -> set[str]:
    counted = Counter(item["uri"] for items in lists for item in items)
    return {uri for uri, count in counted.items() if count > 1}


def _qualified(server: str, uri: str) -> str:
    return f"{QUALIFIED}{server}/{quote(uri, safe='')}"
