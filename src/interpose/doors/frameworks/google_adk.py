"""Google ADK: a plugin for the `Runner` or the `App`, which stands before and after every tool call of all its agents.

A question is ADK's own tool confirmation: its hint is the question, its payload has the arguments that would really
run. The run ends, and the call is judged anew when the person's answer is sent.

Plugins come in their order, and the first that answers is the last that is asked: ours must be the first. Later
plugins and the agent's own callbacks may still change the arguments, so these are compared once more behind them.
"""

from __future__ import annotations

import copy
import inspect
from contextvars import ContextVar
from time import perf_counter_ns
from typing import Any, Unpack, assert_never
from weakref import WeakKeyDictionary

from google.adk.agents import InvocationContext, LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools import AgentTool, BaseTool, ToolContext
from google.genai import types
from msgspec import Struct
from pydantic_core import to_jsonable_python

from interpose.core.driving import drive_async
from interpose.core.errors import FrameworkLimitError, RefusedError, text_of
from interpose.core.types import same
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.guarding import (
    SAID_NO,
    AskPerson,
    FrameworkCall,
    FrameworkGuard,
    Result,
    ResultShape,
    RunWith,
    Told,
)
from interpose.doors.frameworks.options import GuardOptions
from interpose.doors.hooks.hosts.result_shapes import fitted

FACTS = FrameworkFacts(name="google_adk", title="Google ADK", asks="request_confirmation", messages=True)
PAYLOAD = "interpose"
"""The key in a confirmation's payload under which the question and the arguments stand."""
LIVE = "Google ADK has no place in which a live session's messages and streams can be judged: use run_async"
NOT_FIRST = "guard() must be the first plugin: one before it could answer in its place"
NOT_SHOWN = "what would run now is not what the person was shown"
NO_PERSON = "nobody can be asked in a tool node of a workflow"

_OWN_FIELDS = {"function_declarations", "computer_use"}
"""What a model's provider is told of tools that run here."""

_outer: ContextVar[str] = ContextVar("interpose_adk_session", default="")
"""The session of the run whose tool runs another agent."""


def guard(**options: Unpack[GuardOptions]) -> InterposePlugin:
    """A plugin that lets every tool call pass Interpose: `Runner(..., plugins=[guard()])`. It must be the first.

    The options are those of `GuardOptions`.
    """
    return InterposePlugin(FrameworkGuard(FACTS, options))


class _Running(Struct, frozen=True):
    """A call that may run, until its other half."""

    ran: RunWith
    since: int
    outer: str


