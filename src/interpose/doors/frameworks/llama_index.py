"""LlamaIndex: an agent, or a workflow of agents, whose tools stand behind Interpose.

LlamaIndex has no middleware. `guard(agent)` gives that very agent a class in which every tool comes wrapped, whether it
was given, retrieved or is the handoff to another agent, and in which a run begins with the user's message judged. A
question is LlamaIndex's own `InputRequiredEvent`: it is answered with a `HumanResponseEvent`, and then the step that
waited, and with it the judgement, happens again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, ClassVar, Unpack, assert_never

from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, ToolCall, ToolCallResult
from llama_index.core.agent.workflow.base_agent import BaseWorkflowAgent
from llama_index.core.agent.workflow.codeact_agent import EXECUTE_TOOL_NAME
from llama_index.core.agent.workflow.workflow_events import AgentInput, AgentOutput, AgentWorkflowStartEvent
from llama_index.core.llms import ChatMessage, MessageRole, TextBlock
from llama_index.core.memory.types import DEFAULT_CHAT_STORE_KEY
from llama_index.core.tools import AsyncBaseTool, BaseTool, FunctionTool, ToolOutput, adapt_to_async_tool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent, StopEvent, Workflow, step
from msgspec import Struct
from msgspec.json import Encoder
from workflows.runtime.types.results import WaitingForEvent

from interpose.core.answers import Approved
from interpose.core.driving import Flow, drive, drive_async
from interpose.core.errors import FrameworkLimitError
from interpose.core.types import Deny, new_id
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

FACTS = FrameworkFacts(name="llama_index", title="LlamaIndex", asks="InputRequiredEvent", messages=True)

_SESSION = "interpose_session"
_HANDOFF = "handoff"
_YES = frozenset({"y", "yes"})
_PROVIDERS = ("built_in_tools", "built_in_tool")
"""Where models keep tools that their provider runs."""

_encode = Encoder(order="sorted").encode


class _Step(Struct, frozen=True):
    """The step of a run in which a tool is called."""

    context: Any
    call_id: str
    session: str


_step: ContextVar[_Step | None] = ContextVar("interpose_llama_index_step", default=None)


def guard(what: Any, /, **options: Unpack[GuardOptions]) -> Any:
    """This agent, workflow of agents or tool behind Interpose: `agent = guard(FunctionAgent(...))`.

    An agent or workflow is guarded in place. An agent that is part of an `AgentWorkflow` is guarded with it. A workflow
    of your own calls its tools itself: guard the tools. The options are those of `GuardOptions`.
    """
    guarding = FrameworkGuard(FACTS, options)
    match what:
        case AgentWorkflow():
            for agent in what.agents.values():
                _behind(agent, _GuardedAgent, guarding)
            return _behind(what, _GuardedAgents, guarding)
        case BaseWorkflowAgent():
            return _behind(what, _GuardedAgent, guarding)
        case Workflow():
            raise FrameworkLimitError(
                "a workflow of your own calls its tools itself: guard the tools, not the workflow"
            )
        case BaseTool():
            return _GuardedTool(what, guarding)
        case _ if callable(what):
            return _GuardedTool(FunctionTool.from_defaults(what), guarding)
        case _:
            raise TypeError(f"guard takes an agent, a workflow of agents or a tool, not {what!r}")


def _behind(what: Any, behind: type[_GuardedRun], guarding: FrameworkGuard) -> Any:
    """In place: nobody is left with the same agent without the guard."""
    kind = type(what)
    if issubclass(kind, _GuardedRun):
        return what
    own = {"interpose": guarding, "__annotations__": {"interpose": ClassVar[Any]}}
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}  # by which runs are kept
    metaclass: Any = type(kind)
    what.__class__ = metaclass(kind.__name__, (behind, kind), {**own, **names})
    return what


class _GuardedRun:
    """The run of an agent, or of a workflow of agents."""

    interpose: ClassVar[FrameworkGuard]

    @step
    async def init_run(self, ctx: Context, ev: AgentWorkflowStartEvent) -> AgentInput | StopEvent:
        """What the user said since the agent last spoke. A refusal ends the run before the model hears of it."""
        agent = await _acting(self, ctx)
        session = await _session(ctx, ev)
        if self.interpose.messages:
            for message in _new(ev):
                answer = await drive_async(self.interpose.message(message.content or "", session=session, agent=agent))
                if isinstance(answer, Told):
                    said = ChatMessage(role="assistant", content=answer.text)
                    return StopEvent(result=AgentOutput(response=said, current_agent_name=agent))
                if answer != (message.content or ""):
                    _reword(ev, message, answer)
        begun: AgentInput = await super().init_run(ctx, ev)  # type: ignore[misc]  # of the agent that this is
        return begun

    @step
    async def call_tool(self, ctx: Context, ev: ToolCall) -> ToolCallResult:
        """A tool is called: by whom, and where a person can be asked."""
        with _calling(_Step(ctx, ev.tool_id, await _session(ctx))):
            result: ToolCallResult = await super().call_tool(ctx, ev)  # type: ignore[misc]  # as above
        return result


class _GuardedAgent(_GuardedRun):
    """An agent."""

    async def get_tools(self: Any, input_str: str | None = None) -> list[Any]:
        """INVARIANT: no tool reaches the model that is not behind the guard, whenever it was added."""
        tools = await super().get_tools(input_str)  # type: ignore[misc]  # as above
        return _wrapped(self, tools, self.interpose)

    async def take_step(self: Any, ctx: Any, llm_input: Any, tools: Any, memory: Any) -> Any:
        """The model is given its tools: by the agent itself, or by the workflow that it is part of."""
        for tool in tools:
            if not isinstance(tool, _GuardedTool) and not _is_called_by_code(self, tool):
                raise FrameworkLimitError(
                    f"the agent {self.name!r} is part of an AgentWorkflow that is not guarded: guard the workflow"
                )
        for tool in _of_provider(self.llm):
            self.interpose.must_guard(tool)
        return await super().take_step(ctx, llm_input, tools, memory)  # type: ignore[misc]  # as above


class _GuardedAgents(_GuardedRun):
    """A workflow of agents."""

    async def get_tools(self: Any, agent_name: str, input_str: str | None = None) -> list[Any]:
        """As above, for one of its agents."""
        tools = await super().get_tools(agent_name, input_str)  # type: ignore[misc]  # as above
        return _wrapped(self.agents[agent_name], tools, self.interpose)


def _wrapped(agent: Any, tools: Any, guarding: FrameworkGuard) -> list[Any]:
    found = []
    for tool in tools:
        if _is_called_by_code(agent, tool):
            guarding.must_guard(tool.metadata.get_name())
            found.append(tool)
        else:
            found.append(tool if isinstance(tool, _GuardedTool) else _GuardedTool(tool, guarding, agent.name))
    return found


def _is_called_by_code(agent: Any, tool: Any) -> bool:
    """A tool of an agent that writes code is a function that the code calls, wherever that runs."""
    return isinstance(agent, CodeActAgent) and tool.metadata.name not in (EXECUTE_TOOL_NAME, _HANDOFF)


def _of_provider(llm: Any) -> Iterator[str]:
    for field in _PROVIDERS:
        found = getattr(llm, field, None) or ()
        for tool in found if isinstance(found, list | tuple) else (found,):
            yield str(tool.get("type", field)) if isinstance(tool, dict) else field


class _GuardedTool(AsyncBaseTool):
    """A tool behind the guard."""

    def __init__(self, tool: BaseTool, guarding: FrameworkGuard, agent: str = "") -> None:
        self._tool, self._guarding, self._agent = tool, guarding, agent

    @property
    def metadata(self) -> Any:
        """What the model knows of it."""
        return self._tool.metadata

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """A call that blocks, of a program of your own."""
        arguments, context = self._arguments(args, kwargs)
        return self._shown(arguments, drive(self._around(arguments, context, self._tool)))

    async def acall(self, *args: Any, **kwargs: Any) -> Any:
        """A call of an agent."""
        arguments, context = self._arguments(args, kwargs)
        tool = adapt_to_async_tool(self._tool)
        return self._shown(arguments, await drive_async(self._around(arguments, context, tool.acall)))

    def _around(self, arguments: dict[str, Any], context: Any, run: Callable[..., Any]) -> Flow[Ending]:
        made = _step.get()
        call = FrameworkCall(
            name=self.metadata.get_name(), arguments=arguments, agent=self._agent,
            call_id="" if made is None else made.call_id, session="" if made is None else made.session,
        )  # fmt: skip
        return self._guarding.around(
            call,
            lambda final: run(**final, **({self._context_name: context} if self._context_name else {})),
            ask=None if context is None else partial(_asked, call, context),
            shape=ResultShape(_opened, _closed),
            passes=(WaitingForEvent,),
        )

    @property
    def _context_name(self) -> str | None:
        """The parameter in which the tool wants the context of the run."""
        name = self._tool.ctx_param_name if isinstance(self._tool, FunctionTool) else None
        return None if name is None else str(name)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """INVARIANT: the context is that of the run, whatever a model calls its arguments."""
        names = [name for name in self.metadata.get_parameters_dict().get("properties", {}) if name not in kwargs]
        arguments = {**dict(zip(names, args, strict=False)), **kwargs}
        if len(args) > len(names):
            raise TypeError(
                f"{self.metadata.get_name()} was called with {len(args)} values for {len(names)} parameters"
            )
        given = arguments.pop(self._context_name, None) if self._context_name else None
        made = _step.get()
        return arguments, (given if isinstance(given, Context) else None) if made is None else made.context

    def _shown(self, arguments: dict[str, Any], ending: Ending) -> Any:
        match ending:
            case Result(value):
                return value
            case Told(text):
                name = self.metadata.get_name()
                return ToolOutput(name, text, raw_input=arguments, raw_output=text, is_error=True)
            case _:
                assert_never(ending)


@contextmanager
def _calling(made: _Step) -> Iterator[None]:
    token = _step.set(made)
    try:
        yield
    finally:
        _step.reset(token)


async def _acting(run: Any, ctx: Any) -> str:
    if isinstance(run, AgentWorkflow):
        return str(await ctx.store.get("current_agent_name", default=None) or run.root_agent)
    return str(run.name)


async def _session(ctx: Any, begins: Any = None) -> str:
    """The conversation: what its memory is called, or else a name that the context keeps. An agent that a tool of
    another runs acts in the session of that one."""
    memory = await ctx.store.get("memory", default=None) or (begins.get("memory") if begins is not None else None)
    name = getattr(memory, "session_id", None) or getattr(memory, "chat_store_key", None)
    if name and name != DEFAULT_CHAT_STORE_KEY:
        return str(name)
    if (known := await ctx.store.get(_SESSION, default=None)) is None:
        outer = _step.get()
        await ctx.store.set(_SESSION, known := new_id() if outer is None else outer.session)
    return str(known)


async def _asked(call: FrameworkCall, context: Any, question: AskPerson) -> PersonsAnswer:
    """The person's answer. The first time this pauses the step; when it goes on, all of it happens again.

    INVARIANT: an answer names its question, which is of this call with these arguments: no other call gets it.
    """
    arguments = question.then.arguments
    name = hashlib.sha256(_encode((call.call_id, call.name, arguments, question.question))).hexdigest()[:32]
    asked = InputRequiredEvent(prefix=question.question, question_id=name, tool_name=call.name, tool_kwargs=arguments)
    # A run that was kept and restored has forgotten what its answers must name: then it is asked once more.
    for again in (None, f"interpose:{name}"):
        answer = await context.wait_for_event(
            HumanResponseEvent, waiter_event=asked, waiter_id=again, requirements={"question_id": name}, timeout=None
        )
        if answer.get("question_id") == name:
            said = answer.get("response")
            yes = isinstance(said, str) and said.strip().lower() in _YES
            return Approved(FACTS.name) if yes else Deny("")
    return Deny("the answer was to another question")


def _new(ev: Any) -> list[ChatMessage]:
    """The user's messages that the model has not answered yet."""
    found: list[ChatMessage] = []
    for message in reversed(ev.get("chat_history") or []):
        if message.role == MessageRole.ASSISTANT:
            break
        if message.role == MessageRole.USER:
            found.insert(0, message)
    said = ev.get("user_msg")
    if isinstance(said, str):
        ev["user_msg"] = said = ChatMessage(role="user", content=said)
    return [*found, said] if said else found


