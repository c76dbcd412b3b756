"""The public faces of the flow: an engine, and one run of an agent. Each method drives a generator of flow/run_flow.py.

Every method has a twin for async callers whose name begins with `a`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

from msgspec.structs import replace

from interpose.core.driving import drive, drive_async
from interpose.core.errors import InvalidCallError, RegistrationError, ToolSetError
from interpose.core.registry import InterceptorRegistry, JoinedInterceptors
from interpose.core.tools import plain_name, shell_names
from interpose.core.toolsets import ToolSet
from interpose.core.types import (
    EMPTY,
    Command,
    Context,
    Message,
    Params,
    PermissionRequest,
    ToolCall,
    ToolOutcome,
    Verdict,
    new_id,
)
from interpose.engine.flow.run_flow import RunFlow
from interpose.engine.flow.run_parts import Interceptors, NeedsConfirmation, Recorder, Tool, ToolRun
from interpose.engine.flow.status_lines import Listener, Verbose
from interpose.engine.flow.wire_log import WireLog
from interpose.engine.function_tools import FunctionTool, ToolTable, arguments_of
from interpose.people.approvals import ConfirmationHandler, StandingAnswer, as_handler

if TYPE_CHECKING:
    from interpose.core.driving import Flow
    from interpose.core.governing import Governing, SessionWords

__all__ = ["Engine", "Interceptors", "NeedsConfirmation", "Recorder", "Run", "Tool", "ToolRun"]


F = TypeVar("F", bound=Callable[..., Any])

Arguments = Mapping[str, Any] | str | None

Confirming = ConfirmationHandler | Callable[[PermissionRequest], object]
"""Who answers questions: a handler, or a plain function that takes the request and says True or not."""


class Engine:
    """Interceptors, who answers their questions, and where decisions are recorded."""

    def __init__(
        self,
        interceptors: Interceptors | None = None,
        *,
        confirm: Confirming | None = None,
        standing: Sequence[StandingAnswer] = (),
        recorder: Recorder | None = None,
        tools: ToolSet | None = None,
        shell_tools: Iterable[str] = (),
        cwd: str = "",
        refuse_questions: bool = False,
        verbose: Verbose = "off",
        sinks: Iterable[Callable[[str], object]] = (),
        governor: Governing | None = None,
    ) -> None:
        """Without interceptors the engine is empty: the whole one is `open_engine()`.

        `confirm` answers what interceptors ask; without one every question is answered no.

        `shell_tools` are names of tools whose command is judged as a shell command, besides those that are known.
        `cwd` is where calls run whose context doesn't say it. With `refuse_questions` nobody is asked: what would be a
        question is refused. `governor` counts in sessions what interceptors can't.
        """
        self.interceptors: Interceptors = InterceptorRegistry() if interceptors is None else _snapshots(interceptors)
        self.confirm = as_handler(confirm)
        self.standing = tuple(standing)
        self.recorder = recorder
        self.tool_set = _tool_set(tools) or ToolSet.all()
        self.shell_tools = shell_names(_names(shell_tools))
        self.cwd = cwd
        self.refuse_questions = refuse_questions
        if verbose not in get_args(Verbose):
            raise ValueError(f'verbose must be "off", "on" or "full", not {verbose!r}')
        self.verbose: Verbose = verbose
        self.sinks = tuple(sinks)
        self.wire = WireLog.from_environment()
        self.governor = governor
        self.functions = ToolTable()
        self.elsewhere: Callable[[Context], Engine] | None = None
        """The engine whose project rules hold where a call runs; None if there are no rules of projects."""

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that were registered and that this engine's agent has, in order."""
        return tuple(name for name in self.functions.names if self._has(name))

    def _has(self, name: str) -> bool:
        own = plain_name(name)
        return self.tool_set.matches("exec", name) if own in self.shell_tools else self.tool_set.matches(name)

    def __repr__(self) -> str:
        return f"Engine({self.interceptors!r}, tools={list(self.tools)})"

    def tool(self, function: F, /) -> F:
        """Register a function as a tool of its own name: `@engine.tool`. It stays the function that it is."""
        if not callable(function):
            raise RegistrationError(f"write @engine.tool alone, or engine.add_tool(function, {function!r})")
        self.add_tool(function)
        return function

    def add_tool(
        self,
        function: Callable[..., Any],
        name: str = "",
        *,
        requires_confirmation: NeedsConfirmation | None = None,
    ) -> None:
        """Register a function, a bound method or a partial as a tool, under its own name or another."""
        tool = FunctionTool(function, name, requires_confirmation=requires_confirmation)
        self.functions.add(tool)
        is_shell = plain_name(tool.name) in self.shell_tools  # interceptors see it as `exec`
        if isinstance(self.interceptors, InterceptorRegistry) and not is_shell:  # so that matchers may name it
            self.interceptors.declare_tools([tool.name])

    def call(self, name: str, arguments: Arguments = None, *, context: Context | None = None) -> Any:
        """Call a registered tool by name behind the interceptors. Returns what the agent gets; never raises.

        Arguments are a mapping, or the JSON text that a model wrote.
        """
        return self.run(context).call(name, arguments).response

    async def acall(self, name: str, arguments: Arguments = None, *, context: Context | None = None) -> Any:
        """`call` for async callers; the tool may be async."""
        return (await self.run(context).acall(name, arguments)).response

    def run(
        self,
        context: Context | None = None,
        *,
        on_event: Iterable[Listener] = (),
        confirm: Confirming | None = None,
    ) -> Run:
        """Start a run: one metadata bag, and listeners and a confirmation handler for this run only."""
        context = self._placed(context or Context())
        there = self._there(context)
        flow = RunFlow(there, context, on_event, as_handler(confirm) or self.confirm)
        return Run(flow, context, self.functions, there.governor)

    def flow(
        self,
        context: Context,
        *,
        on_event: Iterable[Listener] = (),
        confirm: Confirming | None = None,
    ) -> RunFlow:
        """The same run as generators, for surfaces that drive it themselves."""
        context = self._placed(context)
        return RunFlow(self._there(context), context, on_event, as_handler(confirm) or self.confirm)

    def _there(self, context: Context) -> Engine:
        """This engine under the rules of the directory and session in which a call runs."""
        there = self if self.elsewhere is None else self.elsewhere(context)
        if there is self or there.interceptors is self.interceptors:
            return self
        joined = self._copy(JoinedInterceptors(self.interceptors, there.interceptors), self.tool_set)
        joined.governor = there.governor or self.governor
        return joined

    def _placed(self, context: Context) -> Context:
        return replace(context, cwd=self.cwd) if self.cwd and not context.cwd else context

    def sub_agent(self, tools: ToolSet | None = None) -> Engine:
        """An engine for a sub-agent: the same interceptors and handler, and never more tools."""
        child = self._copy(self.interceptors, (_tool_set(tools) or ToolSet.inherit()).resolve(self.tool_set))
        child.elsewhere = self.elsewhere
        return child

    def for_stranger(self) -> Engine:
        """This engine for somebody who did not say who they are: no session of anybody's is read or changed."""
        if self.governor is None:
            return self
        other = self._copy(self.interceptors, self.tool_set)
        other.governor = self.governor.for_stranger()
        return other

    def _copy(self, interceptors: Interceptors, tools: ToolSet) -> Engine:
        copy = Engine(
            interceptors, confirm=self.confirm, standing=self.standing, recorder=self.recorder, tools=tools,
            shell_tools=self.shell_tools, cwd=self.cwd, refuse_questions=self.refuse_questions, verbose=self.verbose,
            sinks=self.sinks, governor=self.governor,
        )  # fmt: skip
        copy.functions = self.functions
        return copy

    def decide(self, call: ToolCall) -> Verdict[ToolCall]:
        """What the interceptors say about a call. Nobody is asked and nothing runs."""
        return self.run(call.context).decide(call)

    async def adecide(self, call: ToolCall) -> Verdict[ToolCall]:
        """`decide` for async callers."""
        return await self.run(call.context).adecide(call)

    def run_tool(self, call: ToolCall, execute: Tool, *, requires_confirmation: NeedsConfirmation | None = None) -> Any:
        """Run a tool behind the interceptors, in a run of its own. Returns what the agent gets; never raises."""
        return self.run(call.context).run_tool(call, execute, requires_confirmation=requires_confirmation).response

    async def arun_tool(
        self, call: ToolCall, execute: Tool, *, requires_confirmation: NeedsConfirmation | None = None
    ) -> Any:
        """`run_tool` for async callers; `execute` may be async."""
        run = self.run(call.context)
        return (await run.arun_tool(call, execute, requires_confirmation=requires_confirmation)).response


