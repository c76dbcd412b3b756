"""What holds for Google ADK alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("google.adk.runners", reason="run by scripts/frameworks")

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.code_executors import UnsafeLocalCodeExecutor
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import AgentTool, FunctionTool, google_search
from google.adk.workflow import START, Workflow
from google.genai import types
from pydantic import BaseModel

from interpose import Confirm, Deny, Engine, FrameworkLimitError, RefusedError, Transform, create_interceptor_registry
from interpose.core.types import Allow
from interpose.frameworks.google_adk import PAYLOAD, guard
from tests.frameworks.drivers.google_adk import ScriptedModel, responses
from tests.frameworks.interceptors import HIDDEN, SECRET, Saying, engine_of, hiding

pytestmark = pytest.mark.filterwarnings("default")

ASKS = "adk_request_confirmation"


def calling(name: str, **arguments: Any) -> ScriptedModel:
    """A model that calls one tool, then is done."""
    return ScriptedModel(model="scripted", calls=[types.FunctionCall(id="c1", name=name, args=arguments)], given=[])


def returned(model: ScriptedModel) -> str:
    """What the model was given for its call."""
    return str([one.response for _name, one in responses(model.given[-1])])


class Talk:
    """A conversation with an agent. It may go on with another guard."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self.sessions = InMemorySessionService()
        self.sessions.create_session_sync(app_name="x", user_id="u", session_id="s")

    def runner(self, *plugins: Any) -> Runner:
        root = {"agent": self.agent} if isinstance(self.agent, LlmAgent) else {"node": self.agent}
        return Runner(app_name="x", session_service=self.sessions, plugins=list(plugins), **root)

    def say(self, *plugins: Any, parts: list[types.Part] | None = None, **options: Any) -> list[Any]:
        message = types.Content(role="user", parts=parts or [types.Part(text="go")])

        async def run() -> list[Any]:
            events = self.runner(*plugins).run_async(user_id="u", session_id="s", new_message=message, **options)
            return [event async for event in events]

        return asyncio.run(run())

    def answer(self, events: list[Any], *plugins: Any, confirmed: bool) -> list[Any]:
        asked = [call for event in events for call in event.get_function_calls() if call.name == ASKS]
        return self.say(
            *plugins,
            parts=[
                types.Part(
                    function_response=types.FunctionResponse(id=one.id, name=ASKS, response={"confirmed": confirmed})
                )
                for one in asked
            ],
        )


class Ran(list[str]):
    """The texts with which the tool ran."""

    def note(self, text: str) -> str:
        """Take a note."""
        self.append(text)
        return f"noted {text}"


def no_poison() -> Any:
    return engine_of(before=Saying(lambda call: Deny("poison") if call.arguments["text"] == "poison" else Allow()))


def changing_and_asking() -> Engine:
    registry = create_interceptor_registry()
    change = Saying(lambda call: Transform(call.with_arguments({"text": "safe"})))
    registry.add(id="change", name="tool.before", priority=2, interceptor=change)
    registry.add(id="ask", name="tool.before", priority=1, interceptor=Saying(lambda _call: Confirm("Really?")))
    return Engine(registry)


class Meddling(BasePlugin):
    """Another plugin, which changes every call."""

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
        tool_args["text"] = "poison"


class Answering(BasePlugin):
    """Another plugin, with results of its own."""

    async def after_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any, result: Any) -> Any:
        return {"result": SECRET}


