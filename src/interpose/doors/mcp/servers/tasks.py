"""Calls whose results arrive later: tasks of the last handshake version, and of the modern extension.

A server's task is known to the client as `server__id`. INVARIANT: only the principal whose call made a task reaches it,
and every result that arrives passes `gate.after` like any other.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from interpose.doors.mcp.clients.client_request import ClientRequest, inputs_of
from interpose.doors.mcp.gate.contract import Asked
from interpose.doors.mcp.links.eras import map_of, meta_for
from interpose.doors.mcp.links.frames import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from interpose.doors.mcp.servers.routing import SEPARATOR

if TYPE_CHECKING:
    from interpose.doors.mcp.gateway import Gateway
    from interpose.doors.mcp.servers.supervised_server import SupervisedServer

MAX_TASKS = 10_000
LONGEST_ID = 1000

METHODS = frozenset({"tasks/get", "tasks/result", "tasks/update", "tasks/cancel"})


class KnownTask(Struct, frozen=True):
    """A task, and the call that made it."""

    server: SupervisedServer
    id: str
    asked: Asked
    ticket: Any


class Tasks:
    """All tasks that were made through us."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._known: OrderedDict[str, KnownTask] = OrderedDict()

    def begun(self, asked: Asked, ticket: Any, result: dict[str, Any], shown: dict[str, Any]) -> None:
        """A call may have become a task: then it is known, and `shown` names it as the client is to."""
        id = _place(result).get("taskId")
        if not isinstance(id, str) or not id or len(id) > LONGEST_ID or "content" in result:
            return
        place = _place(shown)
        if "taskId" not in place:
            return
        place["taskId"] = name = f"{asked.server}{SEPARATOR}{id}"
        server = next(one for one in self._gateway.routes.servers if one.name == asked.server)
        self._known[name] = KnownTask(server, id, asked, ticket)
        while len(self._known) > MAX_TASKS:
            self._known.popitem(last=False)

    def owner(self, server: str, id: Any) -> KnownTask | None:
        """The task of a server, if it was made through us."""
        return self._known.get(f"{server}{SEPARATOR}{id}")

    async def answer(self, request: ClientRequest) -> dict[str, Any]:
        """tasks/get, /result, /update or /cancel. Raises RpcError."""
        name = request.params.get("taskId")
        task = self._known.get(name) if isinstance(name, str) else None
        if task is None or task.asked.client.principal != request.conversation.client.principal:
            raise RpcError(INVALID_PARAMS, "Unknown task")
        params: dict[str, Any] = {"taskId": task.id}
        if request.method == "tasks/update":
            # INVARIANT: what reaches a server by way of a task is judged as what reaches it by the call itself.
            _, responses = inputs_of(request.params)
            judged = await self._gateway.calls.answers(request, task.server, task.asked, task.ticket, responses)
            if "inputResponses" not in judged:
                return dict(judged)
            params["inputResponses"] = judged["inputResponses"]
        connection, _ = await task.server.ready()
        request.judge = partial(self._gateway.calls.answers, request, task.server, task.asked, task.ticket)
        meta = meta_for(request.server_meta(), request.declared, connection.era, connection.version)
        exchange = await connection.begin(request.method, params, meta, caller=request)
        try:
            outcome = await exchange.outcome()
            while isinstance(outcome, tuple):
                for question in outcome:
                    question.refuse(INTERNAL_ERROR, "This client can't be asked during a task")
                outcome = await exchange.outcome()
        except BaseException:
            connection.cancel(exchange, "nobody waits for it")
            raise
        result = map_of(msgspec.json.decode(outcome))
        return await self._shown(request, task, dict(result))

    async def _shown(self, request: ClientRequest, task: KnownTask, result: dict[str, Any]) -> dict[str, Any]:
        shown = await self._gateway.calls.after(request, task.asked, task.ticket, result)
        for place in (shown, shown.get("task")):
            if isinstance(place, dict) and "taskId" in place:
                place["taskId"] = f"{task.server.name}{SEPARATOR}{task.id}"
        return shown

    async def listed(self, request: ClientRequest) -> dict[str, Any]:
        """tasks/list: those of the caller, of every server that has some and answers."""
        found: list[dict[str, Any]] = []
        for server in self._gateway.routes.servers:
            if server.negotiated is None or not server.negotiated.has("tasks", "list"):
                continue
            try:
                connection, _ = await server.ready()
                raw = await connection.request("tasks/list", {}, {})
            except RpcError:
                continue
            for one in _list_in(raw):
                task = self.owner(server.name, map_of(one).get("taskId"))
                if task is not None and task.asked.client.principal == request.conversation.client.principal:
                    said = self._gateway.gate.aside(map_of(one))
                    if said is not None:
                        found.append({**said, "taskId": f"{server.name}{SEPARATOR}{task.id}"})
        return {"tasks": found}


def _list_in(raw: msgspec.Raw) -> list[Any]:
    """INVARIANT: a server that answers with something else has no tasks, and the others have theirs."""
    try:
        tasks = map_of(msgspec.json.decode(raw)).get("tasks")
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return []
    return tasks[:MAX_TASKS] if isinstance(tasks, list) else []


def _place(result: dict[str, Any]) -> dict[str, Any]:
    """Where a result names its task: in `task` (2025-11-25), or in itself (the extension)."""
    task = result.get("task")
    return task if isinstance(task, dict) else result
