"""Microsoft Agent Framework: a bundle of middleware for an `Agent`, around its runs, its model and its tools.

An ordinary exception in middleware for tools becomes a tool error, and the run goes on: whatever fails here is told the
model, or ends the run with `MiddlewareFailure`. A question is the framework's own `function_approval_request`. It holds
the arguments that would really run, and the question under `METADATA`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, Unpack, assert_never
from uuid import uuid4
from warnings import catch_warnings, simplefilter

from agent_framework import (
    AgentContext,
    AgentMiddleware,
    ChatContext,
    ChatMiddleware,
    Content,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    FunctionMiddleware,
    FunctionTool,
    Message,
    MiddlewareBundle,
    MiddlewareFailure,
    MiddlewareTermination,
)
from agent_framework.exceptions import UserInputRequiredException
from pydantic_core import to_jsonable_python

from interpose.core.answers import Approved
from interpose.core.driving import drive_async, is_awaitable
from interpose.core.errors import RefusedError, text_of
from interpose.core.types import Deny, same
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.guarding import (
    AskPerson,
    Ending,
    FrameworkCall,
    FrameworkGuard,
    PersonsAnswer,
    Result,
    ResultShape,
    Told,
)
from interpose.doors.frameworks.options import GuardOptions
from interpose.doors.hooks.hosts.result_shapes import fitted, plain_text

FACTS = FrameworkFacts(
    name="agent_framework", title="Microsoft Agent Framework", asks="function_approval_request", messages=True
)
METADATA = "interpose"
"""The key in the properties of an approval request under which the question stands."""
NOT_THIS_CALL = "a standing approval said yes for it, and a person must agree to this one"

_AGENT = "interpose_agent"
"""Under which the name of the agent travels from the run to its tools. Tools themselves don't get it."""
_HOST_ONLY = "_function_result_carrier"
"""Where the framework keeps what a tool gave for the program alone."""
_outer: ContextVar[str] = ContextVar("interpose_agent_framework_session", default="")
"""The session of the run in which this one runs."""

Next = Callable[[], Awaitable[None]]


def guard(**options: Unpack[GuardOptions]) -> MiddlewareBundle:
    """Middleware that lets every tool call pass Interpose: `Agent(..., middleware=[guard()])`.

    Put it last, so that it is the innermost: then no other middleware changes a call that was judged. The options are
    those of `GuardOptions`.
    """
    behind = FrameworkGuard(FACTS, options)
    with catch_warnings():
        simplefilter("ignore", FutureWarning)  # the bundle is, and nothing else is taken whole or not at all
        return MiddlewareBundle([_Runs(behind), _Models(behind), _Tools(behind)])


class _Runs(AgentMiddleware):
    """What the user says, and whose run it is."""

    def __init__(self, guard: FrameworkGuard) -> None:
        self._guard = guard

    async def process(self, context: AgentContext, call_next: Next) -> None:
        """Raises RefusedError, which ends the run, for a message that is refused."""
        client = getattr(context.agent, "client", None)
        if not isinstance(client, FunctionInvocationLayer):
            # INVARIANT: only this layer calls middleware for tools. Without it nobody would ask us.
            self._guard.must_guard(type(context.agent if client is None else client).__name__)
        name = context.agent.name or ""
        if self._guard.messages:
            new = _new(context.messages)
            context.messages = [
                await self._judged(message, _session(context.session), name) if message in new else message
                for message in context.messages
            ]
        context.function_invocation_kwargs = {**context.function_invocation_kwargs, _AGENT: name}
        await call_next()

    async def _judged(self, message: Message, session: str, agent: str) -> Message:
        text = message.text
        if not text:
            return message
        answer = await drive_async(self._guard.message(text, session=session, agent=agent))
        if isinstance(answer, Told):
            raise RefusedError(answer.verdict)
        return message if answer == text else _reworded(message, answer)


class _Models(ChatMiddleware):
    """Which tools a model is given."""

    def __init__(self, guard: FrameworkGuard) -> None:
        self._guard = guard

    async def process(self, context: ChatContext, call_next: Next) -> None:
        """INVARIANT: what is no Python function, or only declared, runs where nobody sees its calls."""
        for tool in (context.options or {}).get("tools") or ():
            if not isinstance(tool, FunctionTool) or tool.declaration_only:
                self._guard.must_guard(_named(tool))
        await call_next()


class _Tools(FunctionMiddleware):
    """Every tool call of an agent, judged before it runs and after."""

    def __init__(self, guard: FrameworkGuard) -> None:
        self._guard = guard

    async def process(self, context: FunctionInvocationContext, call_next: Next) -> None:
        """One call. A refusal is its result."""
        one = _WrappedCall(self._guard, context, call_next)
        try:
            await one.run()
        except BaseException as error:
            # INVARIANT: an exception that is not the tool's own, nor the framework's, is a failure of ours. As a tool
            # error it would be one of many, so it ends the run.
            if error in one.raised or not isinstance(error, Exception):
                raise
            raise MiddlewareFailure(f"Interpose failed: {text_of(error)}") from error


