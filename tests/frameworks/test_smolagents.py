"""What holds for smolagents alone: above all, everything once more for agents that write code."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("smolagents.agents", reason="run by scripts/frameworks")

from smolagents import CodeAgent, LocalPythonExecutor, LogLevel, Tool, ToolCallingAgent, tool
from smolagents.local_python_executor import CodeOutput, PythonExecutor

from interpose import Deny, FrameworkLimitError
from interpose.core.types import Allow, Transform
from interpose.frameworks.smolagents import guard
from tests.frameworks.behaviours import BEHAVIOURS, Behaviour, Play
from tests.frameworks.drivers import smolagents as driver
from tests.frameworks.drivers.smolagents import Noting, ScriptedModel, called, told
from tests.frameworks.interceptors import HIDDEN, SECRET, Saying, engine_of, hiding
from tests.frameworks.known import KNOWN
from tests.frameworks.playing import Mode, NoteTool

CANNOT = next(one.cannot for one in KNOWN if one.name == "smolagents")
QUIET: Any = {"verbosity_level": LogLevel.OFF, "max_steps": 2}


class CodeAgents:
    """The driver, with agents that write code."""

    modes = driver.modes
    guard: Any = staticmethod(driver.guard)
    play: Any = staticmethod(driver.play_code)


OTHERWISE = {"the-server-goes-while-a-tool-runs", "a-sub-agent-is-known-by-its-own-name"}
"""These reckon with one call, and code is one more. They are told below."""


@pytest.mark.parametrize("mode", driver.modes)
@pytest.mark.parametrize(
    "behaviour", [one for one in BEHAVIOURS if one.name not in {*CANNOT, *OTHERWISE}], ids=lambda one: one.name
)
def test_code_agents(behaviour: Behaviour, mode: Mode, tmp_path: Path) -> None:
    behaviour.check(Play(CodeAgents(), mode, tmp_path))


def coding(code: str, *tools: Any, engine: Any, **options: Any) -> tuple[Any, str]:
    """An agent that ran this code, and what its model saw of it."""
    agent = CodeAgent(list(tools), ScriptedModel([code, 'final_answer("done")']), **QUIET, **options)
    assert guard(agent, engine=engine) is agent
    agent.run("go")
    return agent, told(agent)


def calling(agent_kind: Any, calls: list[Any] | str, *tools: Any, **options: Any) -> Any:
    done = [called("final_answer", {"answer": "done"}, "f1")]
    return agent_kind(list(tools), ScriptedModel([calls, done]), **QUIET, **options)


def only(name: str, says: Any) -> Saying:
    """Speaks of one tool alone."""
    return Saying(lambda call: says(call) if call.name == name else Allow())


def test_code_is_a_call_and_does_not_run_if_it_is_refused() -> None:
    note = NoteTool()
    heard = only(
        "python_interpreter", lambda call: Deny("not this code") if "note" in call.arguments["code"] else Allow()
    )
    _, seen = coding("note('milk')", Noting(note), engine=engine_of(before=heard))
    assert note.ran == []
    assert "not this code" in seen
    assert heard.heard[0].arguments == {"code": "note('milk')"}


def test_other_code_can_run_instead() -> None:
    note = NoteTool()
    safer = only(
        "python_interpreter",
        lambda call: Transform(call.with_arguments({"code": call.arguments["code"].replace("milk", "bread")})),
    )
    coding("note('milk')", Noting(note), engine=engine_of(before=safer))
    assert note.ran == ["bread"]


def test_a_sub_agent_that_writes_code_is_known_by_its_own_name() -> None:
    note = NoteTool()
    heard = Saying(
        lambda call: Deny("not you") if call.name == "note" and call.context.agent_id == "helper" else Allow()
    )
    helper = CodeAgent(
        [Noting(note)], ScriptedModel(["note('milk')", 'final_answer("x")']), name="helper", description="d", **QUIET
    )
    agent = CodeAgent(
        [], ScriptedModel(["print(helper('go'))", 'final_answer("x")']), name="main", managed_agents=[helper], **QUIET
    )
    messages = Saying(lambda _message: Allow())
    guard(agent, engine=engine_of(before=heard, message=messages)).run("buy milk")
    assert note.ran == []
    assert "not you" in told(helper)
    assert [(call.name, call.context.agent_id) for call in heard.heard][:4] == [
        ("python_interpreter", "main"), ("helper", "main"), ("python_interpreter", "helper"), ("note", "helper"),
    ]  # fmt: skip
    assert len({call.context.session_id for call in heard.heard}) == 1
    assert [message.text for message in messages.heard] == ["buy milk"], "what an agent is told is no message of a user"


def test_handing_over_can_be_refused() -> None:
    helper = calling(ToolCallingAgent, [], name="helper", description="d")
    agent = calling(ToolCallingAgent, [called("helper", {"task": "go"}, "h1")], managed_agents=[helper])
    guard(agent, engine=engine_of(before=only("helper", lambda _call: Deny("do it yourself")))).run("go")
    assert helper.model.given == []
    assert "do it yourself" in told(agent)


FAILING = f"print('{SECRET[:4]}' + '{SECRET[4:]}')\nprint(1 / 0)"


def test_what_code_printed_before_it_failed_is_judged() -> None:
    """smolagents shows the model what the executor remembers, whatever became of the code."""
    _, seen = coding(FAILING, engine=engine_of(after=Saying(hiding)))
    assert SECRET not in seen
    assert HIDDEN in seen


def test_what_code_printed_before_it_failed_is_withheld() -> None:
    _, seen = coding(FAILING, engine=engine_of(after=Saying(lambda _outcome: Deny("not for you"))))
    assert SECRET not in seen
    assert "not for you" in seen


def test_what_code_printed_before_it_failed_is_seen_if_nobody_objects() -> None:
    _, seen = coding(FAILING, engine=engine_of())
    assert SECRET in seen
    assert "ZeroDivisionError" in seen


HOSTILE = [
    ("an object that can say anything", "class Sly:\n    def __str__(self):\n        return 'x'\nnote(Sly())"),
    ("inside a list", "class Sly:\n    pass\nnote([Sly()])"),
    ("a function", "note(lambda: 'x')"),
    ("an iterator", "note(map(str, [1]))"),
    ("too many", "note('a', 'b')"),
    ("a value twice", "note('a', text='b')"),
]


@pytest.mark.parametrize(("note", "code"), HOSTILE, ids=[note for note, _ in HOSTILE])
def test_what_is_no_data_is_refused(note: str, code: str) -> None:
    tool = NoteTool()
    _, seen = coding(code, Noting(tool), engine=engine_of())
    assert tool.ran == []
    assert "nobody can judge" in seen


@pytest.mark.parametrize(
    "code",
    [
        "note.forward('milk')",
        "getattr(note, 'forward')('milk')",
        "note.interpose_tool('milk')",
        "helper.run('go')",
        "helper.tools['note']('milk')",
        "setattr(note, '_guard', None)\nnote('milk')",
        "note.__closure__[0].cell_contents.interpose_tool('milk')",
    ],
)
def test_code_cannot_go_around_the_guard(code: str) -> None:
    tool = NoteTool()
    helper = calling(CodeAgent, "note('milk')", Noting(tool), name="helper", description="d")
    heard = Saying(lambda call: Allow() if call.name == "python_interpreter" else Deny("no"))
    coding(code, Noting(tool), engine=engine_of(before=heard), managed_agents=[helper])
    assert tool.ran == []
    assert helper.model.given == []


@pytest.mark.parametrize("code", ["note('bad')", "note(text='bad')", "note({'text': 'bad'})"])
def test_a_call_is_judged_as_the_tool_understands_it(code: str) -> None:
    tool = NoteTool()
    heard = only("note", lambda call: Deny("no") if call.arguments == {"text": "bad"} else Allow())
    coding(code, Noting(tool), engine=engine_of(before=heard))
    assert tool.ran == []


def test_an_object_of_a_library_reaches_the_tool_as_it_is() -> None:
    got: list[Any] = []

    @tool
    def keep(value: Any, others: list) -> str:
        """Keep it.

        Args:
            value: what to keep
            others: more
        """
        got.extend([value, others])
        return "kept"

    heard = only("keep", lambda _call: Allow())
    code = "import datetime\nday = datetime.date(2026, 1, 2)\nkeep(day, [day, {'a': (1, 2)}])"
    coding(code, keep, engine=engine_of(before=heard))
    from datetime import date

    assert got == [date(2026, 1, 2), [date(2026, 1, 2), {"a": (1, 2)}]]
    assert heard.heard[-2].arguments["value"] == "2026-01-02"


def test_a_variable_is_judged_as_what_it_stands_for() -> None:
    note = NoteTool()
    agent = calling(ToolCallingAgent, [called("note", {"text": "mine"}, "c1")], Noting(note))
    guard(agent, engine=engine_of(before=Saying(lambda call: Deny("no") if "bad" in repr(call.arguments) else Allow())))
    agent.run("go", additional_args={"mine": "bad", "bad": "worse"})
    assert note.ran == []


def test_a_tool_that_is_added_later_stands_behind_the_guard() -> None:
    for kind, first in ((ToolCallingAgent, [called("note", {"text": "milk"}, "c1")]), (CodeAgent, "note('milk')")):
        note = NoteTool()
        agent = calling(kind, first)
        guard(agent, engine=engine_of(before=only("note", lambda _call: Deny("no"))))
        agent.tools["note"] = Noting(note)
        agent.run("go")
        assert note.ran == []


def test_an_executor_that_is_put_in_later_stands_behind_the_guard() -> None:
    note = NoteTool()
    agent = calling(CodeAgent, "note('milk')")
    guard(agent, engine=engine_of(before=only("note", lambda _call: Deny("no"))))
    agent.python_executor, agent.tools["note"] = LocalPythonExecutor([]), Noting(note)
    agent.run("go")
    assert note.ran == []


def test_a_final_answer_of_your_own_making_is_judged() -> None:
    class Sending(Tool):
        name = "final_answer"
        description = "Send it."
        inputs: ClassVar[Any] = {"answer": {"type": "string", "description": "the answer"}}
        output_type = "string"
        sent: ClassVar[list[str]] = []

        def forward(self, answer: str) -> str:
            self.sent.append(answer)
            return answer

    agent = calling(ToolCallingAgent, [called("final_answer", {"answer": "x"}, "f1")], Sending())
    guard(agent, engine=engine_of(before=only("final_answer", lambda _call: Deny("no")))).run("go")
    assert Sending.sent == []


class Elsewhere(PythonExecutor):
    """Stands for an executor that runs code on another machine."""

    def __init__(self) -> None:
        self.tools: dict[str, Any] = {}

    def send_tools(self, tools: dict[str, Any]) -> None:
        self.tools = tools

    def send_variables(self, variables: dict[str, Any]) -> None:
        pass

    def __call__(self, code_action: str) -> CodeOutput:
        return CodeOutput("done", "", is_final_answer=True)


def test_tools_that_are_sent_elsewhere_raise_unless_they_are_accepted() -> None:
    note, place = Noting(NoteTool()), Elsewhere()
    agent = calling(CodeAgent, "note('milk')", note, executor=place)
    guard(agent, engine=engine_of())
    with pytest.raises(FrameworkLimitError, match="'note'"):
        agent.run("go")
    agent = calling(CodeAgent, "note('milk')", note, executor=place)
    guard(agent, engine=engine_of(), unguarded=["note"]).run("go")
    assert place.tools["note"] is note


def test_functions_that_are_no_tools_raise_unless_they_are_accepted() -> None:
    functions: Any = {"executor_kwargs": {"additional_functions": {"shout": str.upper}}}
    agent = calling(CodeAgent, "shout('x')", **functions)
    with pytest.raises(FrameworkLimitError, match="'shout'"):
        guard(agent, engine=engine_of()).run("go")
    agent = calling(CodeAgent, "shout('x')", **functions)
    guard(agent, engine=engine_of(), unguarded=["shout"]).run("go")


def test_what_a_tool_raises_takes_its_usual_way() -> None:
    def fails(text: str) -> str:
        raise LookupError("no paper")

    agent = calling(ToolCallingAgent, [called("note", {"text": "milk"}, "c1")], Noting(NoteTool(fails)))
    guard(agent, engine=engine_of()).run("go")
    assert "no paper" in str(agent.memory.steps[1].error)


def test_an_agent_keeps_its_name_and_its_guard() -> None:
    agent = calling(ToolCallingAgent, [called("note", {"text": "milk"}, "c1")], Noting(NoteTool()))
    guard(agent, engine=engine_of(before=only("note", lambda _call: Deny("first"))))
    with pytest.raises(ValueError, match="has a guard already"):
        guard(agent, engine=engine_of())
    assert type(agent).__name__ == "ToolCallingAgent"
    assert isinstance(agent, ToolCallingAgent)
    agent.run("go")
    assert "first" in told(agent)


class Page:
    """What a library gives: an object with a long text."""

    def __str__(self) -> str:
        return "x" * 20_000 + SECRET


class Paging(Tool):
    name = "page"
    description = "A page."
    inputs: ClassVar[Any] = {}
    output_type = "any"

    def forward(self) -> Any:
        return Page()


def test_all_of_an_objects_text_is_judged() -> None:
    agent = calling(ToolCallingAgent, [called("page", {}, "c1")], Paging())
    guard(agent, engine=engine_of(after=Saying(hiding))).run("go")
    assert SECRET not in told(agent)


class Looking(Tool):
    name = "look"
    description = "Look at data."
    inputs: ClassVar[Any] = {"data": {"type": "any", "description": "data"}}
    output_type = "string"
    seen: ClassVar[list[Any]] = []

    def forward(self, data: Any) -> str:
        self.seen.append(data)
        return "seen"


def test_keys_that_look_alike_hide_nothing() -> None:
    Looking.seen.clear()
    _, seen = coding("look({1: 'rm -rf /', '1': 'ls'})", Looking(), engine=engine_of())
    assert Looking.seen == []
    assert "look alike" in seen
