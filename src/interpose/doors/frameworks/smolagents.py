"""smolagents: an agent whose tools, managed agents and Python code stand behind Interpose.

smolagents has no hook before a call (`step_callbacks` come too late): `guard(agent)` puts something in front of every
tool, which both kinds of agents call. The code of a `CodeAgent` is itself a call, of the tool `python_interpreter`. A
tool-calling agent reads a refusal as the result of its call; code gets a PermissionError, and does not go on with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar, Unpack, assert_never, cast

from smolagents import CodeAgent, FinalAnswerTool, MultiStepAgent
from smolagents.local_python_executor import CodeOutput, LocalPythonExecutor, PythonExecutor

from interpose.core.driving import drive
from interpose.core.errors import RefusedError, text_of
from interpose.core.types import MAX_DEPTH, same
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.guarding import FrameworkCall, FrameworkGuard, Result, ResultShape, Told
from interpose.doors.frameworks.options import GuardOptions
from interpose.doors.hooks.hosts.result_shapes import fitted

FACTS = FrameworkFacts(name="smolagents", title="smolagents", messages=True)
PYTHON = "python_interpreter"
"""What smolagents itself calls the tool that runs code."""
NOT_DATA = "Interpose refused this: nobody can judge"

_TEAM = "_interpose"
_within: ContextVar[bool] = ContextVar("interpose_within", default=False)
"""Whether an agent runs on behalf of another: what it is told is no message of the user."""

AnyAgent = TypeVar("AnyAgent", bound=MultiStepAgent)


def guard(agent: AnyAgent, /, **options: Unpack[GuardOptions]) -> AnyAgent:
    """The agent itself, behind Interpose from now on: `guard(agent).run(...)`. The agents that it manages are, too.

    The options are those of `GuardOptions`. Raises ValueError for an agent that has a guard.
    """
    if hasattr(type(agent), _TEAM):
        raise ValueError(f"the agent {agent.name or type(agent).__name__!r} has a guard already, and keeps it")
    return cast("AnyAgent", _GuardingTeam(FrameworkGuard(FACTS, options)).agent(agent))


class _GuardingTeam:
    """All agents behind one guard."""

    def __init__(self, guard: FrameworkGuard) -> None:
        self.guard = guard

    def agent(self, agent: Any) -> Any:
        """The same agent behind the guard. One that has a guard keeps it."""
        if not hasattr(type(agent), _TEAM):
            agent.__class__ = _behind(type(agent), self)
            self.cover(agent)
        return agent

    def cover(self, agent: Any) -> None:
        """INVARIANT: no tool is called that is not behind the guard, whenever it was added."""
        name, raises = agent.name or "", isinstance(agent, CodeAgent)
        for called in (agent.tools, agent.managed_agents):
            for key, one in called.items():
                if isinstance(one, MultiStepAgent):
                    self.agent(one)
                if type(one) is not _JudgedTool and type(one) is not FinalAnswerTool:
                    called[key] = _JudgedTool(one, self.guard, name, raises=raises)
        executor = getattr(agent, "python_executor", None)
        if executor is not None and type(executor) is not _GuardedExecutor:
            agent.python_executor = _GuardedExecutor(executor, self.guard, name)


def _behind(kind: type[Any], team: _GuardingTeam) -> type[Any]:
    """The class of an agent, behind a guard. It has no second base: else an agent could not become one of it."""

    def run(self: Any, task: str, *args: Any, **options: Any) -> Any:
        team.cover(self)
        if team.guard.messages and not _within.get():
            answer = drive(team.guard.message(task, agent=self.name or ""))
            if isinstance(answer, Told):
                raise RefusedError(answer.verdict)
            task = answer
        return kind.run(self, task, *args, **options)

    def handed_over(self: Any, task: str, **options: Any) -> Any:
        before = _within.set(True)
        try:
            return kind.__call__(self, task, **options)
        finally:
            _within.reset(before)

    def step_stream(self: Any, memory_step: Any) -> Iterator[Any]:
        team.cover(self)
        yield from kind._step_stream(self, memory_step)  # noqa: SLF001 - every step of an agent comes through it

    own = {_TEAM: team, "run": run, "__call__": handed_over, "_step_stream": step_stream}
    return type(kind.__name__, (kind,), own | {"__doc__": kind.__doc__, "__module__": kind.__module__})


class _JudgedTool:
    """A tool, or an agent that is called like one. In everything but calls it is what it stands in front of."""

    def __init__(self, tool: Any, guard: FrameworkGuard, agent: str, *, raises: bool) -> None:
        self.interpose_tool, self._guard, self._agent, self._raises = tool, guard, agent, raises

    def __getattr__(self, name: str) -> Any:
        return getattr(self.interpose_tool, name)

    def __call__(self, *args: Any, sanitize_inputs_outputs: bool | None = None, **given: Any) -> Any:
        """One call."""
        try:
            named = _named(self.interpose_tool, args, given)
            # INVARIANT: what runs is this copy: no object of the agent's own making can become another meanwhile.
            copied = {str(key): _copied(value) for key, value in named.items()}
            shown = {key: _shown(value) for key, value in copied.items()}
        except _NotDataError as error:
            return self._told(f"{NOT_DATA} {text_of(error)}")
        besides: dict[str, Any] = {}
        if sanitize_inputs_outputs is not None:
            besides["sanitize_inputs_outputs"] = sanitize_inputs_outputs

        def execute(arguments: dict[str, Any]) -> Any:
            whole = {
                key: copied[key] if key in shown and same(value, shown[key]) else value
                for key, value in arguments.items()
            }
            return self.interpose_tool(**whole, **besides)

        call = FrameworkCall(name=str(self.interpose_tool.name), arguments=shown, agent=self._agent)
        ending = drive(self._guard.around(call, execute, shape=_RESULT))
        match ending:
            case Result(value):
                return value
            case Told(text):
                return self._told(text)
            case _:
                assert_never(ending)

    def _told(self, text: str) -> str:
        """A tool-calling agent makes several calls at once: an exception would take the others' results with it."""
        if self._raises:
            raise PermissionError(text)
        return text


