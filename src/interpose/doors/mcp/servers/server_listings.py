"""What one server shows: each list read whole, kept until it changes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from interpose.doors.mcp.links.eras import meta_for
from interpose.doors.mcp.links.frames import INTERNAL_ERROR, METHOD_NOT_FOUND, RpcError

if TYPE_CHECKING:
    from interpose.doors.mcp.servers.supervised_server import SupervisedServer

Kind = Literal["tools", "prompts", "resources", "resourceTemplates"]

MAX_PAGES = 200
MAX_ITEMS = 10_000
LONGEST_NAME = 512

METHODS: Mapping[Kind, tuple[str, str, str]] = {
    "tools": ("tools/list", "name", "tools"),
    "prompts": ("prompts/list", "name", "prompts"),
    "resources": ("resources/list", "uri", "resources"),
    "resourceTemplates": ("resources/templates/list", "uriTemplate", "resources"),
}
"""How each is asked for, what names an item, and the capability that says that there are any."""


class Listed(Struct, frozen=True):
    """A list as it was read."""

    items: tuple[Mapping[str, Any], ...] = ()
    by_name: Mapping[str, Mapping[str, Any]] = {}
    until: float = 0.0
    """When it must be read again for whoever asks for it, on the monotonic clock."""


class ServerListings:
    """The lists of one server."""

    def __init__(self, server: SupervisedServer) -> None:
        self._server = server
        self._known: dict[Kind, Listed] = {}
        self._reading: dict[Kind, asyncio.Task[Listed]] = {}
        self._turn = 0

    def forget(self, kind: Kind | None = None) -> None:
        """It changed."""
        self._turn += 1
        for each in METHODS if kind is None else (kind,):
            self._known.pop(each, None)
            self._reading.pop(each, None)

    def known(self, kind: Kind) -> Listed | None:
        """The list if it was read already."""
        return self._known.get(kind)

    async def get(self, kind: Kind, *, fresh: bool = False) -> Listed:
        """The list. `fresh`: not one that its server may have changed without a word. Raises RpcError."""
        found = self._known.get(kind)
        if found is not None and not (fresh and monotonic() > found.until):
            return found
        task = self._reading.get(kind)
        if task is None:
            # One reading for all who ask at the same time; none of them ends it for the others.
            task = self._reading[kind] = asyncio.ensure_future(self._read(kind, self._turn))
            task.add_done_callback(lambda done: self._read_done(kind, done))
        return await asyncio.shield(task)

    def _read_done(self, kind: Kind, task: asyncio.Task[Listed]) -> None:
        if self._reading.get(kind) is task:
            del self._reading[kind]
        if not task.cancelled():
            task.exception()  # whoever waited has it

    async def _read(self, kind: Kind, turn: int) -> Listed:
        connection, negotiated = await self._server.ready()
        method, key, capability = METHODS[kind]
        if not negotiated.has(capability):
            return Listed()
        items: dict[str, Mapping[str, Any]] = {}
        cursor: str | None = None
        seen: set[str] = set()
        lifetime = float("inf") if negotiated.has(capability, "listChanged") else 0.0
        for _ in range(MAX_PAGES):
            meta = meta_for({}, self._server.declared, connection.era, connection.version)
            try:
                raw = await connection.request(method, {} if cursor is None else {"cursor": cursor}, meta)
            except RpcError as error:
                if error.code == METHOD_NOT_FOUND:
                    return Listed()
                raise
            page = self._page(raw, method)
            self._take(page.get(kind), key, items, method)
            if isinstance(ttl := page.get("ttlMs"), int) and ttl > 0:
                lifetime = max(lifetime, min(ttl / 1000, 3600.0))
            cursor = page.get("nextCursor")
            if cursor is None or cursor == "":
                break
            if not isinstance(cursor, str) or cursor in seen or len(items) >= MAX_ITEMS:
                raise self._wrong(method, "pages that don't end")
            seen.add(cursor)
        else:
            raise self._wrong(method, f"more than {MAX_PAGES} pages")
        listed = Listed(tuple(items.values()), items, monotonic() + lifetime)
        if turn == self._turn:
            self._known[kind] = listed
        return listed

    def _page(self, raw: msgspec.Raw, method: str) -> dict[str, Any]:
        try:
            page = msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            page = None
        if not isinstance(page, dict):
            raise self._wrong(method, "something that is no list")
        return page

    def _take(self, found: Any, key: str, items: dict[str, Mapping[str, Any]], method: str) -> None:
        if not isinstance(found, list):
            raise self._wrong(method, "something that is no list")
        for item in found:
            name = item.get(key) if isinstance(item, dict) else None
            if not isinstance(name, str) or not name or (len(name) > LONGEST_NAME and key == "name"):
                raise self._wrong(method, "an item without a name")
            # INVARIANT: a name means one thing. Of two items with one name, nobody can say which was judged.
            if name in items:
                raise self._wrong(method, f"{name[:100]!r} twice")
            items[name] = item

    def _wrong(self, method: str, what: str) -> RpcError:
        return RpcError(INTERNAL_ERROR, f"{self._server.name} answers {method} with {what}")