def _reword(ev: Any, message: ChatMessage, text: str) -> None:
    """Put another text in the place of a message's. Pictures and other parts stay."""
    others = [block for block in message.blocks if not isinstance(block, TextBlock)]
    new = message.model_copy(update={"blocks": [TextBlock(text=text), *others]})
    if ev.get("user_msg") is message:
        ev["user_msg"] = new
    else:
        ev["chat_history"] = [new if one is message else one for one in ev["chat_history"]]


def _is_text(output: ToolOutput) -> bool:
    return all(isinstance(block, TextBlock) for block in output.blocks)


def _opened(output: Any) -> Any:
    """What a tool gave, as plain data."""
    if not isinstance(output, ToolOutput):
        return str(output)
    return output.content if _is_text(output) else [block.model_dump(mode="json") for block in output.blocks]


def _closed(output: Any, new: Any) -> ToolOutput:
    """The same with new data, also in the raw output, which a program may read."""
    old = _opened(output)
    new = fitted(old, new)
    if not isinstance(output, ToolOutput) or _is_text(output):
        blocks = [TextBlock(text=plain_text(new))]
    else:
        blocks = [type(block).model_validate(one) for block, one in zip(output.blocks, new, strict=True)]
    return ToolOutput(
        getattr(output, "tool_name", ""), blocks=blocks, raw_input=getattr(output, "raw_input", {}), raw_output=new,
        is_error=getattr(output, "is_error", False),
    )  # fmt: skip