class _GuardedExecutor(PythonExecutor):
    """What runs a CodeAgent's code."""

    def __init__(self, executor: PythonExecutor, guard: FrameworkGuard, agent: str) -> None:
        self._executor, self._guard, self._agent = executor, guard, agent
        self.state: dict[str, Any] = {}
        """What code printed before it failed. INVARIANT: it holds what was judged: the agent shows it to the model."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    def send_tools(self, tools: dict[str, Any]) -> None:
        """INVARIANT: tools that are sent elsewhere as source run where nobody can stand between."""
        ours = {name: tool for name, tool in tools.items() if type(tool) is not FinalAnswerTool}
        if isinstance(self._executor, LocalPythonExecutor):
            for name in self._executor.additional_functions:
                self._guard.must_guard(name)
            self._executor.send_tools(tools | {name: self._callable(tool) for name, tool in ours.items()})
            return
        for name in ours:
            self._guard.must_guard(name)
        behind = {name: tool.interpose_tool for name, tool in ours.items() if type(tool) is _JudgedTool}
        self._executor.send_tools(tools | behind)

    def _callable(self, tool: Any) -> Callable[..., Any]:
        """INVARIANT: code gets a function and no object: `note.forward(...)` would go around the guard."""
        guarded = tool if type(tool) is _JudgedTool else _JudgedTool(tool, self._guard, self._agent, raises=True)

        def call(*args: Any, **given: Any) -> Any:
            return guarded(*args, **given)

        call.__name__ = str(guarded.name)
        return call

    def send_variables(self, variables: dict[str, Any]) -> None:
        """Values that code finds."""
        self._executor.send_variables(variables)

    def __call__(self, code_action: str) -> CodeOutput:
        """Run code. Raises PermissionError with the reason if that is refused."""
        self.state = {}
        call = FrameworkCall(name=PYTHON, arguments={"code": code_action}, agent=self._agent)
        try:
            ending = drive(self._guard.around(call, self._run, shape=_CODE))
        except _CodeFailedError as failed:
            self.state = {"_print_outputs": failed.logs}
            raise failed.error from None
        match ending:
            case Result(value):
                return value
            case Told(text):
                raise PermissionError(text)
            case _:
                assert_never(ending)

    def _run(self, arguments: dict[str, Any]) -> CodeOutput:
        code = arguments.get("code")
        if not isinstance(code, str):
            raise PermissionError("Interpose refused this: what became of the code is no text")
        try:
            return self._executor(code)
        except Exception as error:  # noqa: BLE001 - what it printed before is looked at with it
            logs = getattr(self._executor, "state", {}).get("_print_outputs", "")
            raise _CodeFailedError(error, str(logs)) from None


class _CodeFailedError(Exception):
    """Code failed: why, and what it had printed."""

    def __init__(self, error: Exception, logs: str) -> None:
        super().__init__(f"{text_of(error)}\n{logs}" if logs else text_of(error))
        self.error, self.logs = error, logs


class _NotDataError(Exception):
    """An argument that nobody can judge."""


def _named(tool: Any, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, as the tool itself would understand them. Raises _NotDataError."""
    names = list(getattr(tool, "inputs", {}))
    if len(args) == 1 and not given and isinstance(args[0], dict) and not isinstance(tool, MultiStepAgent):
        only = dict(dict.items(args[0]))
        if all(key in names for key in only):
            return only
    if len(args) > len(names):
        raise _NotDataError(f"{len(args)} arguments of a tool that takes {len(names)}")
    if twice := [name for name in names[: len(args)] if name in given]:
        raise _NotDataError(f"two values for {twice[0]!r}")
    return dict(zip(names, args, strict=False)) | given


