"""MCP Python SDK: a middleware for servers, which judges what clients ask of them before it runs and after.

Tools have the names that the gateway gives them (`mcp__SERVER__TOOL`), and prompts and resources theirs. A question is
an elicitation: a request to the client while its call is under way or, since the protocol's version 2026-07-28, an
`input_required` result, after which the client makes the same call again with the answer.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from functools import partial
from hashlib import sha256
from time import monotonic
from typing import Any, Unpack, assert_never

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct
from msgspec.json import Encoder
from pydantic import BaseModel

from interpose.core.answers import Approved
from interpose.core.driving import Flow, drive_async
from interpose.core.errors import FrameworkLimitError, text_of
from interpose.core.formats import base64_parts
from interpose.core.formats.base64_parts import OpenedValue
from interpose.core.formats.plain_text import one_line, plain
from interpose.core.types import Deny, thaw
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.guarding import (
    PLAIN,
    AskPerson,
    Ending,
    FrameworkCall,
    FrameworkGuard,
    PersonsAnswer,
    Result,
    ResultShape,
    RunWith,
    Told,
)
from interpose.doors.frameworks.options import GuardOptions
from interpose.doors.hooks.hosts.result_shapes import fitted

FACTS = FrameworkFacts(name="mcp_sdk", title="MCP Python SDK", asks="elicitation")
SESSION = "interpose/session"
"""The key in `_meta` under which a client names its session."""
REQUEST, FIELD, YES, NO = "interpose", "answer", "yes", "no"
"""The name of our question among `inputRequests`, and its form."""
REFUSED = -32010
CANNOT_ASK = (
    "this client can't ask a person (it has no elicitation): let a queue or a function of yours answer, with confirm"
)
CONTINUES = ("inputResponses", "requestState")
"""With what a client comes back that was asked something."""
KEPT = 600.0
"""Seconds for which an answer to a question counts."""

_JUDGED = frozenset({"tools/call", "prompts/get", "resources/read", "completion/complete"})
_COMPLETED = ("ref", "argument", "context")
_PARTS = frozenset({"content", "contents", "messages", "completion", "inputRequests"})
"""One of these makes a result what it is."""
_MOST, _LONGEST, _SHOWN = 10_000, 256, 4_000
_FORM: Any = {
    "type": "object",
    "properties": {FIELD: {"type": "string", "title": "May it run?", "enum": [NO, YES]}},
    "required": [FIELD],
}
_encode = Encoder(order="sorted", enc_hook=text_of).encode


def guard(name: str = "", /, **options: Unpack[GuardOptions]) -> InterposeServerMiddleware:
    """A middleware that lets every tool call pass Interpose: `MCPServer("notes", middleware=[guard("notes")])`.

    `name` is what rules call the server: `mcp__notes__TOOL`. Put it first, so that it is outside of your others: then
    none of them answers a call that nobody judged. The options are those of `GuardOptions`.
    """
    return InterposeServerMiddleware(ServerGuard(FACTS, options), name)


class ServerGuard(FrameworkGuard):
    """A guard of a server, whose results say by themselves that a tool failed."""

    def after(
        self, ran: RunWith, result: Any, *, is_error: bool = False, duration_ns: int = 0, shape: ResultShape = PLAIN
    ) -> Flow[Ending]:
        """See FrameworkGuard."""
        failed = is_error or (isinstance(result, Mapping) and result.get("isError") is True)
        return super().after(ran, result, is_error=failed, duration_ns=duration_ns, shape=shape)


class InterposeServerMiddleware:
    """Every tool call of a server, judged before it runs and after; and its prompts, resources and completions."""

    def __init__(self, guard: FrameworkGuard, name: str) -> None:
        self._guard, self._name = guard, name
        self._questions = ClientQuestions()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """One message of a client."""
        method = ctx.method
        if method not in _JUDGED:
            return await call_next(ctx)
        current = Round(ctx, ctx.params or {})
        call = called(self._name, method, current)

        async def execute(arguments: dict[str, Any]) -> Any:
            params = current.params | put_back(method, current.params, arguments)
            result = wire(await call_next(dataclasses.replace(ctx, params=params)))
            if "task" in result or "taskId" in result:
                no_task(self._guard, call)
            return result

        ask = partial(self._questions.asked, current)
        try:
            ending = await drive_async(self._guard.around(call, execute, ask=ask, shape=ServerResult().shape))
        except QuestionPut as put:
            return put.result
        match ending:
            case Result(value):
                self._questions.goes_on(current, value)
                return value
            case Told(text) if method == "tools/call":
                return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
            case Told(text):
                raise MCPError(code=REFUSED, message=text)
            case _:
                assert_never(ending)


def no_task(guard: FrameworkGuard, call: FrameworkCall) -> None:
    """A task gives its result later, where nobody can stand between. Raises MCPError unless that was accepted."""
    try:
        guard.must_guard(call.name)
    except FrameworkLimitError as error:
        raise MCPError(code=REFUSED, message=text_of(error)) from None


class Round:
    """One request of a client, which may be the same call again, with answers to what was asked."""

    def __init__(self, context: ServerRequestContext[Any, Any] | None, params: Mapping[str, Any]) -> None:
        """`context` is None for a call that the server makes itself."""
        self.context = context
        self.params = dict(params)
        self.approved = b""
        """The question to which its person said yes."""

    @property
    def state(self) -> str:
        state = self.params.get("requestState")
        return state if isinstance(state, str) else ""

    @property
    def session(self) -> str:
        """What the client calls its session. INVARIANT: nobody gets into that of another principal by naming it."""
        meta = self.params.get("_meta")
        said = meta.get(SESSION) if isinstance(meta, dict) else None
        session = one_line(said.strip())[:_LONGEST] if isinstance(said, str) else ""
        token = get_access_token()
        return session if token is None else f"{token.client_id}:{token.subject or ''}:{session}"

    @property
    def is_modern(self) -> bool:
        """Whether a question is a result: there is no way to ask while a call is under way."""
        return self.context is not None and self.context.protocol_version in MODERN_PROTOCOL_VERSIONS

    def continued(self) -> dict[str, Any]:
        """What belongs to the tool's own questions."""
        return {key: self.params[key] for key in CONTINUES if key in self.params}

    def continue_with(self, others: Mapping[str, Any]) -> None:
        """Take away our own answer, and put back what came before we asked."""
        self.params = {key: value for key, value in self.params.items() if key not in CONTINUES} | dict(others)