def meddle(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
    args["text"] = "poison"


@pytest.mark.parametrize(
    ("note", "plugins", "callback"),
    [("a later plugin", [Meddling("meddling")], None), ("a callback of the agent", [], meddle)],
)
def test_what_others_make_of_a_call_is_judged(note: str, plugins: list[Any], callback: Any) -> None:
    ran, model = Ran(), calling("note", text="milk")
    agent = LlmAgent(name="a", model=model, tools=[ran.note], before_tool_callback=callback)
    Talk(agent).say(guard(engine=no_poison()), *plugins)
    assert "poison" in returned(model)
    assert ran == []


def test_what_is_nested_is_compared_too() -> None:
    ran: list[Any] = []

    def keep(order: dict[str, Any]) -> str:
        """Keep it."""
        ran.append(order)
        return "kept"

    def meddle_inside(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["order"]["items"].append("poison")

    deny = Saying(lambda call: Deny("poison") if "poison" in call.arguments["order"]["items"] else Allow())
    model = calling("keep", order={"items": ["milk"]})
    agent = LlmAgent(name="a", model=model, tools=[keep], before_tool_callback=meddle_inside)
    Talk(agent).say(guard(engine=engine_of(before=deny)))
    assert "poison" in returned(model)
    assert ran == []


def test_an_agent_that_was_guarded_works_without_a_guard_too() -> None:
    ran, model = Ran(), calling("note", text="milk")
    agent = LlmAgent(name="a", model=model, tools=[ran.note], before_tool_callback=lambda **_call: None)
    for _ in range(3):
        Talk(agent).say(guard(engine=no_poison()))
    Talk(agent).say()
    assert len(agent.canonical_before_tool_callbacks) <= 2, "ours is never there twice"
    assert ran == ["milk"] * 4


def test_a_guard_behind_another_plugin_raises() -> None:
    model = calling("note", text="milk")
    talk = Talk(LlmAgent(name="a", model=model, tools=[Ran().note]))
    with pytest.raises(RuntimeError, match="must be the first plugin"):
        talk.say(Answering("answering"), guard(engine=engine_of()))
    assert model.given == []


def test_live_sessions_raise() -> None:
    talk = Talk(LlmAgent(name="a", model=calling("note", text="milk"), tools=[Ran().note]))

    async def live() -> None:
        queue = LiveRequestQueue()
        runner = talk.runner(guard(engine=engine_of()))
        async for _event in runner.run_live(user_id="u", session_id="s", live_request_queue=queue):
            pass

    with pytest.raises(RuntimeError, match="live session"):
        asyncio.run(live())


async def yielding(text: str) -> AsyncIterator[str]:
    """Yield it."""
    yield text


def inner(**options: Any) -> AgentTool:
    return AgentTool(LlmAgent(name="inner", model=calling("note", text="milk"), tools=[Ran().note]), **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("UnsafeLocalCodeExecutor", {"code_executor": UnsafeLocalCodeExecutor()}),
        ("google_search", {"tools": [google_search]}),
        ("inner", {"tools": [inner(include_plugins=False)]}),
        ("yielding", {"tools": [FunctionTool(yielding)]}),
    ],
)
def test_what_runs_unseen_raises_unless_it_is_accepted(name: str, options: dict[str, Any]) -> None:
    model = calling("nothing")
    model.model = "gemini-2.5-flash"  # a model that has tools of its own
    talk = Talk(LlmAgent(name="a", model=model, **options))
    with pytest.raises(RuntimeError, match=f"unguarded=.*{name}") as raised:
        talk.say(guard(engine=engine_of()))
    assert isinstance(raised.value.__cause__, FrameworkLimitError)
    assert model.given == []
    talk.say(guard(engine=engine_of(), unguarded=[name]))
    assert model.given


def test_an_agent_in_a_tool_is_judged_under_its_name_in_the_outer_session() -> None:
    heard = Saying(lambda call: Deny("not the inner one") if call.context.agent_id == "inner" else Allow())
    tool = inner()
    outer = calling("inner", request="take a note")
    Talk(LlmAgent(name="outer", model=outer, tools=[tool])).say(guard(engine=engine_of(before=heard)))
    who = [(call.name, call.context.agent_id, call.context.session_id) for call in heard.heard]
    assert who == [("inner", "outer", "s"), ("note", "inner", "s")]
    assert "not the inner one" in returned(tool.agent.model)


def test_an_agent_for_a_single_turn_is_judged_under_its_name() -> None:
    ran, model = Ran(), calling("note", text="milk")
    heard = Saying(lambda call: Deny("not the inner one") if call.context.agent_id == "inner" else Allow())
    inner_agent = LlmAgent(name="inner", mode="single_turn", model=model, tools=[ran.note])
    outer = LlmAgent(name="outer", model=calling("inner", request="take a note"), sub_agents=[inner_agent])
    Talk(outer).say(guard(engine=engine_of(before=heard)))
    who = [(call.name, call.context.agent_id, call.context.session_id) for call in heard.heard]
    assert who == [("inner", "outer", "s"), ("note", "inner", "s")]
    assert ran == []
    assert "not the inner one" in returned(model)


def test_a_question_outlives_its_guard() -> None:
    """Everything that a yes needs is in the session: the process may be another one."""
    ran, model = Ran(), calling("note", text="milk")
    talk = Talk(LlmAgent(name="a", model=model, tools=[ran.note]))
    paused = talk.say(guard(engine=changing_and_asking()))
    asked = next(call for event in paused for call in event.get_function_calls() if call.name == ASKS)
    assert asked.args["toolConfirmation"]["hint"] == "Interpose asks: Really?"
    assert asked.args["toolConfirmation"]["payload"][PAYLOAD]["arguments"] == {"text": "safe"}
    assert len(model.given) == 1, "the run waits"
    talk.answer(paused, guard(engine=changing_and_asking()), confirmed=True)
    assert ran == ["safe"]
    assert "noted safe" in returned(model)


def test_a_yes_to_the_models_arguments_is_none_to_others() -> None:
    """The tool's own confirmation shows what the model wrote."""
    ran, model = Ran(), calling("note", text="milk")
    talk = Talk(LlmAgent(name="a", model=model, tools=[FunctionTool(ran.note, require_confirmation=True)]))
    paused = talk.say(guard(engine=engine_of()))
    talk.answer(paused, guard(engine=changing_and_asking()), confirmed=True)
    assert ran == []
    assert "not what the person was shown" in returned(model)


def test_a_no_stays_a_no_if_the_rule_is_gone_meanwhile() -> None:
    ran, model = Ran(), calling("note", text="milk")
    talk = Talk(LlmAgent(name="a", model=model, tools=[ran.note]))
    paused = talk.say(guard(engine=changing_and_asking()))
    talk.answer(paused, guard(engine=engine_of()), confirmed=False)
    assert ran == []
    assert "said no" in returned(model)


def test_what_is_denied_meanwhile_does_not_run_after_a_yes() -> None:
    ran, model = Ran(), calling("note", text="milk")
    talk = Talk(LlmAgent(name="a", model=model, tools=[ran.note]))
    paused = talk.say(guard(engine=changing_and_asking()))
    talk.answer(paused, guard(engine=engine_of(before=Saying(lambda _call: Deny("not any more")))), confirmed=True)
    assert ran == []
    assert "not any more" in returned(model)


class Found(BaseModel):
    """A result that is an object."""

    text: str


@pytest.mark.parametrize(
    ("note", "result"),
    [
        ("an object", Found(text=SECRET)),
        ("objects in a list", [Found(text=SECRET)]),
        ("a dictionary", {"status": "ok", "found": {"text": SECRET}}),
        ("a text", SECRET),
    ],
)
def test_all_that_a_tool_returns_is_judged(note: str, result: Any) -> None:
    def find() -> Any:
        """Find it."""
        return result

    model = calling("find")
    Talk(LlmAgent(name="a", model=model, tools=[find])).say(guard(engine=engine_of(after=Saying(hiding))))
    assert SECRET not in returned(model)
    assert HIDDEN in returned(model)


def test_an_argument_can_be_taken_away() -> None:
    ran: list[Any] = []

    def keep(text: str, where: str = "here") -> str:
        """Keep it."""
        ran.append((text, where))
        return "kept"

    take = Saying(lambda call: Transform(call.with_arguments({"text": call.arguments["text"]})))
    agent = LlmAgent(name="a", model=calling("keep", text="milk", where="/etc"), tools=[keep])
    Talk(agent).say(guard(engine=engine_of(before=take)))
    assert ran == [("milk", "here")]


def test_a_result_can_become_nothing() -> None:
    from msgspec.structs import replace

    model = calling("note", text=SECRET)
    nothing = Saying(lambda outcome: Transform(replace(outcome, result=None)))
    Talk(LlmAgent(name="a", model=model, tools=[Ran().note])).say(guard(engine=engine_of(after=nothing)))
    assert SECRET not in returned(model)


def test_a_refused_message_is_not_in_the_session() -> None:
    model = calling("note", text="milk")
    talk = Talk(LlmAgent(name="a", model=model, tools=[Ran().note]))
    with pytest.raises(RuntimeError, match="not this") as raised:
        talk.say(guard(engine=engine_of(message=Saying(lambda _message: Deny("not this")))))
    assert isinstance(raised.value.__cause__, RefusedError)
    assert model.given == []
    talk.say(guard(engine=engine_of()), parts=[types.Part(text="something else")])
    assert [part.text for part in model.given[0][0].parts or []] == ["something else"]


@pytest.mark.parametrize(
    ("note", "says", "told"),
    [
        ("denied", Deny("not in a workflow"), "not in a workflow"),
        ("nobody to ask", Confirm("Really?"), "nobody can be asked in a tool node"),
    ],
)
def test_tools_that_are_nodes_of_a_workflow_are_judged(note: str, says: Any, told: str) -> None:
    ran = Ran()

    def give(node_input: Any) -> dict[str, str]:
        return {"text": "milk"}

    flow = Workflow(name="w", edges=[(START, give), (give, FunctionTool(ran.note))])
    events = Talk(flow).say(guard(engine=engine_of(before=Saying(lambda _call: says))))
    assert ran == []
    assert told in str([event.output for event in events])


class LiveModel(ScriptedModel):
    """A model that could be connected to."""

    def connect(self, llm_request: Any) -> Any:
        raise AssertionError("nobody connects")


def test_code_execution_through_a_live_connection_raises() -> None:
    model = LiveModel(model="gemini-2.5-flash", calls=[], given=[])
    talk = Talk(LlmAgent(name="a", model=model, tools=[Ran().note]))
    with pytest.raises(RuntimeError, match="live session"):
        talk.say(guard(engine=engine_of()), run_config=RunConfig(support_cfc=True))
