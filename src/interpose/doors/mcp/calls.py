"""tools/call, prompts/get and resources/read: judged, passed on, answered; with every question on the way.

    client --> gate.before --> server --> gate.after --> client
                  |               |
               asks a person   asks the client: an old server by a request, a modern one by `input_required`

To an old client questions are put as requests while its call is under way; a modern one gets `input_required`, and the
call waits in `holds` until it comes again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from interpose.core.errors import InvalidCallError
from interpose.core.types import EMPTY
from interpose.doors.mcp.clients.client_request import ClientRequest, inputs_of
from interpose.doors.mcp.gate.contract import AnswerNow, AskClient, Asked, Fail, Forward, Gated
from interpose.doors.mcp.gate.gate_listing import CALL_TOOL, SEARCH, carried, searched
from interpose.doors.mcp.gate.holds import PREFIX, Held, Running
from interpose.doors.mcp.gate.server_words import marked
from interpose.doors.mcp.links.eras import MISSING_CAPABILITY, map_of, meta_for, result_for
from interpose.doors.mcp.links.exchanges import ServerExchange, ServerQuestion
from interpose.doors.mcp.links.frames import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from interpose.doors.mcp.servers.routing import LONGEST, Target
from interpose.doors.mcp.servers.server_connection import ServerConnection
from interpose.doors.mcp.servers.server_listings import Kind
from interpose.doors.mcp.servers.supervised_server import SupervisedServer

if TYPE_CHECKING:
    from interpose.doors.mcp.gateway import Gateway

log = logging.getLogger("interpose.gateway")

MAX_ROUNDS = 10
"""How often one call may come back with questions."""
STATE_ONLY_PAUSE = 0.25
KEPT_DATA = frozenset({-32042, -32021, -32022})
"""Errors whose data the protocol defines. The data of others is not passed on: nobody looked at it."""
REFUSED = "Interpose could not decide about this call, so it is refused."

_SENT = frozenset({"name", "uri", "arguments", "task", "ref", "argument", "context"})
"""The params of what is judged that a server gets. INVARIANT: nobody judges others, so no server hears of them."""
_KIND: Mapping[str, Kind] = {"tools/call": "tools", "prompts/get": "prompts", "resources/read": "resources"}
JUDGED = frozenset(_KIND)


class _Passed(Struct, frozen=True):
    """A call that the gate let through, and what goes to its server."""

    target: Target
    asked: Asked
    ticket: Any
    params: Mapping[str, Any]
    schema: Mapping[str, Any]


class _AskedBack(Struct, frozen=True):
    """An old server has the call under way and asks something: what its modern client gets meanwhile."""

    result: dict[str, Any]


class Calls:
    """All that is judged. See the module."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def answer(self, request: ClientRequest) -> dict[str, Any]:
        """The result of a call. Raises RpcError."""
        if self._gateway.search and request.method == "tools/call":
            if request.params.get("name") == SEARCH:
                return await self._found(request)
            request.params = self._carried(request)
        state, responses = inputs_of(request.params)
        target, definition = await self._target(request)
        if definition is None or (why := self._gateway.routes.held(target, _KIND[request.method])):
            return self._unusable(request, target, "" if definition is None else why)
        asked = self._asked(request, target, definition)
        if state is not None and state.startswith(PREFIX):
            return await self._again(request, target, asked, state, responses)
        asked = replace(asked, responses=responses, state=state or "")
        passed = await self._judged(request, target, asked)
        return passed if isinstance(passed, dict) else await self._run(request, passed)

    async def complete(self, request: ClientRequest, target: Target, kind: Kind, ref: dict[str, str]) -> dict[str, Any]:
        """completion/complete. INVARIANT: its texts are words for a server as arguments are, and judged as such."""
        definition = await self._gateway.routes.definition(target, kind)
        if definition is None or (why := self._gateway.routes.held(target, kind)):
            return self._unusable(request, target, "" if definition is None else why)
        given = request.params
        request.params = {"ref": ref} | {key: map_of(given[key]) for key in ("argument", "context") if key in given}
        passed = await self._judged(request, target, self._asked(request, target, definition))
        return passed if isinstance(passed, dict) else await self._run(request, passed)

    async def watched(self, request: ClientRequest, target: Target) -> None:
        """Whether a client may hear of a resource's changes: if it may read it now. Raises RpcError."""
        asked = replace(self._asked(request, target, EMPTY), method="resources/read", params={"uri": target.name})
        if why := self._gateway.routes.held(target, "resources") or await self._gateway.gate.foreseen(asked):
            raise RpcError(INVALID_PARAMS, why)

    async def visible(self, request: ClientRequest, kind: Kind) -> list[dict[str, Any]]:
        """What this client may see."""
        if kind != "tools":
            return await self._gateway.routes.shown(kind)
        context = request.context()
        return await self._gateway.routes.shown(
            kind, lambda server, tools: self._gateway.gate.hide(context, server, tools)
        )

    async def _found(self, request: ClientRequest) -> dict[str, Any]:
        tools = await self.visible(request, "tools")
        try:
            return result_for(request.method, searched(request.params, tools), request.declared.era)
        except InvalidCallError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from None

    def _carried(self, request: ClientRequest) -> dict[str, Any]:
        """INVARIANT: what is looked for is called the way of every other call."""
        try:
            return carried(request.params) if request.params.get("name") == CALL_TOOL else request.params
        except InvalidCallError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from None

    # before

    async def _target(self, request: ClientRequest) -> tuple[Target, Mapping[str, Any] | None]:
        method, routes = request.method, self._gateway.routes
        key = "uri" if method == "resources/read" else "name"
        name = request.params.get(key)
        if not isinstance(name, str) or not name or len(name) > LONGEST:
            raise RpcError(INVALID_PARAMS, f"{method} needs a {key}")
        arguments = request.params.get("arguments")
        if arguments is not None and not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "arguments must be an object")
        if key == "uri":
            target = await routes.of_uri(name)
            request.params["uri"] = target.name
            # A resource need not be listed: a template or a link of a result may name it.
            return target, await routes.definition(target, "resources") or EMPTY
        target = routes.named(name, "tool" if method == "tools/call" else "prompt")
        request.params["name"] = target.name
        return target, await routes.definition(target, _KIND[method])

    def _unusable(self, request: ClientRequest, target: Target, why: str) -> dict[str, Any]:
        if not why:
            what = {"tools/call": "tool", "prompts/get": "prompt"}.get(request.method, "prompt or template")
            raise RpcError(INVALID_PARAMS, f"Unknown {what}: {target.name[:200]}")
        if request.method != "tools/call":
            raise RpcError(INVALID_PARAMS, why)
        result = {"content": [{"type": "text", "text": why}], "isError": True}
        return result_for(request.method, result, request.declared.era)

    def _asked(self, request: ClientRequest, target: Target, definition: Mapping[str, Any]) -> Asked:
        params = {key: value for key, value in request.params.items() if key in _SENT}
        if "task" in params:
            params["task"] = {
                key: value for key, value in map_of(params["task"]).items() if type(value) in (int, float)
            }
        if meta := meta_for(request.server_meta(), request.declared, "handshake", ""):
            meta.pop("progressToken", None)
            if meta:
                params = {**params, "_meta": meta}
        return Asked(
            server=target.server.name, method=request.method, name=target.name, params=params,
            client=request.client(), definition=definition,
        )  # fmt: skip

    async def _judged(self, request: ClientRequest, target: Target, asked: Asked) -> _Passed | dict[str, Any]:
        """What the gate says of it: it may pass, or this is the answer. Raises RpcError."""
        for _ in range(MAX_ROUNDS):
            match await self._before(asked):
                case Forward(params, ticket):
                    schema = map_of(asked.definition.get("inputSchema"))
                    return _Passed(target, asked, ticket, asked.params if params is None else params, schema)
                case AnswerNow(result):
                    return result_for(request.method, dict(result), request.declared.era)
                case Fail(code, message, data):
                    raise RpcError(code, message, data)
                case AskClient(requests, state):
                    if asked.continues is not None and request.modern:
                        raise RpcError(INTERNAL_ERROR, "The answers would have to be approved anew: start again")
                    if request.modern:
                        return _input_required(requests, state)
                    asked = replace(asked, responses=await self._put(request, requests), state=state)
        raise RpcError(INTERNAL_ERROR, f"The call was asked about {MAX_ROUNDS} times without a decision")

    async def _before(self, asked: Asked) -> Gated:
        try:
            return await self._gateway.gate.before(asked)
        except Exception:
            # INVARIANT: what breaks in the gate refuses.
            log.exception("the gate failed")
            return Fail(INTERNAL_ERROR, REFUSED)

    # the server

    async def _run(self, request: ClientRequest, passed: _Passed) -> dict[str, Any]:
        for _ in range(MAX_ROUNDS):
            result = await self._exchanged(request, passed)
            if isinstance(result, _AskedBack):
                return result.result
            if result.get("resultType") != "input_required":
                return await self._finished(request, passed, result)
            state = result.get("requestState")
            result = await self._seen(passed.asked, passed.ticket, result)
            if result.get("resultType") != "input_required":
                return result_for(request.method, result, request.declared.era)  # the gate withholds the questions
            questions = self._questions(request, passed, result)
            if request.modern:
                held = Held(asked=passed.asked, ticket=passed.ticket, state=state if isinstance(state, str) else None)
                return _input_required(questions, self._gateway.holds.put(held))
            answers = await self._put(request, questions) if questions else {}
            if not questions:
                await asyncio.sleep(STATE_ONLY_PAUSE)
            repeated = await self._repeated(request, passed.target, passed.asked, passed.ticket, state, answers)
            if isinstance(repeated, dict):
                return repeated
            passed = repeated
        raise RpcError(INTERNAL_ERROR, f"{passed.asked.server} asked {MAX_ROUNDS} times and did not answer")

    async def _exchanged(self, request: ClientRequest, passed: _Passed) -> dict[str, Any] | _AskedBack:
        """One round trip to the server. Raises RpcError."""
        try:
            connection, _ = await passed.target.server.ready()
            request.judge = partial(self.answers, request, passed.target.server, passed.asked, passed.ticket)
            # INVARIANT: the params that are sent are encoded from the value that was judged, never the bytes that came.
            params = {key: value for key, value in passed.params.items() if key != "_meta"}
            if connection.era == "modern":
                params.pop("task", None)
            meta = dict(map_of(passed.params.get("_meta")))
            if "progressToken" in request.meta:
                meta["progressToken"] = request.meta["progressToken"]
            exchange = await connection.begin(
                request.method, params, meta_for(meta, request.declared, connection.era, connection.version),
                caller=request, name=passed.asked.name, input_schema=passed.schema,
            )  # fmt: skip
        except RpcError as error:
            raise await self._told(passed, error) from None
        return await self._outcome(passed, connection, exchange)

    async def _outcome(
        self, passed: _Passed, connection: ServerConnection, exchange: ServerExchange
    ) -> dict[str, Any] | _AskedBack:
        """What comes of an exchange: the server's result, or what it asks a modern client before. Raises RpcError."""
        try:
            outcome = await exchange.outcome()
        except RpcError as error:
            raise await self._told(passed, error) from None
        except asyncio.CancelledError:
            connection.cancel(exchange, "the client cancelled it")
            self._gateway.spawn(self._failed(passed, INTERNAL_ERROR, "cancelled by the client"))
            raise
        if isinstance(outcome, tuple):
            return self._hold_running(passed, connection, exchange, outcome)
        try:
            result = msgspec.json.decode(outcome)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            result = None
        if not isinstance(result, dict):
            wrong = RpcError(INTERNAL_ERROR, f"{passed.asked.server} answered with something that is no result")
            raise await self._told(passed, wrong)
        return result

    def _hold_running(
        self, passed: _Passed, connection: ServerConnection, exchange: ServerExchange, asked: tuple[ServerQuestion, ...]
    ) -> _AskedBack:
        """An old server waits for answers of a modern client."""
        questions = {f"q{number}": question for number, question in enumerate(asked, 1)}
        requests = {key: {"method": one.method, "params": self._aside(one)} for key, one in questions.items()}
        connection.suspend(exchange)
        running = Running(connection, exchange, questions)
        try:
            handle = self._gateway.holds.put(Held(asked=passed.asked, ticket=passed.ticket, running=running))
        except RpcError:
            for question in asked:
                question.refuse(INTERNAL_ERROR, "Too many calls wait for answers")
            connection.cancel(exchange, "too many calls wait for answers")
            raise
        return _AskedBack(_input_required(requests, handle))

    def _aside(self, question: ServerQuestion) -> dict[str, Any]:
        seen = self._gateway.gate.aside(question.params)
        if seen is None:
            return {"message": "What the server asks could not be looked at: decline."}
        return marked(question.server, question.method, seen)

    # after

    async def _finished(self, request: ClientRequest, passed: _Passed, result: dict[str, Any]) -> dict[str, Any]:
        shown = await self.after(request, passed.asked, passed.ticket, result)
        self._gateway.tasks.begun(passed.asked, passed.ticket, result, shown)
        return shown

    async def after(self, request: ClientRequest, asked: Asked, ticket: Any, result: dict[str, Any]) -> dict[str, Any]:
        """What the client gets of a result. Raises RpcError."""
        return result_for(request.method, await self._seen(asked, ticket, result), request.declared.era)

    async def _seen(self, asked: Asked, ticket: Any, result: dict[str, Any]) -> dict[str, Any]:
        try:
            return dict(await self._gateway.gate.after(asked, ticket, result))
        except Exception:
            # INVARIANT: what nobody could look at is not shown.
            log.exception("the gate failed")
            raise RpcError(INTERNAL_ERROR, "Interpose could not look at the result, so it is withheld.") from None

    async def _told(self, passed: _Passed, error: RpcError) -> RpcError:
        text = await self._failed(passed, error.code, error.message)
        kept = error.data if error.code in KEPT_DATA and isinstance(error.data, dict) else None
        return RpcError(error.code, text, None if kept is None else self._gateway.gate.aside(kept))

    async def _failed(self, passed: _Passed, code: int, message: str) -> str:
        try:
            return await self._gateway.gate.failed(passed.asked, passed.ticket, code, message)
        except Exception:
            log.exception("the gate failed")
            return "The server answered with an error that Interpose could not look at."

    # again

    async def _again(
        self, request: ClientRequest, target: Target, asked: Asked, state: str, responses: dict[str, Any]
    ) -> dict[str, Any]:
        """A modern client comes with the answers to what a server asked."""
        held = self._gateway.holds.take(state, asked)
        if held.running is None:
            passed = await self._repeated(request, target, asked, held.ticket, held.state, responses)
            return passed if isinstance(passed, dict) else await self._run(request, passed)
        running = held.running
        try:
            # The server has the call under way: the answers are all that goes to it, and they are judged like a call.
            new = replace(asked, params={**asked.params, "inputResponses": responses}, continues=held.ticket)
            passed = await self._judged(request, target, new)
        except BaseException:
            self.drop(held)
            raise
        if isinstance(passed, dict):
            self.drop(held)
            return passed
        answers = map_of(passed.params.get("inputResponses"))
        for key, question in running.questions.items():
            if isinstance(answer := answers.get(key), dict):
                question.answer(answer)
            else:
                question.refuse(INTERNAL_ERROR, "The client did not answer")
        running.exchange.caller = request
        if "progressToken" in request.meta:
            running.exchange.token = request.meta["progressToken"]
        running.connection.resume(running.exchange)
        result = await self._outcome(passed, running.connection, running.exchange)
        if isinstance(result, _AskedBack):
            return result.result
        return await self._finished(request, passed, result)

    async def answers(
        self, request: ClientRequest, server: SupervisedServer, asked: Asked, ticket: Any, responses: dict[str, Any]
    ) -> Mapping[str, Any]:
        """The params with answers for a call that its server has under way, or the result that is sent instead."""
        new = replace(
            asked, params={**asked.params, "inputResponses": responses}, continues=ticket, client=request.client()
        )
        passed = await self._judged(request, Target(server, asked.name), new)
        return passed if isinstance(passed, dict) else passed.params

    async def _repeated(
        self, request: ClientRequest, target: Target, asked: Asked, ticket: Any, state: Any, responses: dict[str, Any]
    ) -> _Passed | dict[str, Any]:
        """The same call for a modern server, with the answers and its own state."""
        params = {key: value for key, value in asked.params.items() if key not in ("inputResponses", "requestState")}
        if responses:
            params["inputResponses"] = responses
        if isinstance(state, str):
            params["requestState"] = state
        new = replace(asked, params=params, continues=ticket, responses={}, state="")
        return await self._judged(request, target, new)

    def drop(self, held: Held) -> None:
        """Nobody comes again for a held call, or nobody may."""
        if (running := held.running) is not None:
            for question in running.questions.values():
                question.refuse(INTERNAL_ERROR, "The client did not answer")
            running.connection.cancel(running.exchange, "the client did not answer")

    def expired(self, held: Held) -> None:
        """A held call was given up."""
        self.drop(held)
        passed = _Passed(None, held.asked, held.ticket, EMPTY, EMPTY)  # type: ignore[arg-type] # goes nowhere any more
        self._gateway.spawn(self._failed(passed, INTERNAL_ERROR, "the client did not come back with answers"))

    # questions

    def _questions(self, request: ClientRequest, passed: _Passed, result: dict[str, Any]) -> dict[str, Any]:
        """What a modern server asks. Raises RpcError if the client did not declare that it answers it."""
        questions = dict(map_of(result.get("inputRequests")))
        for key, one in questions.items():
            method, params = str(map_of(one).get("method")), map_of(map_of(one).get("params"))
            if not request.declared.answers(method, params):
                what = f"{passed.asked.server} asks for {method[:100]}, which this client did not declare"
                raise RpcError(MISSING_CAPABILITY, what)
            if params:
                questions[key] = {**map_of(one), "params": marked(passed.asked.server, method, params)}
        return questions

    async def _put(self, request: ClientRequest, questions: Mapping[str, Any]) -> dict[str, Any]:
        """Put questions to a client of the old era, one after another: one person answers them."""
        answers: dict[str, Any] = {}
        for key, one in questions.items():
            method, params = str(map_of(one).get("method")), map_of(map_of(one).get("params"))
            if not request.declared.answers(method, params):
                raise RpcError(MISSING_CAPABILITY, f"This client did not declare that it answers {method}")
            answers[key] = await request.conversation.ask(method, params, request.id)
        return answers


def _input_required(requests: Mapping[str, Any], state: str) -> dict[str, Any]:
    result: dict[str, Any] = {"resultType": "input_required", "requestState": state}
    if requests:
        result["inputRequests"] = dict(requests)
    return result
