"""What holds for the OpenAI Agents SDK alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

pytest.importorskip("agents.run", reason="run by scripts/frameworks")

from agents import Agent, Handoff, Runner, ToolOutputText, WebSearchTool, function_tool, handoff
from agents.testing import ScriptedModel, assistant_message, function_call
from pydantic import BaseModel

from interpose import Confirm, Deny, FrameworkLimitError
from interpose.core.types import Allow
from interpose.frameworks.openai_agents import guard, question
from tests.frameworks.interceptors import HIDDEN, SECRET, Saying, engine_of, hiding

pytestmark = pytest.mark.filterwarnings("default")


def noting(ran: list[str]) -> Any:
    def note(text: str) -> str:
        ran.append(text)
        return f"noted {text}"

    return function_tool(note)


def calling(*calls: tuple[str, dict[str, Any]]) -> ScriptedModel:
    made = [function_call(name, arguments, call_id=f"c{number}") for number, (name, arguments) in enumerate(calls)]
    return ScriptedModel([made, [assistant_message("done")]])


def outputs(model: ScriptedModel) -> list[str]:
    return [str(item["output"]) for item in model.calls[-1].input if item.get("type") == "function_call_output"]


def test_a_tool_of_the_provider_raises_unless_it_is_accepted() -> None:
    agent = Agent(name="main", tools=[WebSearchTool()])
    with pytest.raises(FrameworkLimitError, match="web_search"):
        guard(agent, engine=engine_of())
    assert guard(agent, engine=engine_of(), unguarded=["web_search"]).tools


def test_an_agent_as_a_tool_must_be_guarded_first() -> None:
    ran: list[str] = []
    helper = Agent(name="helper", tools=[noting(ran)], model=calling(("note", {"text": "milk"})))
    with pytest.raises(FrameworkLimitError, match="helper"):
        guard(Agent(name="main", tools=[helper.as_tool("help", "Helps.")]), engine=engine_of())
    heard = Saying(lambda call: Deny("no") if call.context.agent_id == "helper" else Allow())
    engine = engine_of(before=heard)
    main = Agent(
        name="main", tools=[guard(helper, engine=engine).as_tool("help", "Helps.")],
        model=calling(("help", {"input": "take a note"})),
    )  # fmt: skip
    asyncio.run(Runner.run(guard(main, engine=engine), "go"))
    assert [(call.original_name, call.context.agent_id) for call in heard.heard] == [
        ("help", "main"),
        ("note", "helper"),
    ]
    assert len({call.context.session_id for call in heard.heard}) == 1
    assert ran == []


def test_a_tool_that_is_added_later_is_guarded_too() -> None:
    ran: list[str] = []
    model = calling(("note", {"text": "milk"}))
    agent = guard(Agent(name="main", model=model), engine=engine_of(before=Saying(lambda _call: Deny("not now"))))
    agent.tools.append(noting(ran))
    asyncio.run(Runner.run(agent, "go"))
    assert ran == []
    assert "not now" in outputs(model)[0]


def test_a_handoff_leads_to_a_guarded_agent() -> None:
    ran: list[str] = []
    helper = Agent(name="helper", tools=[noting(ran)], model=calling(("note", {"text": "milk"})))
    main = Agent(name="main", handoffs=[handoff(helper)])
    helper.handoffs = [main]  # they may hand over to each other
    main.model = ScriptedModel([[function_call("transfer_to_helper", {}, call_id="h")]])
    agent = guard(main, engine=engine_of(before=Saying(lambda _call: Deny("not now"))))
    assert isinstance(agent.handoffs[0], Handoff)
    result = asyncio.run(Runner.run(agent, "go"))
    assert result.last_agent.name == "helper"
    assert ran == []


def test_a_yes_for_every_call_answers_no_question_about_one() -> None:
    ran: list[str] = []
    model = ScriptedModel(
        [
            [function_call("note", {"text": "milk"}, call_id="c1")],
            [function_call("note", {"text": "poison"}, call_id="c2")],
            [assistant_message("done")],
        ]
    )
    agent = guard(
        Agent(name="main", tools=[noting(ran)], model=model),
        engine=engine_of(before=Saying(lambda _call: Confirm("Really?"))),
    )

    async def run() -> Any:
        paused = await Runner.run(agent, "go")
        state = paused.to_state()
        assert "Really?" in question(paused.interruptions[0])
        state.approve(paused.interruptions[0], always_approve=True)
        return await Runner.run(agent, state)

    asyncio.run(run())
    assert ran == []
    assert all("every call of this tool" in text for text in outputs(model))


@pytest.mark.parametrize(
    ("note", "arguments"),
    [("no JSON", "{"), ("no object", "[]"), ("two of one name", '{"text": "milk", "text": "poison"}')],
)
def test_arguments_that_nobody_can_read_do_not_run(note: str, arguments: str) -> None:
    ran: list[str] = []
    model = ScriptedModel([[function_call("note", arguments, call_id="c1")], [assistant_message("done")]])
    agent = guard(Agent(name="main", tools=[noting(ran)], model=model), engine=engine_of())

    async def run() -> None:
        paused = await Runner.run(agent, "go")
        if paused.interruptions:  # the SDK asks about what it can't read
            state = paused.to_state()
            state.approve(paused.interruptions[0])
            await Runner.run(agent, state)

    asyncio.run(run())
    assert ran == []
    assert "no JSON object" in outputs(model)[0]


def test_a_developers_own_approval_stays() -> None:
    ran: list[str] = []
    tool = noting(ran)
    tool.needs_approval = True
    model = calling(("note", {"text": "milk"}))
    agent = guard(Agent(name="main", tools=[tool], model=model), engine=engine_of())
    paused = asyncio.run(Runner.run(agent, "go"))
    assert len(paused.interruptions) == 1
    assert question(paused.interruptions[0]) == ""
    assert ran == []


class Opaque:
    """An object that guards can't look into."""

    def __repr__(self) -> str:
        return f"it holds {SECRET}"


