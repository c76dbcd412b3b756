"""What one client wants to hear of: an old one by `resources/subscribe`, a modern one by `subscriptions/listen`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from interpose.doors.mcp.clients.client_request import ClientRequest
from interpose.doors.mcp.links.eras import SUBSCRIPTION_ID, map_of
from interpose.doors.mcp.links.frames import INTERNAL_ERROR, INVALID_PARAMS, RequestId, RpcError, notification
from interpose.doors.mcp.servers.routing import Routes, Target

if TYPE_CHECKING:
    from interpose.doors.mcp.clients.conversation import Conversation

MAX_STREAMS = 16
MAX_URIS = 1000

_FLAGS: Mapping[str, str] = {
    "tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"
}  # fmt: skip


class _Stream(Struct, frozen=True):
    """One `subscriptions/listen`."""

    id: RequestId
    kinds: frozenset[str]
    uris: frozenset[tuple[str, str]]
    tasks: frozenset[str]


class Subscriptions:
    """Of one conversation."""

    def __init__(self, conversation: Conversation, routes: Routes) -> None:
        self._conversation, self._routes = conversation, routes
        self._streams: dict[RequestId, _Stream] = {}
        self._uris: dict[tuple[str, str], Target] = {}
        self.ended = asyncio.Event()
        """Set when we stop: streams end with a result."""

    async def subscribe(self, request: ClientRequest) -> dict[str, Any]:
        """resources/subscribe and resources/unsubscribe."""
        uri = request.params.get("uri")
        if not isinstance(uri, str):
            raise RpcError(INVALID_PARAMS, f"{request.method} needs a uri")
        target = await self._routes.of_uri(uri)
        key = (target.server.name, target.name)
        if request.method == "resources/unsubscribe":
            if self._uris.pop(key, None) is not None:
                await target.server.watch.unwant(target.name)
        elif key not in self._uris:
            if len(self._uris) >= MAX_URIS:
                raise RpcError(INTERNAL_ERROR, f"{MAX_URIS} resources are subscribed already")
            await self._conversation.gateway.calls.watched(request, target)
            await target.server.watch.want(target.name)
            self._uris[key] = target
        return {}

    async def listen(self, request: ClientRequest) -> dict[str, Any]:
        """subscriptions/listen: answered when it ends."""
        if len(self._streams) >= MAX_STREAMS:
            raise RpcError(INTERNAL_ERROR, f"{MAX_STREAMS} subscriptions are open already")
        wanted = map_of(request.params.get("notifications"))
        kinds = frozenset(kind for kind, flag in _FLAGS.items() if wanted.get(flag) is True)
        uris = [uri for uri in _texts(wanted.get("resourceSubscriptions")) if len(uri) < 8192][:MAX_URIS]
        targets = {uri: await self._routes.of_uri(uri) for uri in uris}
        for target in targets.values():
            await self._conversation.gateway.calls.watched(request, target)
        tasks = _texts(wanted.get("taskIds"))[:MAX_URIS]
        watched: list[Target] = []
        try:
            for target in targets.values():
                await target.server.watch.want(target.name)
                watched.append(target)
            self._streams[request.id] = _Stream(
                request.id, kinds, frozenset((one.server.name, one.name) for one in watched), frozenset(tasks)
            )
            honoured: dict[str, Any] = {flag: True for kind, flag in _FLAGS.items() if kind in kinds}
            if uris:
                honoured["resourceSubscriptions"] = uris
            if tasks:
                honoured["taskIds"] = tasks
            await self._conversation.link.send(
                notification(
                    "notifications/subscriptions/acknowledged",
                    {"notifications": honoured, "_meta": {SUBSCRIPTION_ID: request.id}},
                ),
                during=request.id,
            )
            await self.ended.wait()
        finally:
            self._streams.pop(request.id, None)
            for target in watched:
                self._conversation.spawn(target.server.watch.unwant(target.name))
        return {"resultType": "complete", "_meta": {SUBSCRIPTION_ID: request.id}}

    def changed(self, kind: str, *, old: bool) -> None:
        """A list changed. A client of the old era hears of it without asking."""
        method = f"notifications/{kind}/list_changed"
        if old:
            self._conversation.link.post(notification(method))
        for stream in self._streams.values():
            if kind in stream.kinds:
                self._post(stream, method, {})

    def updated(self, server: str, uri: str) -> None:
        """A resource changed."""
        key = (server, uri)
        method, params = "notifications/resources/updated", {"uri": self._routes.client_uri(server, uri)}
        if key in self._uris:
            self._conversation.link.post(notification(method, params))
        for stream in self._streams.values():
            if key in stream.uris:
                self._post(stream, method, params)

    def task(self, name: str, method: str, params: dict[str, Any], *, old: bool) -> None:
        """A task of this client is further than it was."""
        if old:
            self._conversation.link.post(notification(method, params))
        for stream in self._streams.values():
            if name in stream.tasks:
                self._post(stream, method, params)

    def _post(self, stream: _Stream, method: str, params: dict[str, Any]) -> None:
        stamped = {**params, "_meta": {SUBSCRIPTION_ID: stream.id}}
        self._conversation.link.post(notification(method, stamped), during=stream.id)

    def has(self, id: RequestId) -> bool:
        """Whether this request is a stream."""
        return id in self._streams

    async def close(self) -> None:
        """The client is gone."""
        for target in self._uris.values():
            await target.server.watch.unwant(target.name)
        self._uris.clear()


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