class _WrappedCall:
    """One call of a tool."""

    def __init__(self, guard: FrameworkGuard, context: FunctionInvocationContext, call_next: Next) -> None:
        self._guard, self._context, self._next = guard, context, call_next
        self.raised: list[BaseException] = []
        """What came from the tool, and not from us."""
        self._ended: MiddlewareTermination | None = None
        self._agent = str(context.kwargs.pop(_AGENT, ""))

    async def run(self) -> None:
        context = self._context
        self._shown = _plain(context.arguments)
        session = _session(context.session)
        call = FrameworkCall(
            name=context.function.name, arguments=self._shown, call_id=str(context.metadata.get("call_id") or ""),
            session=session, agent=self._agent,
        )  # fmt: skip
        before = _outer.set(session)
        try:
            ending = await drive_async(
                self._guard.around(
                    call,
                    self._execute,
                    ask=self._ask,
                    shape=_SHAPE,
                    passes=(MiddlewareFailure, UserInputRequiredException),
                )
            )
        except _PausedError as paused:
            context.result = paused.request
            return
        finally:
            _outer.reset(before)
        self._end(ending)
        if self._ended is not None:
            self.raised.append(self._ended)
            raise self._ended

    async def _execute(self, arguments: dict[str, Any]) -> Any:
        # Validated values are objects. They are judged as plain data, and made of it anew if that was changed.
        if not same(arguments, self._shown):
            self._context.arguments = arguments
        try:
            await self._next()
        except MiddlewareTermination as end:  # ends the run with a result, which is judged like any other
            self._ended = end
            if self._context.result is None or is_awaitable(self._context.result):  # what raised left itself there
                self._context.result = end.result
        except BaseException as error:
            self.raised.append(error)
            raise
        self._given = self._context.result
        return self._given

    def _ask(self, question: AskPerson) -> PersonsAnswer:
        """INVARIANT: a yes counts for the question that its person was shown, with its arguments. The framework's own
        question, and a standing approval, are none to ours."""
        context = self._context
        asked = {"question": question.question, "arguments": _plain(question.then.arguments)}
        response = context.metadata.get("approval_response")
        said_yes = isinstance(response, Content) and response.approved is True
        if said_yes and response.additional_properties.get(METADATA) == asked:
            return Deny(NOT_THIS_CALL) if _stands(context) else Approved(FACTS.name)
        raise _PausedError(_request(context, asked, again=response is not None))

    def _end(self, ending: Ending) -> None:
        context = self._context
        match ending:
            case Result(value):
                changed, context.result = value is not self._given, value
            case Told(text):
                changed, context.result = True, text
            case _:
                assert_never(ending)
        if changed:
            context.metadata.pop(_HOST_ONLY, None)


class _PausedError(Exception):
    """The run waits for a person."""

    def __init__(self, request: Content) -> None:
        super().__init__("a person is asked")
        self.request = request


def _request(context: FunctionInvocationContext, asked: dict[str, Any], *, again: bool) -> Content:
    """The framework's own question. One that follows another to the same call says so, and has an id of its own."""
    call_id = str(context.metadata["call_id"])
    occurrence = context.metadata.get("function_call_occurrence_id")
    number = f"{occurrence or call_id}:replacement:{uuid4().hex}" if again else str(occurrence or call_id)
    properties: dict[str, Any] = {METADATA: asked, "reason": asked["question"]}
    if again:
        properties |= {"_replacement_approval_request": True, "_approval_request_id": number}
    call = Content.from_function_call(call_id, context.function.name, arguments=asked["arguments"], id=occurrence)
    return Content.from_function_approval_request(number, call, additional_properties=properties)


def _stands(context: FunctionInvocationContext) -> bool:
    """Whether `ToolApprovalMiddleware` was once told to say yes to all calls of this tool."""
    kept = context.session.state.values() if context.session is not None else ()
    rules = [rule for one in kept for rule in _field(one, "rules") or ()]
    return any(_field(rule, "tool_name") == context.function.name for rule in rules)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _session(session: Any) -> str:
    return _outer.get() or (session.session_id if session is not None else "")


def _new(messages: list[Message]) -> list[Message]:
    """The user's messages that the agent has not answered yet."""
    found: list[Message] = []
    for message in messages:
        found = [] if message.role == "assistant" else [*found, message] if message.role == "user" else found
    return found


def _reworded(message: Message, text: str) -> Message:
    """The message with another text. Pictures and other parts stay."""
    others = [part for part in message.contents if part.type != "text"]
    return Message(
        message.role, [Content.from_text(text), *others], author_name=message.author_name,
        message_id=message.message_id, additional_properties=message.additional_properties,
    )  # fmt: skip


def _named(tool: Any) -> str:
    if isinstance(tool, Mapping):
        return str(tool.get("name") or tool.get("type"))
    return str(getattr(tool, "name", None) or getattr(tool, "type", None) or type(tool).__name__)


def _plain(value: Any) -> Any:
    return to_jsonable_python(value, fallback=text_of, serialize_unknown=True)


def _opened(result: Any) -> Any:
    """What a tool gave, as plain data: its text, or all its parts if there is more than one."""
    if not _is_contents(result):
        return _plain(result)
    parts = [part.text if part.type == "text" else part.to_dict() for part in result]
    return parts[0] if len(parts) == 1 else parts


def _closed(result: Any, new: Any) -> Any:
    new = fitted(_opened(result), new)
    if not _is_contents(result):
        return new
    return [_content(part) for part in (new if isinstance(new, list) else [new])]


def _content(part: Any) -> Content:
    return Content.from_dict(part) if isinstance(part, dict) else Content.from_text(plain_text(part))


def _is_contents(result: Any) -> bool:
    return isinstance(result, list) and bool(result) and all(isinstance(part, Content) for part in result)


_SHAPE = ResultShape(_opened, _closed)
