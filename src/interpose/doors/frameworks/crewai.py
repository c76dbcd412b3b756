"""CrewAI: hooks that stand before and after every tool call of this process.

CrewAI swallows every exception of a hook but its own `HookAborted`, and goes on: nothing else may leave these hooks. A
call that is stopped still passes the hook after it, and there the model is told why. A question is CrewAI's own
`request_human_input`, on the terminal.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self, Unpack, assert_never

from crewai.hooks import (
    HookAborted,
    InterceptionPoint,
    LLMCallHookContext,
    ToolCallHookContext,
    get_hooks,
    register_hook,
    unregister_hook,
)
from msgspec.json import Encoder

from interpose.core.answers import Approved
from interpose.core.driving import drive
from interpose.core.errors import FrameworkLimitError, text_of
from interpose.core.types import MAX_DEPTH, Deny
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.guarding import AskPerson, FrameworkCall, FrameworkGuard, PersonsAnswer, RunWith, Told
from interpose.doors.frameworks.options import GuardOptions
from interpose.doors.hooks.hosts import reply_texts
from interpose.doors.hooks.hosts.result_shapes import plain_text
from interpose.engine.flow.hosted import undecidable

FACTS = FrameworkFacts(name="crewai", title="CrewAI", asks="request_human_input", messages=True)
YES = "yes"
"""What a person types. Everything else is a no."""
NO_OBJECT = "Interpose refused this: its arguments are no JSON object"
NO_PLACE = "Interpose refused this: a rule adds arguments, and CrewAI can't add any to a call that has none"
A2A = "a2a"
"""What work is called here that an agent in another program does."""
REMOVED = "Interpose's hooks were taken out of CrewAI's list: nothing runs until guard() is called again"

_SOURCE = "interpose"
_FAILED = "Error executing tool"
"""How CrewAI's text begins for a tool that raised."""
_MOST = 10_000
_encode = Encoder(order="sorted", enc_hook=text_of).encode
_terminal = threading.Lock()

Points = Mapping[InterceptionPoint, Any]


def guard(**options: Unpack[GuardOptions]) -> InterposeHooks:
    """Let every tool call of this process pass Interpose: call it once, after other hooks were registered.

    It counts at once, until `remove()` or the end of a `with`. The options are those of `GuardOptions`.
    """
    return InterposeHooks(FrameworkGuard(FACTS, options))


class UnguardableError(HookAborted, FrameworkLimitError):
    """What can't be guarded, as CrewAI lets it through."""


class InterposeHooks:
    """The hooks of one guard, in CrewAI's list."""

    def __init__(self, guard: FrameworkGuard) -> None:
        self._guard = guard
        self._open: OrderedDict[int, tuple[Any, RunWith | Told]] = OrderedDict()
        """Calls between their two hooks. CrewAI gives both the same dict of arguments; it is kept here, so that no
        other can have its id."""
        self._lock = threading.Lock()
        self._points: Points = {
            InterceptionPoint.POST_TOOL_CALL: self._after,
            InterceptionPoint.PRE_TOOL_CALL: self._before,
            InterceptionPoint.PRE_MODEL_CALL: self._model,
            InterceptionPoint.INPUT: self._input,
        }
        for point, hook in self._points.items():
            register_hook(point, hook)

    def remove(self) -> None:
        """Take the hooks out of CrewAI's list: calls are judged no more."""
        for point, hook in self._points.items():
            unregister_hook(point, hook)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_why: object) -> None:
        self.remove()

    def _before(self, context: ToolCallHookContext) -> None:
        """INVARIANT: whatever goes wrong here, HookAborted leaves and the call does not run."""
        try:
            answer = self._decided(context)
        except Exception as error:  # noqa: BLE001 - as above
            answer = Told(reply_texts.refusal(undecidable(error)))
        with self._lock:
            self._open[id(context.tool_input)] = context.tool_input, answer
            if len(self._open) > _MOST:
                self._open.popitem(last=False)
        if isinstance(answer, Told):
            raise HookAborted(answer.text, _SOURCE)

    def _decided(self, context: ToolCallHookContext) -> RunWith | Told:
        given = context.tool_input
        if not isinstance(given, dict):
            return Told(NO_OBJECT)
        if not self._in_place():
            return Told(REMOVED)
        call = FrameworkCall(name=context.tool_name, arguments=given, **_who(context))
        answer = drive(self._guard.before(call))
        if isinstance(answer, AskPerson):
            answer = drive(self._guard.asked(answer, partial(_asked, context)))
        if isinstance(answer, Told):
            return answer
        if answer.arguments and not given:
            return Told(NO_PLACE)
        given.clear()
        given.update(answer.arguments)
        return answer

    def _after(self, context: ToolCallHookContext) -> str | None:
        """INVARIANT: whatever goes wrong here, a text takes the place of the result."""
        try:
            text = self._shown(context)
        except Exception as error:  # noqa: BLE001 - as above
            text = reply_texts.withheld_unseen(text_of(error))
        if text is not None:
            context.tool_result = text
            _put_back(context, text)
        return text

    def _shown(self, context: ToolCallHookContext) -> str | None:
        with self._lock:
            _, answer = self._open.pop(id(context.tool_input), (None, None))
        result = context.tool_result
        match answer:
            case Told(text):
                return text
            case RunWith():
                is_error = isinstance(result, str) and result.startswith(_FAILED)
                ending = drive(self._guard.after(answer, result, is_error=is_error))
                if isinstance(ending, Told):
                    return ending.text
                return None if ending.value is result else plain_text(ending.value)
            case None:
                # Another hook stopped it before we were asked, or nobody judged it.
                stopped = result == f"Tool execution blocked by hook. Tool: {context.tool_name}"
                return None if stopped else reply_texts.withheld_unseen("nobody judged this call")
            case _:
                assert_never(answer)

    def _model(self, context: LLMCallHookContext) -> None:
        """Before a model is asked. INVARIANT: its tools are ours to judge, and our hooks are in place."""
        if not self._in_place():
            raise UnguardableError(REMOVED, _SOURCE)
        for tool in [*_elsewhere(context.llm), *_others(context.agent)]:
            try:
                self._guard.must_guard(tool)
            except FrameworkLimitError as error:
                raise UnguardableError(str(error), _SOURCE) from error
        # An agent that is started by itself has no inputs. What it is told stands in its first messages alone.
        if self._guard.messages and context.agent is not None and context.task is None and not context.iterations:
            self._refusing(partial(self._said, context))

    def _said(self, context: LLMCallHookContext) -> None:
        who = _who(context)
        for message in _new(context.messages):
            content = message["content"]
            if isinstance(content, list):
                for part in content:
                    if isinstance(part, dict) and "text" in part:
                        part["text"] = self._judged(part["text"], who, 0)
            else:
                message["content"] = self._judged(content, who, 0)

    def _input(self, context: Any) -> Any:
        """What the user gives a crew or a flow."""
        if not self._guard.messages or not context.payload:
            return None
        return self._refusing(lambda: self._judged(context.payload, _who(context), MAX_DEPTH))

    @staticmethod
    def _refusing(judge: Callable[[], Any]) -> Any:
        """INVARIANT: whatever goes wrong here, HookAborted leaves, and ends the run."""
        try:
            return judge()
        except HookAborted:
            raise
        except Exception as error:
            raise HookAborted(reply_texts.refusal(undecidable(error)), _SOURCE) from error

    def _judged(self, value: Any, who: dict[str, str], depth: int) -> Any:
        if isinstance(value, str) and value:
            answer = drive(self._guard.message(value, **who))
            if isinstance(answer, Told):
                raise HookAborted(answer.text, _SOURCE)
            return answer
        if isinstance(value, dict | list) and depth <= 0:
            raise ValueError("the inputs are nested too deep")
        if isinstance(value, dict):
            return {key: self._judged(item, who, depth - 1) for key, item in value.items()}
        return [self._judged(item, who, depth - 1) for item in value] if isinstance(value, list) else value

    def _in_place(self) -> bool:
        """Anybody may empty CrewAI's lists. Half of the guard is none."""
        return all(hook in get_hooks(point) for point, hook in self._points.items())