class Run:
    """One run of an agent."""

    def __init__(
        self,
        flow: RunFlow,
        context: Context,
        functions: ToolTable | None = None,
        governor: Governing | None = None,
    ) -> None:
        self._flow, self._context, self._functions = flow, context, functions or ToolTable()
        self._governor = governor

    @property
    def metadata(self) -> dict[str, Any]:
        """What message.before left in the run's bag."""
        return self._flow.metadata

    @property
    def stopped(self) -> str:
        """Why message.before or params.before ended the run; empty while it may go on."""
        return self._flow.stopped

    def start(self) -> str:
        """Say that this agent's session begins. Returns what the agent should read: its role, rules and what is left of
        its budgets. Empty where nothing governs it, as for the verbs below."""
        return drive(self._told("start"))

    async def astart(self) -> str:
        """`start` for async callers."""
        return await drive_async(self._told("start"))

    def resume(self) -> str:
        """Say that the session goes on where it was left. Empty too if that was a short time ago: the agent still has
        what it was told."""
        return drive(self._told("resume"))

    async def aresume(self) -> str:
        """`resume` for async callers."""
        return await drive_async(self._told("resume"))

    def compact(self) -> str:
        """Say that the agent's context was shortened. Returns what it has to be reminded of."""
        return drive(self._told("compacted"))

    async def acompact(self) -> str:
        """`compact` for async callers."""
        return await drive_async(self._told("compacted"))

    def remind(self) -> str:
        """What the agent is still to be told, once: that it gets nowhere, or that its session was resumed."""
        return drive(self._told("due"))

    async def aremind(self) -> str:
        """`remind` for async callers."""
        return await drive_async(self._told("due"))

    def idle(self) -> None:
        """Say that the agent waits for its user. Its next call makes the session active again."""
        drive(self._told("idle"))

    async def aidle(self) -> None:
        """`idle` for async callers."""
        await drive_async(self._told("idle"))

    def end(self) -> None:
        """Say that the session is over. Halts, denials and budgets stay: it may be started again under them."""
        drive(self._told("end"))

    async def aend(self) -> None:
        """`end` for async callers."""
        await drive_async(self._told("end"))

    def _told(self, said: SessionWords) -> Flow[str]:
        from interpose.engine.flow.governing import session_told

        return session_told(self._governor, self._context, said)

    def message(self, text: str, *, provider: str = "", model: str = "") -> Verdict[Message]:
        """message.before: the message as the agent should see it. A refusal stops the run."""
        return drive(self._flow.message(Message(text, EMPTY, self._context, provider, model)))

    async def amessage(self, text: str, *, provider: str = "", model: str = "") -> Verdict[Message]:
        """`message` for async callers."""
        return await drive_async(self._flow.message(Message(text, EMPTY, self._context, provider, model)))

    def params(self, params: Params) -> Verdict[Params]:
        """params.before: the parameters that the run should use, every field of them."""
        return drive(self._flow.params(params))

    async def aparams(self, params: Params) -> Verdict[Params]:
        """`params` for async callers."""
        return await drive_async(self._flow.params(params))

    def command(self, name: str, arguments: str = "") -> Verdict[Command]:
        """command.before: a command of the agent's host, such as `/review 12`. A refusal holds this command alone."""
        return drive(self._flow.command(Command(name, arguments, self._context)))

    async def acommand(self, name: str, arguments: str = "") -> Verdict[Command]:
        """`command` for async callers."""
        return await drive_async(self._flow.command(Command(name, arguments, self._context)))

    def decide_command(self, name: str, arguments: str = "") -> Verdict[Command]:
        """command.before, without asking anybody and without recording anything."""
        return drive(self._flow.command(Command(name, arguments, self._context), only_look=True))

    async def adecide_command(self, name: str, arguments: str = "") -> Verdict[Command]:
        """`decide_command` for async callers."""
        return await drive_async(self._flow.command(Command(name, arguments, self._context), only_look=True))

    def decide(self, call: ToolCall) -> Verdict[ToolCall]:
        """tool.before, without asking anybody and without running anything."""
        return drive(self._flow.decide(call))

    async def adecide(self, call: ToolCall) -> Verdict[ToolCall]:
        """`decide` for async callers."""
        return await drive_async(self._flow.decide(call))

    def before(self, call: ToolCall, *, requires_confirmation: NeedsConfirmation | None = None) -> Verdict[ToolCall]:
        """The first half of the flow, for a host that runs the tool itself: decided, asked and recorded."""
        return drive(self._flow.before(call, requires_confirmation))

    async def abefore(
        self, call: ToolCall, *, requires_confirmation: NeedsConfirmation | None = None
    ) -> Verdict[ToolCall]:
        """`before` for async callers."""
        return await drive_async(self._flow.before(call, requires_confirmation))

    def after(self, outcome: ToolOutcome, *, decided: bool = True) -> ToolRun:
        """The second half: what the host's tool gave. `decided` is false if `before` was not called for it here."""
        return drive(self._flow.after(outcome, decided))

    async def aafter(self, outcome: ToolOutcome, *, decided: bool = True) -> ToolRun:
        """`after` for async callers."""
        return await drive_async(self._flow.after(outcome, decided))

    def not_run(self, verdict: Verdict[ToolCall], reason: str) -> None:
        """The end of a call that `before` allowed and the host won't run, as it can't run what became of it."""
        drive(self._flow.not_run(verdict, reason))

    async def anot_run(self, verdict: Verdict[ToolCall], reason: str) -> None:
        """`not_run` for async callers."""
        await drive_async(self._flow.not_run(verdict, reason))

    def run_tool(
        self, call: ToolCall, execute: Tool, *, requires_confirmation: NeedsConfirmation | None = None
    ) -> ToolRun:
        """The whole flow of one tool call."""
        return drive(self._flow.tool(call, execute, requires_confirmation))

    async def arun_tool(
        self, call: ToolCall, execute: Tool, *, requires_confirmation: NeedsConfirmation | None = None
    ) -> ToolRun:
        """`run_tool` for async callers."""
        return await drive_async(self._flow.tool(call, execute, requires_confirmation))

    def call(self, name: str, arguments: Arguments = None, *, call_id: str = "") -> ToolRun:
        """The whole flow of one call of a registered tool. A name that nobody registered is an error result."""
        return drive(self._flow.tool(*self._called(name, arguments, call_id)))

    async def acall(self, name: str, arguments: Arguments = None, *, call_id: str = "") -> ToolRun:
        """`call` for async callers."""
        return await drive_async(self._flow.tool(*self._called(name, arguments, call_id)))

    def _called(self, name: str, arguments: Arguments, call_id: str) -> tuple[ToolCall, Tool, NeedsConfirmation | None]:
        given, problem = arguments_of(arguments)
        call = ToolCall(name, given, call_id or new_id(), self._context)
        if problem:
            return call, partial(_refuse, problem), None
        found = self._functions.find(name)
        return call, partial(self._functions.execute, name), found.requires_confirmation if found else None

    def run_tools(self, calls: Sequence[tuple[ToolCall, Tool]]) -> list[ToolRun]:
        """Several calls at once: all are decided, questions are put as one batch, then the calls run in order."""
        return drive(self._flow.batch(calls))

    async def arun_tools(self, calls: Sequence[tuple[ToolCall, Tool]]) -> list[ToolRun]:
        """`run_tools` for async callers."""
        return await drive_async(self._flow.batch(calls))


def _snapshots(given: Interceptors) -> Interceptors:
    if not callable(getattr(given, "snapshot", None)):
        raise RegistrationError(
            f"an engine takes a registry or a chain, not {given!r}: write registry = create_interceptor_registry(), "
            'registry.add(id="...", name="tool.before", interceptor=...), then Engine(registry)'
        )
    return given


def _tool_set(given: object) -> ToolSet | None:
    if given is not None and not isinstance(given, ToolSet):
        wanted = [given] if isinstance(given, str) else given
        raise ToolSetError(f"tools are a ToolSet, not {given!r}: write ToolSet.specific({wanted!r})")
    return given


def _names(given: Iterable[str]) -> Iterable[str]:
    if isinstance(given, str):
        raise RegistrationError(f"shell_tools is a list of names, not the one text: write shell_tools=[{given!r}]")
    names: tuple[object, ...] = tuple(given)
    wrong = [name for name in names if not isinstance(name, str)]
    if wrong:
        raise RegistrationError(f"shell_tools is a list of names of tools, and {wrong[0]!r} is none")
    return cast("tuple[str, ...]", names)


def _refuse(problem: str, _arguments: dict[str, Any]) -> None:
    raise InvalidCallError(problem)
