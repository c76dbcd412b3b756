"""OpenAI Agents SDK: an agent whose tools, MCP tools and handoffs stand behind Interpose.

The SDK has no middleware, and its guardrails can't change a call: `guard(agent)` is the same agent with its function
tools wrapped. A question is the SDK's own approval (`needs_approval`): the run ends with an interruption, and goes on
when its state was approved. The interruption shows the call and has no place for a question: `question` knows it.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterator
from enum import Enum
from inspect import getclosurevars, isfunction
from time import monotonic
from typing import Any, Unpack, assert_never, cast

from agents import (
    Agent,
    FunctionTool,
    GuardrailFunctionOutput,
    Handoff,
    InputGuardrail,
    RunContextWrapper,
    ToolApprovalItem,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
    handoff,
)
from agents.tool_context import ToolContext
from agents.tracing import get_current_trace
from msgspec.json import Encoder

from interpose.core.answers import Approved
from interpose.core.driving import drive_async
from interpose.core.errors import FrameworkLimitError
from interpose.core.formats import strict_json
from interpose.core.formats.nested_values import is_stream
from interpose.core.types import MAX_DEPTH, Deny
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.guarding import (
    Answer,
    AskPerson,
    FrameworkCall,
    FrameworkGuard,
    PersonsAnswer,
    Result,
    ResultShape,
    Told,
)
from interpose.doors.frameworks.options import GuardOptions
from interpose.doors.hooks.hosts.result_shapes import fitted

FACTS = FrameworkFacts(
    name="openai_agents", title="OpenAI Agents SDK", asks="needs_approval", asks_rewritten=False, messages=True
)
NO_OBJECT = "Interpose refused this: its arguments are no JSON object"
NOT_THIS_CALL = "it was approved for every call of this tool, and a person must agree to this one"
KEPT = 60.0
"""Seconds for which a decision counts that was taken before the run could pause."""

_PARTS = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)
"""What the SDK shows a model as more than a text."""
_MOST = 10_000
_NO_CALL = "interpose: the id of no call"
_encode = Encoder(order="sorted").encode

Key = tuple[str, str, str, bytes]


def guard(agent: Agent[Any], /, **options: Unpack[GuardOptions]) -> Agent[Any]:
    """The same agent behind Interpose: `Runner.run(guard(agent), ...)`. The agents that it hands over to are, too.

    Guard an agent when it is complete. One that is used as a tool is guarded first: `guard(helper).as_tool(...)`. The
    options are those of `GuardOptions`.
    """
    return _Guarding(FrameworkGuard(FACTS, options)).agent(agent)


_questions: OrderedDict[tuple[str, bytes], str] = OrderedDict()


def question(interruption: ToolApprovalItem) -> str:
    """What a person is asked by an interruption; empty if it is not ours, or was not put in this process."""
    return _questions.get((interruption.call_id or "", _encode(_read(interruption.arguments or ""))), "")


class _Guarding:
    """All agents behind one guard."""

    def __init__(self, guard: FrameworkGuard) -> None:
        self._guard = guard
        self._agents: dict[int, Agent[Any]] = {}
        self._decided: OrderedDict[Key, tuple[float, Answer]] = OrderedDict()

    def agent(self, agent: Agent[Any]) -> Agent[Any]:
        """The agent behind the guard. Agents that hand over to each other are each guarded once."""
        if isinstance(agent, _Guarded):
            return agent
        if (known := self._agents.get(id(agent))) is not None:
            return known
        kind = type(agent)
        own = {"_interpose": self, "_original": agent, "handoffs": property(_handoffs_of, _hand_over_to)}
        behind = type(kind.__name__, (_Guarded, kind), own)
        fields = {name: getattr(agent, name) for name in kind.__dataclass_fields__}
        checks = [InputGuardrail(self._message, "interpose", run_in_parallel=False)] if self._guard.messages else []
        fields |= {"handoffs": [], "input_guardrails": [*checks, *agent.input_guardrails]}
        fields["tools"] = [self.tool(tool, agent.name) for tool in agent.tools]
        guarded = cast("Agent[Any]", behind(**fields))
        self._agents[id(agent)] = guarded
        guarded.handoffs = self.handoffs(list(agent.handoffs), agent.name)
        return guarded

    def handoffs(self, given: list[Any], agent: str) -> list[Any]:
        """The same list, with what it hands over to behind the guard."""
        given[:] = [self._handoff(one, agent) for one in given]
        return given

    def _handoff(self, one: Agent[Any] | Handoff[Any, Any], agent: str) -> Agent[Any] | Handoff[Any, Any]:
        if not isinstance(one, Handoff):
            return self.agent(one)
        handed = one.on_invoke_handoff
        if getattr(handed, "interpose", None) is not None:
            return one

        async def on_invoke(context: RunContextWrapper[Any], arguments: str) -> Any:
            if _only_hands_over(handed):
                return self.agent(await handed(context, arguments))
            return self.agent(await self._handed_over(one, agent, context, arguments))

        on_invoke.interpose = self  # type: ignore[attr-defined]  # as for a tool
        behind = copy.copy(one)
        behind.on_invoke_handoff = on_invoke
        return behind

    async def _handed_over(
        self, one: Handoff[Any, Any], agent: str, context: RunContextWrapper[Any], arguments: str
    ) -> Any:
        """A handoff that runs a function (`on_handoff`) is a call like any other. The SDK has no place for a refusal or
        a question here: it ends the run. Raises PermissionError, FrameworkLimitError."""
        read = _read(arguments or "{}")
        if read is None:
            raise PermissionError(NO_OBJECT)
        call = FrameworkCall(
            name=one.tool_name, arguments=read, call_id=str(getattr(context, "tool_call_id", "")), session=_session(),
            agent=agent,
        )  # fmt: skip

        def execute(final: dict[str, Any]) -> Any:
            return one.on_invoke_handoff(context, arguments if final == read else _encode(final).decode())

        ending = await drive_async(self._guard.around(call, execute, shape=_NEXT_AGENT))
        if isinstance(ending, Told):
            raise PermissionError(ending.text)
        return ending.value

    def tool(self, tool: Any, agent: str) -> Any:
        """A tool behind the guard. Raises FrameworkLimitError for one that runs where nobody can stand between."""
        if not isinstance(tool, FunctionTool):
            self._guard.must_guard(str(getattr(tool, "name", type(tool).__name__)))
            return tool
        if getattr(tool.on_invoke_tool, "interpose", None) is not None:
            return tool
        inner = getattr(tool, "_agent_instance", None)
        if inner is not None and not isinstance(inner, _Guarded):
            raise FrameworkLimitError(
                f"the tool {tool.name!r} runs the agent {inner.name!r}, whose own calls nobody would see: write "
                "guard(agent).as_tool(...)"
            )
        behind = copy.copy(tool)
        behind.on_invoke_tool = self._invoking(tool, agent)
        behind.needs_approval = self._needing(tool, agent)
        return behind

    def _invoking(self, tool: FunctionTool, agent: str) -> Callable[[ToolContext[Any], str], Any]:
        invoke = tool.on_invoke_tool

        async def on_invoke_tool(context: ToolContext[Any], arguments: str) -> Any:
            read = _read(arguments)
            if read is None:
                return NO_OBJECT
            call = _call(tool, agent, read, context.tool_call_id)

            def execute(final: dict[str, Any]) -> Any:
                if final != read:
                    context.tool_arguments = _encode(final).decode()
                return invoke(context, context.tool_arguments)

            ending = await drive_async(
                self._guard.around(
                    call, execute, ask=lambda _asked: _approved(tool, context), shape=_SHAPE, decided=self._known(call)
                )
            )
            match ending:
                case Result(value):
                    return value
                case Told(text):
                    return text
                case _:
                    assert_never(ending)

        on_invoke_tool.interpose = self  # type: ignore[attr-defined]  # a function may carry what it belongs to
        return on_invoke_tool

    def _needing(self, tool: FunctionTool, agent: str) -> Callable[[RunContextWrapper[Any], dict[str, Any], str], Any]:
        wish = tool.needs_approval

        async def needs_approval(context: RunContextWrapper[Any], arguments: dict[str, Any], call_id: str) -> bool:
            """Decided here, since a run can pause only here. A person is asked only about what may run."""
            call = _call(tool, agent, arguments, call_id)
            answer = self._known(call) or await drive_async(self._guard.before(call))
            if isinstance(answer, AskPerson):
                _keep(_questions, (call_id, _encode(arguments)), answer.question)
                return True  # and decided again when the run goes on, under the rules that hold then
            _keep(self._decided, _key(call), (monotonic(), answer))
            if isinstance(answer, Told):
                return False  # the model is told when the tool is invoked
            return wish if isinstance(wish, bool) else bool(await wish(context, arguments, call_id))

        return needs_approval

    def _known(self, call: FrameworkCall) -> Answer | None:
        at, answer = self._decided.pop(_key(call), (0.0, None))
        return answer if monotonic() - at < KEPT else None

    async def _message(
        self, _context: RunContextWrapper[Any], agent: Agent[Any], said: str | list[Any]
    ) -> GuardrailFunctionOutput:
        """A guardrail can't change a message: what would be changed is refused."""
        for text in _texts(said):
            answer = await drive_async(self._guard.message(text, session=_session(), agent=agent.name))
            if isinstance(answer, str) and answer == text:
                continue
            other = "Interpose refused this message as it is. Send this instead:"
            why = answer.text if isinstance(answer, Told) else f"{other}\n{answer}"
            return GuardrailFunctionOutput(why, tripwire_triggered=True)
        return GuardrailFunctionOutput("", tripwire_triggered=False)