def _who(context: Any) -> dict[str, str]:
    """The crew, and the role of the agent."""
    crew, agent = context.crew, context.agent
    return {
        "session": "" if crew is None else str(crew.id),
        "agent": str(getattr(agent, "role", None) or "").strip(),
    }


def _new(messages: list[Any]) -> list[Any]:
    """What the user said since the agent last spoke."""
    found: list[Any] = []
    for message in messages:
        found = [*found, message] if message["role"] == "user" else found if message["role"] == "system" else []
    return found


def _asked(context: ToolCallHookContext, question: AskPerson) -> PersonsAnswer:
    """The person at the terminal. One question at a time, and in plain letters: the agent wrote what is shown."""
    shown = (
        f"{_letters(question.question)[1:-1]} {_letters(context.tool_name)[1:-1]} {_letters(question.then.arguments)}"
    )
    try:
        with _terminal:
            said = context.request_human_input(shown, f"Type {YES} to let it run:")
    except (EOFError, OSError, RuntimeError, ValueError) as error:
        return Deny(f"nobody could be asked: {text_of(error)}")
    return Approved(FACTS.name) if said.strip().lower() == YES else Deny("")


def _letters(value: Any) -> str:
    """As JSON in one line of ASCII: no text can move the cursor, or look like another question."""
    return _encode(value).decode().encode("ascii", "backslashreplace").decode()


def _put_back(context: ToolCallHookContext, text: str) -> None:
    """CrewAI keeps results with the agent besides, and may take one of them for the agent's answer."""
    for kept in getattr(context.agent, "tools_results", None) or ():
        same_call = kept.get("tool_args") is context.tool_input or not (kept.get("tool_args") or context.tool_input)
        if same_call and kept.get("tool_name") == context.tool_name:
            kept["result"] = text


def _elsewhere(llm: Any) -> list[str]:
    """Tools that a model's provider runs."""
    given = list(getattr(llm, "builtin_tools", None) or ())
    more = getattr(llm, "additional_params", None)
    given += list((more.get("tools") if isinstance(more, dict) else None) or ())
    return [str(one.get("name") or one.get("type")) if isinstance(one, dict) else str(one) for one in given]


def _others(agent: Any) -> list[str]:
    """Agents of other programs, to which this one may hand work. Those that may call it are none."""
    given = getattr(agent, "a2a", None) or ()
    given = given if isinstance(given, list | tuple) else [given]
    return [A2A for one in given if type(one).__name__ != "A2AServerConfig"]
