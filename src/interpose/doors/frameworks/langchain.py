"""LangChain and LangGraph: a middleware for `create_agent`, whose two wrappers a bare `ToolNode` takes as well.

A question is LangGraph's `interrupt`, in the form that LangChain's own middleware for people has for one call: it shows
the call that would run and is answered with `{"type": "approve"}` or `{"type": "reject", "message": ...}`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Annotated, Any, Unpack, assert_never

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ToolCallRequest, hook_config
from langchain.agents.middleware.human_in_the_loop import ApproveDecision, RejectDecision
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command, interrupt
from pydantic import Discriminator

from interpose.core.answers import Approved
from interpose.core.driving import Flow, drive, drive_async
from interpose.core.types import Deny
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

FACTS = FrameworkFacts(name="langchain", title="LangChain", asks="interrupt", messages=True)
SEVERAL = (
    "nobody can be asked here: this node runs several calls at once, and LangGraph does not say to which of them an "
    "answer belongs. Send each call to the node by itself, as create_agent does"
)

_DECISION: Any = Annotated[ApproveDecision | RejectDecision, Discriminator("type")]


def guard(**options: Unpack[GuardOptions]) -> InterposeMiddleware:
    """A middleware that lets every tool call pass Interpose: `create_agent(..., middleware=[guard()])`.

    Put it last, so that it is the innermost: then no other middleware changes a call that was judged. The options are
    those of `GuardOptions`.
    """
    return InterposeMiddleware(FrameworkGuard(FACTS, options))


class InterposeMiddleware(AgentMiddleware):
    """Every tool call of an agent, judged before it runs and after."""

    def __init__(self, guard: FrameworkGuard) -> None:
        super().__init__()
        self._guard = guard

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """A call of a sync run."""
        return _shown(request, drive(self._around(request, handler)))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """A call of an async run."""
        return _shown(request, await drive_async(self._around(request, handler)))

    def _around(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Flow[Ending]:
        made = request.tool_call
        call = FrameworkCall(
            name=made["name"], arguments=made["args"], call_id=made["id"] or "",
            **_who(getattr(request.runtime, "config", None)),
        )  # fmt: skip
        return self._guard.around(
            call,
            lambda arguments: handler(request.override(tool_call={**made, "args": arguments})),
            ask=partial(_interrupted, request),
            shape=ResultShape(_opened, partial(_closed, request)),
            passes=(GraphBubbleUp,),
        )

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002 - LangChain names it
        """The user's messages of a sync run."""
        return drive(self._judged(state["messages"]))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002 - as above
        """The user's messages of an async run."""
        return await drive_async(self._judged(state["messages"]))

    def _judged(self, messages: list[BaseMessage]) -> Flow[dict[str, Any] | None]:
        """What the user said since the agent last spoke. A refusal ends the run before the model hears of it."""
        changed: list[BaseMessage] = []
        for message in _new(messages) if self._guard.messages else ():
            text = message.text
            answer = yield from self._guard.message(text, **_who(get_config()))
            if isinstance(answer, Told):
                return {"messages": [AIMessage(answer.text)], "jump_to": "end"}
            if answer != text:
                changed.append(_reworded(message, answer))
        return {"messages": changed} if changed else None

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        """A model of a sync run is given its tools."""
        self._guardable(request)
        return handler(request)

    async def awrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]) -> Any:
        """A model of an async run is given its tools."""
        self._guardable(request)
        return await handler(request)

    def _guardable(self, request: ModelRequest) -> None:
        """INVARIANT: tools that are no Python objects run at the model's provider, where nobody sees their calls."""
        for tool in request.tools:
            if isinstance(tool, dict):
                self._guard.must_guard(str(tool.get("name") or tool.get("type")))


def _who(config: Mapping[str, Any] | None) -> dict[str, str]:
    """The thread, and the agent of the graph that runs."""
    config = config or {}
    thread = (config.get("configurable") or {}).get("thread_id")
    return {
        "session": "" if thread is None else str(thread),
        "agent": str((config.get("metadata") or {}).get("lc_agent_name") or ""),
    }