class InterposePlugin(BasePlugin):
    """Every tool call of a runner's agents, judged before it runs and after."""

    def __init__(self, guard: FrameworkGuard) -> None:
        super().__init__(name="interpose")
        self._guard = guard
        # INVARIANT: each call has a context of its own, which is the same in both halves.
        self._running: WeakKeyDictionary[ToolContext, _Running] = WeakKeyDictionary()

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """What the user says, before it is in the session. Raises RefusedError, which ends the run."""
        if not self._guard.messages:
            return None
        agent = getattr(invocation_context.agent, "name", "")
        session = _outer.get() or invocation_context.session.id
        old = user_message.parts or []
        new: list[types.Part] = []
        for part in old:
            if not part.text:
                new.append(part)
                continue
            answer = await drive_async(self._guard.message(part.text, session=session, agent=agent))
            if isinstance(answer, Told):
                raise RefusedError(answer.verdict)
            new.append(part if answer == part.text else part.model_copy(update={"text": answer}))
        changed = any(one is not other for one, other in zip(new, old, strict=True))
        return user_message.model_copy(update={"parts": new}) if changed else None

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Raises FrameworkLimitError for runs in which we can't stand."""
        self._can_stand(invocation_context)

    async def before_agent_callback(self, *, agent: Any, **_call: Any) -> None:
        """Code that a model writes and an executor runs is no tool call: nobody is asked about it."""
        self._can_execute(agent)

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Raises FrameworkLimitError if the model is given tools that would run unseen."""
        invocation = callback_context.get_invocation_context()
        self._can_stand(invocation)
        self._can_execute(invocation.agent)
        for tool in llm_request.tools_dict.values():
            self._can_judge(tool)
        for given in llm_request.config.tools or []:
            known = isinstance(given, types.Tool)
            names = given.model_fields_set - _OWN_FIELDS if isinstance(given, types.Tool) else {text_of(given)}
            for name in sorted(names):
                if not known or getattr(given, name) is not None:
                    self._guard.must_guard(name)

    def _can_stand(self, invocation: InvocationContext) -> None:
        if invocation.plugin_manager.plugins[0] is not self:
            raise FrameworkLimitError(NOT_FIRST)
        config = invocation.run_config
        if invocation.live_request_queue is not None or (config is not None and config.support_cfc):
            raise FrameworkLimitError(LIVE)

    def _can_execute(self, agent: Any) -> None:
        executor = getattr(agent, "code_executor", None)
        if executor is not None:
            self._guard.must_guard(type(executor).__name__)

    def _can_judge(self, tool: BaseTool) -> None:
        """Agents with plugins of their own run unseen, and so does what a tool yields on its way."""
        if (isinstance(tool, AgentTool) and not tool.include_plugins) or _yields(getattr(tool, "func", None)):
            self._guard.must_guard(tool.name)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """The first half. What is returned is the call's result, and the tool does not run."""
        invocation = tool_context.get_invocation_context()
        self._can_stand(invocation)
        self._can_judge(tool)
        _compare_last(invocation)
        return await self._judged(tool, tool_args, tool_context)

    async def judged_again(self, tool: BaseTool, arguments: dict[str, Any], context: ToolContext) -> Any:
        """Behind all that may change a call. INVARIANT: what runs is what was judged."""
        running = self._running.get(context)
        if running is not None and same(running.ran.arguments, arguments):
            return None
        self._over(context)
        return await self._judged(tool, arguments, context)

    async def _judged(self, tool: BaseTool, arguments: dict[str, Any], context: ToolContext) -> dict[str, Any] | None:
        session = _outer.get() or context.session.id
        call = FrameworkCall(
            name=tool.name, arguments={**arguments}, call_id=context.function_call_id or "", session=session,
            agent=context.agent_name,
        )  # fmt: skip
        answer = await drive_async(self._guard.before(call))
        if isinstance(answer, AskPerson):
            answer = await self._asked(answer, context)
        elif isinstance(answer, RunWith) and _said_no(context):
            answer = Told(SAID_NO)  # to a question of ours, which would not be asked any more
        match answer:
            case Told(text):
                return {"error": text}
            case RunWith():
                arguments.clear()
                arguments.update(copy.deepcopy(answer.arguments))
                self._running[context] = _Running(answer, perf_counter_ns(), _outer.get())
                _outer.set(session)
                return None
            case _:
                assert_never(answer)

    async def _asked(self, question: AskPerson, context: ToolContext) -> RunWith | Told:
        """INVARIANT: a yes counts for the arguments that its person was shown. ADK shows the model's own; others are
        in the payload that stands in the session, and in nothing that the answer says."""
        confirmation = context.tool_confirmation
        arguments = question.then.arguments
        if confirmation is None and context.node is None:
            context.request_confirmation(
                hint=question.question, payload={PAYLOAD: {"question": question.question, "arguments": arguments}}
            )
            context.actions.skip_summarization = True  # or else the model is asked again instead of the person
            return Told(question.question)
        reason = NO_PERSON if confirmation is None else ""
        if confirmation is not None and confirmation.confirmed:
            shown = _shown(context)
            if not question.then.changed or (shown is not None and same(shown["arguments"], arguments)):
                return question.then
            reason = NOT_SHOWN
        return await drive_async(self._guard.answered_no(question, reason))

    async def after_tool_callback(self, *, tool_context: ToolContext, result: Any, **_call: Any) -> Any:
        """The other half. None leaves the result as it is."""
        running = self._over(tool_context)
        if running is None:
            return None  # nothing ran: it is our own answer
        took = perf_counter_ns() - running.since
        ending = await drive_async(self._guard.after(running.ran, result, duration_ns=took, shape=_SHAPE))
        match ending:
            case Told(text):
                return {"error": text}
            case Result(value):
                return None if value is result else value  # which is never None if the result was something
            case _:
                assert_never(ending)

    async def on_tool_error_callback(
        self, *, tool_context: ToolContext, error: BaseException, **_call: Any
    ) -> dict[str, Any] | None:
        """The tool raised, or was cancelled. None lets it be raised."""
        running = self._over(tool_context)
        if running is None:
            return None
        took = perf_counter_ns() - running.since
        told = await drive_async(self._guard.failed(running.ran, error, duration_ns=took))
        return None if told is None else {"error": told.text}

    def _over(self, context: ToolContext) -> _Running | None:
        running = self._running.pop(context, None)
        if running is not None:
            _outer.set(running.outer)
        return running


def _compare_last(invocation: InvocationContext) -> None:
    """Put our comparison behind an agent's own callbacks, wherever something stands between us and the tool."""
    agent = invocation.agent
    if not isinstance(agent, LlmAgent):
        return
    own = agent.canonical_before_tool_callbacks
    if (own or len(invocation.plugin_manager.plugins) > 1) and own[-1:] != [_as_judged]:
        agent.before_tool_callback = [*(one for one in own if one is not _as_judged), _as_judged]


async def _as_judged(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext) -> Any:
    """The last callback of an agent. In a run without a guard it says nothing."""
    for plugin in tool_context.get_invocation_context().plugin_manager.plugins:
        if isinstance(plugin, InterposePlugin):
            return await plugin.judged_again(tool, args, tool_context)
    return None


def _shown(context: ToolContext) -> dict[str, Any] | None:
    """What we asked about this call, as it stands in the session."""
    for event in reversed(context.session.events):
        asked = event.actions.requested_tool_confirmations.get(context.function_call_id or "")
        if asked is not None:
            return asked.payload.get(PAYLOAD) if isinstance(asked.payload, dict) else None
    return None


def _said_no(context: ToolContext) -> bool:
    confirmation = context.tool_confirmation
    return confirmation is not None and not confirmation.confirmed and _shown(context) is not None


def _yields(function: Any) -> bool:
    made = inspect.unwrap(function) if callable(function) else None
    return any(
        inspect.isasyncgenfunction(one) or inspect.isgeneratorfunction(one)
        for one in (made, getattr(made, "__call__", None))  # noqa: B004 - an object may be the function
    )


def _opened(result: Any) -> Any:
    """What a tool gave, as plain data: it may be any object."""
    return to_jsonable_python(result, fallback=text_of, serialize_unknown=True, bytes_mode="base64")


def _closed(result: Any, new: Any) -> Any:
    return fitted(_opened(result), new)


_SHAPE = ResultShape(_opened, _closed)