class QuestionPut(Exception):  # noqa: N818 - no error: the client is asked, and calls again
    """The result with which a client is asked."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("a question was put")
        self.result = result


class _PutToClient(Struct, frozen=True):
    key: bytes
    at: float
    held: Mapping[str, Any]
    is_answered: bool = False


class ClientQuestions:
    """Questions to the person in front of a client.

    INVARIANT: only `accept` with the word yes, for this very call, lets it run. Since 2026-07-28 it must come with a
    state of ours, which counts once.
    """

    def __init__(self) -> None:
        self._open: OrderedDict[str, _PutToClient] = OrderedDict()

    def asked(self, current: Round, question: AskPerson) -> PersonsAnswer | Awaitable[PersonsAnswer]:
        """The person's answer. Raises QuestionPut."""
        key, put = _key(question), self._open.pop(current.state, None)
        counts = put is not None and put.key == key and monotonic() - put.at < KEPT
        if put is not None and put.is_answered and counts:  # the tool asked something since
            current.approved = key
            return Approved(FACTS.name)
        if current.context is None or not _can_ask(current.context):
            return Deny(CANNOT_ASK)
        if not current.is_modern:
            return self._put(current, current.context, question)
        if put is None or not counts or put.is_answered:
            held = current.continued() if put is None or put.is_answered else put.held
            raise QuestionPut(self._paused(key, question, held))
        responses = current.params.get("inputResponses")
        response = responses.get(REQUEST) if isinstance(responses, dict) else None
        current.continue_with(put.held)
        content = response.get("content") if isinstance(response, dict) else None
        return _answer(current, key, response.get("action") if isinstance(response, dict) else None, content)

    async def _put(self, current: Round, context: ServerRequestContext[Any, Any], question: AskPerson) -> PersonsAnswer:
        try:
            came: ElicitResult = await context.session.elicit_form(_shown(question), _FORM, context.request_id)
        except Exception as error:  # noqa: BLE001 - whoever can't be asked did not say yes
            return Deny(f"the client could not be asked: {text_of(error)}")
        return _answer(current, _key(question), came.action, came.content)

    def _paused(self, key: bytes, question: AskPerson, held: Mapping[str, Any]) -> InputRequiredResult:
        state = f"{REQUEST}:{secrets.token_urlsafe(24)}"
        self._keep(state, _PutToClient(key, monotonic(), held))
        form = ElicitRequest(params=ElicitRequestFormParams(message=_shown(question), requested_schema=_FORM))
        return InputRequiredResult(input_requests={REQUEST: form}, request_state=state)

    def goes_on(self, current: Round, result: Any) -> None:
        """A tool that asks by itself will be called again: the person who agreed is not asked twice."""
        state = result.get("requestState") if isinstance(result, Mapping) else None
        if current.approved and isinstance(state, str) and state:
            self._keep(state, _PutToClient(current.approved, monotonic(), {}, is_answered=True))

    def _keep(self, state: str, question: _PutToClient) -> None:
        self._open[state] = question
        if len(self._open) > _MOST:
            self._open.popitem(last=False)