@pytest.mark.parametrize(
    "gave", [CompletedProcess([], 0, SECRET), Opaque(), [Opaque()], {"a": Opaque()}, Path(SECRET)],
    ids=["process", "object", "list", "dict", "path"],
)  # fmt: skip
def test_an_object_is_judged_as_the_text_that_the_model_reads(gave: Any) -> None:
    def look() -> Any:
        return gave

    model = calling(("look", {}))
    agent = Agent(name="main", tools=[function_tool(look)], model=model)
    asyncio.run(Runner.run(guard(agent, engine=engine_of(after=Saying(hiding))), "go"))
    assert SECRET not in outputs(model)[0]
    assert HIDDEN in outputs(model)[0]


def test_parts_of_the_sdk_stay_parts() -> None:
    def look() -> Any:
        return [ToolOutputText(text=SECRET), {"type": "text", "text": "and more"}]

    model = calling(("look", {}))
    agent = Agent(name="main", tools=[function_tool(look)], model=model)
    asyncio.run(Runner.run(guard(agent, engine=engine_of(after=Saying(hiding))), "go"))
    [found] = [item["output"] for item in model.calls[-1].input if item.get("type") == "function_call_output"]
    assert [part["text"] for part in found] == [HIDDEN, "and more"]


class Why(BaseModel):
    """With what a model hands over."""

    text: str


@pytest.mark.parametrize("refused", [True, False])
def test_a_handoff_that_runs_a_function_is_a_call(refused: bool) -> None:
    ran: list[str] = []
    heard = Saying(lambda call: Deny("not now") if refused else Allow())
    helper = Agent(name="helper", model=ScriptedModel([[assistant_message("done")]]))
    over = handoff(helper, on_handoff=lambda _context, why: ran.append(why.text), input_type=Why)
    main = Agent(name="main", handoffs=[over])
    main.model = ScriptedModel([[function_call("transfer_to_helper", {"text": "milk"}, call_id="h")]])
    guarded = guard(main, engine=engine_of(before=heard))
    if refused:
        with pytest.raises(PermissionError, match="not now"):
            asyncio.run(Runner.run(guarded, "go"))
    else:
        assert asyncio.run(Runner.run(guarded, "go")).final_output == "done"
    assert ran == ([] if refused else ["milk"])
    (call,) = heard.heard
    assert (call.name, call.arguments, call.context.agent_id) == ("transfer_to_helper", {"text": "milk"}, "main")


def test_a_handoff_that_only_hands_over_is_no_call() -> None:
    helper = Agent(name="helper", model=ScriptedModel([[assistant_message("done")]]))
    main = Agent(name="main", handoffs=[handoff(helper)])
    main.model = ScriptedModel([[function_call("transfer_to_helper", {}, call_id="h")]])
    engine = engine_of(before=Saying(lambda _call: Deny("not now")))
    assert asyncio.run(Runner.run(guard(main, engine=engine), "go")).final_output == "done"


@pytest.mark.parametrize("by", [lambda helper: helper, handoff], ids=["agent", "handoff"])
def test_an_agent_that_is_added_later_is_guarded_too(by: Any) -> None:
    ran: list[str] = []
    helper = Agent(name="helper", tools=[noting(ran)], model=calling(("note", {"text": "milk"})))
    main = Agent(name="main", model=ScriptedModel([[function_call("transfer_to_helper", {}, call_id="h")]]))
    guarded = guard(main, engine=engine_of(before=Saying(lambda _call: Deny("not now"))))
    guarded.handoffs.append(by(helper))
    assert asyncio.run(Runner.run(guarded.clone(), "go")).final_output == "done"
    assert ran == []