class _Guarded(Agent[Any]):
    """An agent behind a guard. Tools of MCP servers come when it runs."""

    _interpose: Any
    _original: Any

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Any]:
        """INVARIANT: no tool reaches the model that is not behind the guard, whenever it was added."""
        tools = await super().get_all_tools(run_context)
        return [self._interpose.tool(tool, self.name) for tool in tools]


def _handoffs_of(agent: Any) -> list[Any]:
    """INVARIANT: no agent is handed over to that is not behind the guard, whenever it was added."""
    found: list[Any] = agent._interpose.handoffs(vars(agent)["handoffs"], agent.name)  # noqa: SLF001 - one of ours
    return found


def _hand_over_to(agent: Any, given: list[Any]) -> None:
    vars(agent)["handoffs"] = given


def _call(tool: FunctionTool, agent: str, arguments: dict[str, Any], call_id: str) -> FrameworkCall:
    return FrameworkCall(
        name=tool.qualified_name, arguments=arguments, call_id=call_id, session=_session(), agent=agent
    )


def _key(call: FrameworkCall) -> Key:
    return call.session, call.agent, call.call_id, _encode((call.name, call.arguments))


def _session() -> str:
    """The conversation of the trace in which the run is, or that trace itself."""
    trace = get_current_trace()
    return "" if trace is None else str(getattr(trace, "group_id", None) or trace.trace_id).removeprefix("no-op")