def _answer(current: Round, key: bytes, action: Any, content: Any) -> PersonsAnswer:
    if action == "accept" and isinstance(content, Mapping) and content.get(FIELD) == YES:
        current.approved = key
        return Approved(FACTS.name)
    return Deny("")


def _key(question: AskPerson) -> bytes:
    call = question.then.call
    who = (call.context.session_id, call.context.principal)
    return sha256(_encode((call.original_name, question.then.arguments, question.question, who))).digest()


def _shown(question: AskPerson) -> str:
    arguments = _encode(question.then.arguments).decode()
    cut = arguments if len(arguments) <= _SHOWN else f"{arguments[:_SHOWN]}... ({len(arguments)} letters)"
    call = question.then.call
    return plain(f"{question.question}\n{call.original_name or call.name}\n{cut}")


def _can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    able = context.session.client_capabilities
    asks = None if able is None else able.elicitation
    return asks is not None and (asks.form is not None or asks.url is None)


def called(server: str, method: str, current: Round) -> FrameworkCall:
    """The call that a request is, with the name that the gateway would give it. Raises MCPError if it is none."""
    params = current.params
    name, given = params.get("uri" if method == "resources/read" else "name"), params.get("arguments")
    if method == "completion/complete":
        name, given = method, None
    if not isinstance(name, str) or not (given is None or isinstance(given, dict)):
        raise MCPError(code=INVALID_PARAMS, message=f"{method} needs a name, and arguments that are an object")
    match method:
        case "tools/call":
            arguments: dict[str, Any] = given or {}
        case "prompts/get":
            name, arguments = method, {"name": name, "arguments": given or {}}
        case "resources/read":
            # INVARIANT: what is no address of the web is looked at as a file, whatever its scheme or lack of one.
            web = name.strip().lower().startswith(("http:", "https:"))
            name, arguments = "resources/fetch" if web else method, {"uri": name}
        case _:
            arguments = {key: params[key] for key in _COMPLETED if key in params}
    call_id = None if current.context is None else current.context.request_id
    return FrameworkCall(
        name=f"mcp__{server}__{name}" if server else f"mcp__{name}", arguments=arguments,
        call_id="" if call_id is None else str(call_id), session=current.session,
    )  # fmt: skip


def put_back(method: str, params: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """The params of a call that runs with these arguments. Raises MCPError if they would make another request."""
    match method:
        case "tools/call":
            return {"arguments": arguments}
        case "prompts/get":
            if arguments.get("name") != params.get("name"):
                raise MCPError(code=REFUSED, message="Not run as it is: another prompt is another request")
            return {"arguments": arguments.get("arguments")}
        case "resources/read":
            return {"uri": arguments.get("uri")}
        case _:
            return {key: arguments[key] for key in _COMPLETED if key in arguments}


def wire(result: Any) -> dict[str, Any]:
    """A result as it goes to the client."""
    if isinstance(result, BaseModel):
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dict(result or {})


class ServerResult:
    """One result on its way to the client. What is base64 of text is looked at as that text."""

    def __init__(self) -> None:
        self._shown: OpenedValue = OpenedValue(None, {})
        self.shape = ResultShape(self._opened, self._closed)

    def _opened(self, result: dict[str, Any]) -> Any:
        looked_at = {key: value for key, value in result.items() if key != "requestState"}
        self._shown = base64_parts.opened(looked_at, _kind_of)
        return self._shown.value

    def _closed(self, result: dict[str, Any], new: Any) -> Any:
        value, new = self._shown.value, thaw(new)
        kept = isinstance(new, dict) and result.keys() & _PARTS <= new.keys()
        closed = base64_parts.closed(self._shown, new if kept else fitted(value, new))
        return closed | {key: result[key] for key in ("requestState",) if key in result}


def _kind_of(part: Mapping[str, Any], key: str) -> str | None:
    if key != "blob" and (key != "data" or part.get("type") not in ("image", "audio")):
        return None
    mime = part.get("mimeType")
    return mime if isinstance(mime, str) else "data"
