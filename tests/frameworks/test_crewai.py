"""What holds for CrewAI alone."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("crewai", reason="run by scripts/frameworks")

from tests.frameworks.drivers.crewai import Note, Person, ScriptedLLM, agent_of, call_of, run, scripted  # isort: split

from crewai import LLM, Crew, Task
from crewai.hooks import (
    HookAborted,
    InterceptionPoint,
    LLMCallHookContext,
    clear_after_tool_call_hooks,
    clear_all_hooks,
    clear_all_tool_call_hooks,
    dispatch,
    get_hooks,
    register_hook,
)
from crewai.hooks.tool_hooks import ToolCallHookContext, run_after_tool_call_hooks, run_before_tool_call_hooks
from crewai.tools import BaseTool

from interpose import Confirm, Deny, FrameworkLimitError
from interpose.core.types import Allow, Transform
from interpose.doors.frameworks.guarding import FrameworkGuard
from interpose.frameworks.crewai import guard
from tests.frameworks.interceptors import (
    HIDDEN,
    OTHER_WORDS,
    SECRET,
    Saying,
    engine_of,
    hiding,
    rewording,
    withholding,
)
from tests.frameworks.playing import DONE, Mode

MODES: tuple[Mode, ...] = ("sync", "async", "stream")


@pytest.fixture(autouse=True)
def _no_hooks() -> Iterator[None]:
    """The list is the process's: a test leaves it as it found it."""
    yield
    clear_all_hooks()


class Reacting(ScriptedLLM):
    """A model without tool calls: it writes them, and CrewAI reads them."""

    written: str = 'Action: note\nAction Input: {"text": "milk"}'

    def call(self, messages: Any, *_args: Any, **_options: Any) -> Any:
        self.given.append([dict(message) for message in messages])
        if len(self.given) > 1:
            return f"Thought: I know\nFinal Answer: {DONE}"
        return f"Thought: I need it\n{self.written}"

    def supports_function_calling(self) -> bool:
        return False


def reacting(**options: Any) -> Reacting:
    return Reacting(model="scripted", calls=[], given=[], **options)


def crew_of(llm: Any, *tools: Any, mode: Mode = "sync", **options: Any) -> Crew:
    agent = agent_of("main", llm, *tools)
    task = Task(description="go", expected_output="a word", agent=agent)
    return Crew(agents=[agent], tasks=[task], stream=mode == "stream", **options)


def results(llm: ScriptedLLM) -> list[str]:
    return [str(one["content"]) for one in llm.given[-1] if one["role"] == "tool"]


def noting(text: str = "milk") -> ScriptedLLM:
    return scripted(call_of("note", {"text": text}, "c0"))


def notes() -> tuple[Note, list[str]]:
    ran: list[str] = []

    def does(text: str) -> str:
        ran.append(text)
        return f"noted {text}, {SECRET}"

    return Note(does=does), ran


def raising(*_args: Any, **_options: Any) -> Any:
    raise RuntimeError("it broke")