def _read(arguments: str) -> dict[str, Any] | None:
    try:
        read = strict_json.decode(arguments.encode())
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


def _approved(tool: FunctionTool, context: ToolContext[Any]) -> PersonsAnswer:
    """INVARIANT: a yes for all calls of a tool is no answer to a question about one: its person never saw the call."""
    if context.is_tool_approved(tool.qualified_name, _NO_CALL):
        return Deny(NOT_THIS_CALL)
    if context.is_tool_approved(tool.qualified_name, context.tool_call_id) is True:
        return Approved(FACTS.name)
    return Deny("nobody was asked")


def _keep(kept: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    kept[key] = value
    if len(kept) > _MOST:
        kept.popitem(last=False)


def _texts(said: str | list[Any]) -> Iterator[str]:
    """What the user said since the agent last spoke."""
    if isinstance(said, str):
        yield said
        return
    new: list[Any] = []
    for item in said:
        role = item.get("role") if isinstance(item, dict) else None
        new = [*new, item["content"]] if role == "user" else [] if role == "assistant" else new
    for content in new:
        parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
        yield "\n".join(part for part in parts if part)


def _opened(result: Any) -> Any:
    """What a tool gave, as plain data. INVARIANT: what is none is judged as the text that the SDK makes of it: that is
    what the model reads, whatever an object would show otherwise."""
    parts = list(result) if isinstance(result, list | tuple) else [result]
    plain = [one.model_dump() if isinstance(one, _PARTS) else one for one in parts]
    if not all(_is_data(one) or is_stream(one) for one in plain):
        return str(result)
    return plain if isinstance(result, list | tuple) else plain[0]


def _is_data(value: Any, depth: int = MAX_DEPTH) -> bool:
    if isinstance(value, dict) and depth:
        return all(isinstance(key, str) and _is_data(item, depth - 1) for key, item in value.items())
    if isinstance(value, list | tuple) and depth:
        return all(_is_data(item, depth - 1) for item in value)
    return value is None or (isinstance(value, str | int | float | bytes) and not isinstance(value, Enum))


def _closed(result: Any, new: Any) -> Any:
    new = fitted(_opened(result), new)
    if isinstance(result, list | tuple) and isinstance(new, list):
        return [_closed(one, other) for one, other in zip(result, new, strict=True)]
    return type(result).model_validate(new) if isinstance(result, _PARTS) else new


def _only_hands_over(handed: Any) -> bool:
    """Whether a handoff runs nothing that somebody wrote: it was made by `handoff()`, without a function."""
    found = [one for one in (handed, *getattr(handed, "args", ())) if isfunction(one)]
    closures = [getclosurevars(one).nonlocals for one in found if one.__module__ == handoff.__module__]
    return len(closures) == len(found) and any(held.get("on_handoff", found) is None for held in closures)


_SHAPE = ResultShape(_opened, _closed)
_NEXT_AGENT = ResultShape(lambda agent: str(agent.name), lambda agent, _new: agent)