def _interrupted(request: ToolCallRequest, question: AskPerson) -> PersonsAnswer:
    """The person's answer. The first time this pauses the run; when it goes on, all of it happens again.

    INVARIANT: a yes is for the call that its person was shown. In one node LangGraph hands out answers in the order in
    which calls happen to ask.
    """
    if _beside_others(request):
        return Deny(SEVERAL)
    asked = {
        "type": "tool_approval",
        "tool_call_id": request.tool_call["id"],
        "name": request.tool_call["name"],
        "args": question.then.arguments,
        "description": question.question,
    }
    answer = interrupt(asked, response_schema=_DECISION)
    if answer["type"] == "approve":
        return Approved(FACTS.name)
    return Deny(answer.get("message") or "")


def _beside_others(request: ToolCallRequest) -> bool:
    """Whether other calls of the same message run in the same node. One that was sent there by itself has its own."""
    config = getattr(request.runtime, "config", None) or {}
    path = (config.get("metadata") or {}).get("langgraph_path") or ()
    if "__pregel_push" in path[:1]:
        return False
    state = request.state
    said = state if isinstance(state, list) else None
    if said is None:
        values = state.values() if isinstance(state, Mapping) else vars(state).values()
        said = [one for value in values if isinstance(value, list) for one in value]
    own = request.tool_call["id"]
    beside = [one.tool_calls for one in said if isinstance(one, AIMessage)]
    given = [one for one in said if isinstance(one, dict) and one.get("type") == "tool_call"]
    return any(len(calls) > 1 and any(call["id"] == own for call in calls) for calls in (*beside, given))


def _shown(request: ToolCallRequest, ending: Ending) -> Any:
    match ending:
        case Result(value):
            return value
        case Told(text):
            return _message(request, text)
        case _:
            assert_never(ending)


def _message(request: ToolCallRequest, text: str) -> ToolMessage:
    made = request.tool_call
    return ToolMessage(content=text, name=made["name"], tool_call_id=made["id"], status="error")


def _opened(value: Any) -> Any:
    """What a tool gave, as plain data: the content of messages, and what a Command puts into the graph's state."""
    if isinstance(value, BaseMessage):
        artifact = getattr(value, "artifact", None)
        return value.content if artifact is None else {"content": value.content, "artifact": artifact}
    if isinstance(value, Command):
        return _opened(value.update)
    if isinstance(value, dict):
        return {key: _opened(item) for key, item in value.items()}
    return [_opened(item) for item in value] if isinstance(value, list | tuple) else value


def _closed(request: ToolCallRequest, value: Any, new: Any) -> Any:
    """The same with new data. What does not fit any more is a message with its text."""
    if isinstance(value, Command):
        try:
            return dataclasses.replace(value, update=_put_back(value.update, new))
        except _MisfitError:
            return _message(request, plain_text(new))
    try:
        return _put_back(value, new)
    except _MisfitError:
        return _message(request, plain_text(new))


class _MisfitError(Exception):
    """Other data than what was there."""


def _put_back(value: Any, new: Any) -> Any:
    if isinstance(value, BaseMessage):
        if getattr(value, "artifact", None) is None:
            return value.model_copy(update={"content": fitted(value.content, new)})
        both = isinstance(new, dict) and new.keys() == {"content", "artifact"}
        content, artifact = (new["content"], new["artifact"]) if both else (new, None)
        return value.model_copy(update={"content": fitted(value.content, content), "artifact": artifact})
    if isinstance(value, dict):
        if not isinstance(new, dict) or new.keys() != value.keys():
            raise _MisfitError
        return {key: _put_back(item, new[key]) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if not isinstance(new, list | tuple) or len(new) != len(value):
            raise _MisfitError
        return type(value)(map(_put_back, value, new))
    return new


def _new(messages: list[BaseMessage]) -> list[HumanMessage]:
    """The user's messages that the model has not answered yet."""
    found: list[HumanMessage] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            break
        if isinstance(message, HumanMessage):
            found.insert(0, message)
    return found


def _reworded(message: HumanMessage, text: str) -> BaseMessage:
    """The message with another text. Pictures and other parts stay; a message without an id can't be replaced."""
    if isinstance(message.content, str):
        return message.model_copy(update={"content": text})
    others = [part for part in message.content if isinstance(part, dict) and part.get("type") != "text"]
    return message.model_copy(update={"content": [{"type": "text", "text": text}, *others]})