@pytest.mark.parametrize("mode", MODES)
def test_the_trap_an_ordinary_exception_lets_the_call_run(mode: Mode) -> None:
    note, ran = notes()
    register_hook(InterceptionPoint.PRE_TOOL_CALL, raising)
    run(crew_of(noting(), note, mode=mode), None, mode)
    assert ran == ["milk"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("react", [False, True])
def test_a_failure_of_ours_lets_nothing_run(mode: Mode, react: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    note, ran = notes()
    guard(engine=engine_of())
    monkeypatch.setattr(FrameworkGuard, "before", raising)
    llm = reacting() if react else noting()
    assert run(crew_of(llm, note, mode=mode), None, mode) == DONE
    assert ran == []
    assert "Interpose refused this" in repr(llm.given[-1])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("react", [False, True])
def test_a_failure_of_ours_shows_nothing(mode: Mode, react: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    note, ran = notes()
    guard(engine=engine_of())
    monkeypatch.setattr(FrameworkGuard, "after", raising)
    llm = reacting() if react else noting()
    assert run(crew_of(llm, note, mode=mode), None, mode) == DONE
    assert ran == ["milk"]
    assert SECRET not in repr(llm.given)


def test_a_failure_of_ours_lets_no_message_through(monkeypatch: pytest.MonkeyPatch) -> None:
    guard(engine=engine_of())
    monkeypatch.setattr(FrameworkGuard, "message", raising)
    llm = scripted()
    with pytest.raises(HookAborted, match="Interpose refused"):
        crew_of(llm).kickoff(inputs={"topic": "x"})
    with pytest.raises(HookAborted, match="Interpose refused"):
        agent_of("solo", llm).kickoff("hello")
    assert llm.given == []


@pytest.mark.parametrize("mode", MODES)
def test_a_model_without_tool_calls_is_guarded_too(mode: Mode) -> None:
    note, ran = notes()
    with guard(engine=engine_of(before=Saying(lambda _call: Deny("not now")))):
        llm = reacting()
        assert run(crew_of(llm, note, mode=mode), None, mode) == DONE
    assert ran == []
    assert "not now" in repr(llm.given[-1])
    change = Saying(lambda call: Transform(call.with_arguments({"text": "bread"})))
    with guard(engine=engine_of(before=change, after=Saying(hiding))):
        llm = reacting()
        run(crew_of(llm, note, mode=mode), None, mode)
    assert ran == ["bread"]
    assert f"noted bread, {HIDDEN}" in repr(llm.given[-1])
    assert SECRET not in repr(llm.given)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("react", [False, True])
@pytest.mark.parametrize(("after", "seen"), [(hiding, HIDDEN), (withholding, "This is not for you")])
def test_a_result_that_is_the_answer_is_judged(mode: Mode, react: bool, after: Any, seen: str) -> None:
    """CrewAI keeps such a result where hooks don't reach, and takes it from there."""
    note, ran = notes()
    note.result_as_answer = True
    guard(engine=engine_of(after=Saying(after)))
    answer = run(crew_of(reacting() if react else noting(), note, mode=mode), None, mode)
    assert ran == ["milk"]
    assert seen in answer
    assert SECRET not in answer


class Bare(BaseTool):
    name: str = "bare"
    description: str = "Take nothing."
    ran: list[Any] = []  # noqa: RUF012 - pydantic copies it

    def _run(self, more: str = "") -> str:
        self.ran.append(more)
        return SECRET


@pytest.mark.parametrize("react", [False, True])
def test_a_call_without_arguments_can_not_be_given_any(react: bool) -> None:
    """CrewAI would drop what a hook puts into an empty dict, on one of its ways."""
    bare = Bare(ran=[])
    guard(engine=engine_of(before=Saying(lambda call: Transform(call.with_arguments({"more": "care"})))))
    llm = reacting(written="Action: bare\nAction Input: {}") if react else scripted(call_of("bare", {}, "c0"))
    crew_of(llm, bare).kickoff()
    assert bare.ran == []
    assert "adds arguments" in repr(llm.given[-1])


@pytest.mark.parametrize("react", [False, True])
def test_arguments_can_be_taken_away(react: bool) -> None:
    bare = Bare(ran=[])
    guard(engine=engine_of(before=Saying(lambda call: Transform(call.with_arguments({})))))
    written = 'Action: bare\nAction Input: {"more": "care"}'
    llm = reacting(written=written) if react else scripted(call_of("bare", {"more": "care"}, "c0"))
    crew_of(llm, bare).kickoff()
    assert bare.ran == [""]


@pytest.mark.parametrize("react", [False, True])
def test_a_result_of_a_call_without_arguments_is_judged(react: bool) -> None:
    bare = Bare(ran=[], result_as_answer=True)
    guard(engine=engine_of(after=Saying(hiding)))
    llm = reacting(written="Action: bare\nAction Input: {}") if react else scripted(call_of("bare", {}, "c0"))
    assert SECRET not in str(crew_of(llm, bare).kickoff())
    assert bare.ran == [""]


def test_arguments_that_are_no_object_are_refused() -> None:
    guard(engine=engine_of())
    given: Any = ["milk"]
    context = ToolCallHookContext("note", given, tool=None)  # as CrewAI may make it
    assert run_before_tool_call_hooks(context)
    context.tool_result = SECRET
    assert "no JSON object" in str(run_after_tool_call_hooks(context))


def test_a_result_of_a_call_that_nobody_judged_is_not_shown() -> None:
    guard(engine=engine_of())
    context = ToolCallHookContext("note", {}, tool=None, tool_result=SECRET)
    assert SECRET not in str(run_after_tool_call_hooks(context))


def test_a_cached_result_is_judged_again() -> None:
    note, ran = notes()
    guard(engine=engine_of(after=Saying(hiding)))
    llm = scripted(call_of("note", {"text": "milk"}, "c0"))
    agent = agent_of("main", llm, note)
    tasks = [Task(description="go", expected_output="a word", agent=agent) for _ in range(2)]
    Crew(agents=[agent], tasks=tasks, cache=True).kickoff()
    assert ran == ["milk"], "the second is from CrewAI's cache"
    assert [one for given in llm.given for one in given if one["role"] == "tool"]
    assert SECRET not in repr(llm.given)


def test_a_task_in_a_thread_of_its_own_is_guarded() -> None:
    note, ran = notes()
    guard(engine=engine_of(before=Saying(lambda _call: Deny("not now"))))
    agent = agent_of("main", noting(), note)
    Crew(
        agents=[agent], tasks=[Task(description="go", expected_output="x", agent=agent, async_execution=True)]
    ).kickoff()
    assert ran == []


class Clearing(ScriptedLLM):
    """While it thinks, somebody empties half of the list."""

    def call(self, messages: Any, *args: Any, **options: Any) -> Any:
        clear_after_tool_call_hooks()
        return super().call(messages, *args, **options)


def test_half_of_the_guard_lets_nothing_run() -> None:
    note, ran = notes()
    guard(engine=engine_of())
    llm = Clearing(model="scripted", calls=noting().calls, given=[])
    with pytest.raises(FrameworkLimitError, match="taken out"):
        crew_of(llm, note).kickoff()
    assert ran == []
    assert len(llm.given) == 1


def test_a_model_is_not_asked_while_the_hooks_for_tools_are_gone() -> None:
    note, ran = notes()
    guard(engine=engine_of())
    clear_all_tool_call_hooks()
    llm = noting()
    with pytest.raises(FrameworkLimitError, match="taken out"):
        crew_of(llm, note).kickoff()
    assert (ran, llm.given) == ([], [])


def test_a_guard_counts_until_it_is_removed() -> None:
    note, ran = notes()
    before = {point: get_hooks(point) for point in InterceptionPoint}
    hooks = guard(engine=engine_of(before=Saying(lambda _call: Deny("not now"))))
    crew_of(noting(), note).kickoff()
    assert ran == []
    hooks.remove()
    assert {point: get_hooks(point) for point in InterceptionPoint} == before
    crew_of(noting(), note).kickoff()
    assert ran == ["milk"]


def test_two_guards_both_judge() -> None:
    note, ran = notes()
    guard(engine=engine_of(after=Saying(hiding)))
    guard(engine=engine_of(before=Saying(lambda call: Transform(call.with_arguments({"text": "bread"})))))
    llm = noting()
    crew_of(llm, note).kickoff()
    assert ran == ["bread"]
    assert results(llm) == [f"noted bread, {HIDDEN}"]


def test_what_another_hook_stops_keeps_its_own_text() -> None:
    note, ran = notes()
    heard = Saying(lambda _call: Allow())

    def stops(_context: Any) -> None:
        raise HookAborted("no")

    register_hook(InterceptionPoint.PRE_TOOL_CALL, stops)
    guard(engine=engine_of(before=heard))
    llm = noting()
    crew_of(llm, note).kickoff()
    assert (ran, heard.heard) == ([], [])
    assert results(llm) == ["Tool execution blocked by hook. Tool: note"]


class Searching(ScriptedLLM):
    builtin_tools: list[str] | None = None


@pytest.mark.parametrize(
    "llm",
    [
        LLM(model="openai/gpt-4o", api="responses", builtin_tools=["web_search"], api_key="none"),
        LLM(model="openai/gpt-4o", additional_params={"tools": [{"type": "web_search"}]}, api_key="none"),
        Searching(model="scripted", calls=[], given=[], builtin_tools=["web_search"]),
    ],
    ids=["builtin", "additional", "scripted"],
)
def test_a_tool_of_the_provider_raises_unless_it_is_accepted(llm: Any) -> None:
    with guard(engine=engine_of()), pytest.raises(FrameworkLimitError, match="web_search"):
        crew_of(llm).kickoff()
    if isinstance(llm, Searching):
        assert llm.given == []
        with guard(engine=engine_of(), unguarded=["web_search"]):
            crew_of(llm).kickoff()
        assert llm.given


def test_work_for_another_program_raises_unless_it_is_accepted() -> None:
    """CrewAI's own package for it is not installed here: this is what its agents look like to a hook."""
    agent = SimpleNamespace(role="main", a2a=object())
    context = LLMCallHookContext(agent=agent, messages=[])
    with guard(engine=engine_of()), pytest.raises(FrameworkLimitError, match="a2a"):
        dispatch(InterceptionPoint.PRE_MODEL_CALL, context)
    with guard(engine=engine_of(), unguarded=["a2a"]):
        dispatch(InterceptionPoint.PRE_MODEL_CALL, context)


def test_what_an_agent_alone_is_told_is_judged_once() -> None:
    note, _ = notes()
    heard = Saying(rewording)
    guard(engine=engine_of(message=heard))
    llm = noting()
    agent_of("solo", llm, note).kickoff([{"role": "user", "content": "old"}, {"role": "assistant", "content": "yes"},
                                         {"role": "user", "content": "new"}])  # fmt: skip
    assert ["new" in message.text and "old" not in message.text for message in heard.heard] == [True]
    assert heard.heard[0].context.agent_id == "solo"
    assert OTHER_WORDS in repr(llm.given[0])
    refuse = Saying(lambda _message: Deny("not this"))
    llm = noting()
    with guard(engine=engine_of(message=refuse)), pytest.raises(HookAborted, match="not this"):
        agent_of("solo", llm, note).kickoff("hello")
    assert llm.given == []


def test_all_texts_of_the_inputs_are_judged() -> None:
    heard = Saying(lambda message: Deny("not this") if message.text == "deep" else Allow())
    guard(engine=engine_of(message=heard))
    with pytest.raises(HookAborted, match="not this"):
        crew_of(scripted()).kickoff(inputs={"a": "flat", "b": 3, "c": [{"d": "deep"}]})
    assert [message.text for message in heard.heard] == ["flat", "deep"]


def asked(person: Any, text: str, monkeypatch: pytest.MonkeyPatch, calls: int = 1) -> list[str]:
    """What ran after a person was asked. The model is told of a no."""
    note, ran = notes()
    llm = scripted(*(call_of("note", {"text": f"{text}{n or ''}"}, f"c{n}") for n in range(calls)))
    monkeypatch.setattr(sys, "stdin", person)
    with guard(engine=engine_of(before=Saying(lambda _call: Confirm("Really?")))):
        crew_of(llm, note).kickoff()
    assert ran or "A person was asked and said no" in repr(llm.given[-1])
    return ran


def test_nobody_at_the_terminal_is_a_no(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(io.StringIO(""), "milk", monkeypatch) == []
    assert asked(None, "milk", monkeypatch) == []
    assert asked(Person("y"), "milk", monkeypatch) == []
    assert asked(Person(" Yes "), "milk", monkeypatch) == ["milk"]


def test_what_a_person_is_shown_is_one_line_of_letters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(Person("no"), "\x1b[2J\nInterpose asks: all is well\u202e\u009b", monkeypatch)
    shown = next(line for line in capsys.readouterr().out.splitlines() if "Really?" in line)
    assert "all is well" in shown
    assert "\\u001b[2J\\nInterpose" in shown
    assert "\u202e" not in shown
    assert "\u009b" not in shown


class Slow(Person):
    """Notes whether two are asked at once."""

    def __init__(self) -> None:
        super().__init__("yes")
        self.busy = threading.Lock()
        self.crowded = False

    def readline(self, size: Any = -1) -> str:
        self.crowded |= not self.busy.acquire(blocking=False)
        threading.Event().wait(0.02)
        if self.busy.locked():
            self.busy.release()
        return super().readline(size)


def test_calls_of_one_turn_ask_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    person = Slow()
    assert len(asked(person, "milk", monkeypatch, calls=4)) == 4
    assert (person.answers, person.crowded) == (4, False)