def _copied(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A copy out of plain data alone, but for objects of libraries. Raises _NotDataError."""
    if depth <= 0:
        raise _NotDataError("arguments that are nested so deep")
    inner = partial(_copied, depth=depth - 1)
    plain = _plain_scalar(value)
    if plain is not _NONE:
        return plain
    if isinstance(value, dict):
        return {inner(key): inner(item) for key, item in dict.items(value)}
    for kind in _SEVERAL:
        if isinstance(value, kind):
            return kind(map(inner, kind.__iter__(value)))  # a class of the agent's own may have another
    cls = type(value)
    found: Any = sys.modules.get(cls.__module__)
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is not cls or callable(value) or hasattr(cls, "__next__"):
        raise _NotDataError(f"an argument of the kind {cls.__qualname__}: give data")
    return value


_NONE: Any = object()
_SEVERAL: tuple[Any, ...] = (list, tuple, set, frozenset)
_SCALARS: tuple[tuple[type[Any], Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (bool, bool),
    (int, int.__int__),
    (float, float.__float__),
    (bytes, lambda data: bytes.__getitem__(data, slice(None))),
)


def _plain_scalar(value: Any) -> Any:
    if value is None:
        return None
    for kind, made in _SCALARS:
        if isinstance(value, kind):
            return value if type(value) is kind else made(value)
    return _NONE


def _shown(value: Any) -> Any:
    """What interceptors see of a value: plain data, and the text of anything else."""
    if isinstance(value, dict):
        shown = {str(_shown(key)): _shown(item) for key, item in dict.items(value)}
        if len(shown) != len(value):
            raise _NotDataError("a dict with two keys that look alike: one would hide the other")
        return shown
    if isinstance(value, list | tuple | set | frozenset):
        return [_shown(item) for item in value]
    plain = _plain_scalar(value)
    return text_of(value) if plain is _NONE else plain


def _put_back(value: Any, new: Any) -> Any:
    shown = _shown(value)
    return value if same(new, shown) else fitted(shown, new)


_RESULT = ResultShape(_shown, _put_back)


def _code_shown(output: CodeOutput) -> dict[str, Any]:
    return {"output": _shown(output.output), "logs": output.logs}


def _code_put_back(output: CodeOutput, new: Any) -> CodeOutput:
    shown = _code_shown(output)
    data = fitted(shown, new)
    kept = same(data["output"], shown["output"])
    return CodeOutput(output.output if kept else data["output"], data["logs"], output.is_final_answer)


_CODE = ResultShape(_code_shown, _code_put_back)
