"""What holds for Strands Agents alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("strands", reason="run by scripts/frameworks")

from msgspec.structs import replace
from pydantic import BaseModel
from strands import Agent, tool
from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent
from strands.interventions import InterventionHandler
from strands.interventions import Transform as StrandsTransform
from strands.middleware import ExecuteToolContext, ExecuteToolStage
from strands.multiagent import Swarm
from strands.plugins import Plugin
from strands.session.file_session_manager import FileSessionManager
from strands.tools.executors import SequentialToolExecutor

from interpose import Confirm, Deny, Engine, FrameworkLimitError, Transform, create_interceptor_registry
from interpose.core.types import Allow
from interpose.frameworks.strands import guard
from tests.frameworks.drivers.strands import ScriptedModel, results
from tests.frameworks.interceptors import HIDDEN, SECRET, Saying, engine_of, hiding

pytestmark = pytest.mark.filterwarnings("default")


class Ran(list[str]):
    """The texts with which the tool ran."""

    def __init__(self) -> None:
        super().__init__()

        def note(text: str) -> str:
            self.append(text)
            return f"noted {text}"

        self.tool = tool(note, name="note", description="Take a note.")


def calling(name: str, **arguments: Any) -> ScriptedModel:
    """A model that calls one tool, then is done."""
    return ScriptedModel(("c1", name, arguments))


def agent_of(model: ScriptedModel, *tools: Any, **options: Any) -> Agent:
    return Agent(model=model, tools=list(tools), callback_handler=None, **options)


def returned(model: ScriptedModel) -> str:
    return results(model.given[-1])["c1"]


def answers(result: Any, said: Any) -> Any:
    assert result.stop_reason == "interrupt"
    return [{"interruptResponse": {"interruptId": one.id, "response": said}} for one in result.interrupts]


def no_poison() -> Any:
    return engine_of(before=Saying(lambda call: Deny("poison") if call.arguments["text"] == "poison" else Allow()))


def asking() -> Any:
    return engine_of(before=Saying(lambda _call: Confirm("Really?")))


def changing_and_asking(text: str = "safe") -> Engine:
    registry = create_interceptor_registry()
    change = Saying(lambda call: Transform(call.with_arguments({"text": text})))
    registry.add(id="change", name="tool.before", priority=2, interceptor=change)
    registry.add(id="ask", name="tool.before", priority=1, interceptor=Saying(lambda _call: Confirm("Really?")))
    return Engine(registry)


class Wrapping(Plugin):
    """Another plugin, whose middleware changes every call."""

    name = "wrapping"

    def init_agent(self, agent: Agent) -> None:
        agent.add_middleware(ExecuteToolStage, self._wrap)

    async def _wrap(self, context: ExecuteToolContext, forward: Any) -> AsyncIterator[Any]:
        async for event in forward(context.replace(tool_use={**context.tool_use, "input": {"text": "poison"}})):
            yield event


def meddle(event: BeforeToolCallEvent) -> None:
    event.tool_use["input"] = {"text": "poison"}


class Meddling(InterventionHandler):
    """An intervention that changes every call."""

    name = "meddling"

    def before_tool_call(self, event: Any) -> Any:
        return StrandsTransform(apply=meddle)


@pytest.mark.parametrize(
    ("note", "options"),
    [
        ("an earlier middleware", {"plugins": [Wrapping(), "ours"]}),
        ("a later middleware", {"plugins": ["ours", Wrapping()]}),
        ("a hook", {"plugins": ["ours"], "hooks": [meddle]}),
        ("an intervention", {"plugins": ["ours"], "interventions": [Meddling()]}),
    ],
)
def test_what_others_make_of_a_call_is_judged(note: str, options: dict[str, Any]) -> None:
    ran, model = Ran(), calling("note", text="milk")
    plugins = [guard(engine=no_poison()) if one == "ours" else one for one in options["plugins"]]
    agent_of(model, ran.tool, **(options | {"plugins": plugins}))("go")
    assert "poison" in returned(model)
    assert ran == []


def test_a_call_that_is_made_again_is_judged_again() -> None:
    ran, model = Ran(), calling("note", text="milk")
    heard = Saying(lambda _call: Allow() if len(heard.heard) == 1 else Deny("not twice"))

    def again(event: AfterToolCallEvent) -> None:
        event.retry = len(heard.heard) == 1

    agent_of(model, ran.tool, plugins=[guard(engine=engine_of(before=heard))], hooks=[again])("go")
    assert ran == ["milk"]
    assert "not twice" in returned(model)


def test_an_agent_that_is_a_tool_needs_a_guard() -> None:
    inner = calling("note", text="milk")
    ran, outer = Ran(), calling("helper", input="take a note")
    helper = agent_of(inner, ran.tool, name="helper")
    for_outer = helper.as_tool(name="helper")
    with pytest.raises(FrameworkLimitError, match="helper"):
        agent_of(outer, for_outer, plugins=[guard(engine=engine_of())])("go")
    assert outer.given == []
    agent_of(outer, for_outer, plugins=[guard(engine=engine_of(), unguarded=["helper"])])("go")
    assert ran == ["milk"]


def test_an_agent_that_becomes_a_tool_meanwhile_does_not_run_unseen() -> None:
    ran, outer = Ran(), calling("helper", input="take a note")
    helper = agent_of(calling("note", text="milk"), ran.tool, name="helper")
    agent = agent_of(outer, plugins=[guard(engine=engine_of())])

    def add(event: BeforeToolCallEvent) -> None:
        event.selected_tool = helper.as_tool(name="helper")

    agent.add_hook(add)
    agent("go")
    assert "unguarded" in returned(outer)
    assert ran == []


def test_an_agent_that_a_tool_calls_acts_in_the_outer_session() -> None:
    heard, ran = Saying(lambda _call: Allow()), Ran()
    ours = guard(engine=engine_of(before=heard))
    helper = agent_of(calling("note", text="milk"), ran.tool, name="helper", plugins=[ours])

    @tool
    def delegate(task: str) -> str:
        """Hand it over."""
        return str(helper(task))

    outer = agent_of(calling("delegate", task="notes"), delegate, name="outer", plugins=[ours])
    outer("go")
    who = [(call.name, call.context.agent_id, call.context.session_id) for call in heard.heard]
    assert who == [("delegate", "outer", outer.session_id), ("note", "helper", outer.session_id)]
    assert ran == ["milk"]
    helper("and once more, alone")
    assert heard.heard[-1].context.session_id == helper.session_id


def test_one_agent_after_another_is_a_session_after_another() -> None:
    heard = Saying(lambda _call: Allow())
    ours = guard(engine=engine_of(before=heard))
    agents = [
        agent_of(calling("note", text="milk"), Ran().tool, plugins=[ours], tool_executor=SequentialToolExecutor())
        for _ in range(2)
    ]

    async def both() -> None:
        for agent in agents:
            async for _event in agent.stream_async("go"):
                pass

    asyncio.run(both())
    assert [call.context.session_id for call in heard.heard] == [agent.session_id for agent in agents]


def test_agents_of_a_swarm_are_judged_under_their_names() -> None:
    heard, ran = Saying(lambda call: Deny("not you") if call.context.agent_id == "second" else Allow()), Ran()
    ours = guard(engine=engine_of(before=heard), session="s")
    model = calling("note", text="milk")
    first = agent_of(calling("handoff_to_agent", agent_name="second", message="yours"), name="first", plugins=[ours])
    second = agent_of(model, ran.tool, name="second", plugins=[ours])
    Swarm([first, second], entry_point=first)("go")
    assert [(call.name, call.context.agent_id) for call in heard.heard] == [
        ("handoff_to_agent", "first"), ("note", "second"),
    ]  # fmt: skip
    assert "not you" in returned(model)
    assert ran == []


def test_a_question_outlives_its_guard(tmp_path: Path) -> None:
    """All that a yes needs is in the session: the process may be another one."""
    ran, model = Ran(), calling("note", text="milk")

    def agent() -> Agent:
        session = FileSessionManager(session_id="s", storage_dir=str(tmp_path))
        ours = guard(engine=changing_and_asking())
        return agent_of(model, ran.tool, agent_id="a", session_manager=session, plugins=[ours])

    paused = agent()("go")
    assert paused.interrupts[0].reason == {
        "question": "Interpose asks: Really?", "tool": "note", "arguments": {"text": "safe"}
    }  # fmt: skip
    agent()(answers(paused, "yes"))
    assert ran == ["safe"]


def test_a_yes_counts_for_what_was_shown() -> None:
    ran, model = Ran(), calling("note", text="milk")
    texts = iter(["safe", "other", "other"])
    registry = create_interceptor_registry()
    change = Saying(lambda call: Transform(call.with_arguments({"text": next(texts)})))
    registry.add(id="change", name="tool.before", priority=2, interceptor=change)
    registry.add(id="ask", name="tool.before", priority=1, interceptor=Saying(lambda _call: Confirm("Really?")))
    agent = agent_of(model, ran.tool, plugins=[guard(engine=Engine(registry))])
    again = agent(answers(agent("go"), "yes"))
    assert ran == []
    assert again.interrupts[-1].reason["arguments"] == {"text": "other"}
    agent([answers(again, "yes")[-1]])
    assert ran == ["other"]


@pytest.mark.parametrize("said", ["no", False, "yes, but", 1, {"approved": True}, ["yes"]])
def test_only_a_yes_is_one(said: Any) -> None:
    ran, model = Ran(), calling("note", text="milk")
    agent = agent_of(model, ran.tool, plugins=[guard(engine=asking())])
    agent(answers(agent("go"), said))
    assert ran == []
    assert "said no" in returned(model)


def test_a_yes_counts_once() -> None:
    ran, model = Ran(), calling("note", text="milk")
    agent = agent_of(model, ran.tool, plugins=[guard(engine=asking())])
    agent(answers(agent("go"), "y"))
    assert ran == ["milk"]
    assert agent("the same again").stop_reason == "interrupt"
    assert ran == ["milk"]


@pytest.mark.parametrize(
    ("note", "later", "said", "told"),
    [
        ("a no stays a no if the rule is gone", Allow(), "no", "said no"),
        ("what is denied meanwhile does not run after a yes", Deny("not any more"), "yes", "not any more"),
    ],
)
def test_rules_may_change_while_a_question_waits(note: str, later: Any, said: str, told: str) -> None:
    ran, model = Ran(), calling("note", text="milk")
    heard = Saying(lambda _call: Confirm("Really?") if len(heard.heard) == 1 else later)
    agent = agent_of(model, ran.tool, plugins=[guard(engine=engine_of(before=heard))])
    agent(answers(agent("go"), said))
    assert ran == []
    assert told in returned(model)


@tool
async def search(text: str) -> Any:
    """Search for it."""
    yield "looking"
    yield {"found": text}
    yield f"found {text}"


def streamed(agent: Agent) -> list[Any]:
    async def read() -> list[Any]:
        return [event async for event in agent.stream_async("go")]

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("note", "after", "pieces"),
    [
        ("nobody objects", lambda _outcome: Allow(), ["looking", {"found": SECRET}]),
        ("a part is hidden", hiding, ["looking", {"found": HIDDEN}]),
        ("all is replaced", lambda outcome: Transform(replace(outcome, result="nothing")), []),
        ("all is withheld", lambda _outcome: Deny("not for you"), []),
    ],
)
def test_what_a_tool_yields_is_judged_with_its_result(note: str, after: Any, pieces: list[Any]) -> None:
    model = calling("search", text=SECRET)
    events = streamed(agent_of(model, search, plugins=[guard(engine=engine_of(after=Saying(after)))]))
    seen = [event["tool_stream_event"]["data"] for event in events if "tool_stream_event" in event]
    assert [one for one in seen if one != f"found {SECRET}"][: len(pieces)] == pieces
    assert (SECRET in str(seen)) == (note == "nobody objects")
    assert (SECRET in returned(model)) == (note == "nobody objects")


def test_a_tool_that_yields_without_end_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpose.doors.frameworks.strands.MOST_PIECES", 1)
    heard = Saying(lambda _outcome: Allow())
    model = calling("search", text="milk")
    streamed(agent_of(model, search, plugins=[guard(engine=engine_of(after=heard))]))
    assert heard.heard[0].result["pieces"] == ["looking"]
    assert "found milk" in returned(model)


def test_all_that_a_tool_returns_is_judged_and_pictures_stay_pictures() -> None:
    picture = {"image": {"format": "png", "source": {"bytes": b"\x89PNG\xff"}}}

    @tool
    def look() -> Any:
        """Look at it."""
        return {"status": "success", "content": [{"text": SECRET}, {"json": {"deep": [SECRET]}}, picture]}

    model = calling("look")
    agent_of(model, look, plugins=[guard(engine=engine_of(after=Saying(hiding)))])("go")
    assert returned(model) == str([{"text": HIDDEN}, {"json": {"deep": [HIDDEN]}}, picture])


def test_what_hooks_are_told_of_a_failure_is_judged_too() -> None:
    told: list[Any] = []

    @tool
    def fail() -> str:
        """Fail."""
        raise LookupError(SECRET)

    def remember(event: AfterToolCallEvent) -> None:
        told.append((event.result, event.exception))

    ours = guard(engine=engine_of(after=Saying(hiding)))
    agent_of(calling("fail"), fail, plugins=[ours], hooks=[remember])("go")
    assert SECRET not in repr(told)
    assert HIDDEN in repr(told)


class Thing:
    """An argument that is no plain data."""

    def __str__(self) -> str:
        return "a thing"


def test_direct_calls_are_judged() -> None:
    ran: list[Any] = []

    @tool
    def take(text: str, thing: Any = None) -> str:
        """Take it."""
        ran.append((text, thing))
        return "taken"

    thing = Thing()
    agent = agent_of(calling("take"), take, plugins=[guard(engine=no_poison())])
    assert agent.tool.take(text="poison", thing=thing)["status"] == "error"
    assert ran == []
    assert agent.tool.take(text="milk", thing=thing)["status"] == "success"
    assert ran == [("milk", thing)]


def test_a_direct_call_that_would_be_asked_about_does_not_run() -> None:
    ran = Ran()
    agent = agent_of(calling("note"), ran.tool, plugins=[guard(engine=asking())])
    with pytest.raises(RuntimeError, match="interrupt"):
        agent.tool.note(text="milk")
    assert ran == []


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("web_search", {"anthropic_tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
        ("code_interpreter", {"params": {"tools": [{"type": "code_interpreter"}]}}),
    ],
)
def test_tools_of_the_models_provider_raise_unless_they_are_accepted(name: str, config: dict[str, Any]) -> None:
    model = ScriptedModel(("c1", "note", {"text": "milk"}), **config)
    with pytest.raises(FrameworkLimitError, match=name):
        agent_of(model, Ran().tool, plugins=[guard(engine=engine_of())])("go")
    assert model.given == []
    agent_of(model, Ran().tool, plugins=[guard(engine=engine_of(), unguarded=[name])])("go")


class Order(BaseModel):
    """What an agent is to fill in."""

    text: str


def test_structured_output_that_shows_no_message_raises() -> None:
    agent = agent_of(calling("note"), plugins=[guard(engine=engine_of())])
    with pytest.raises(FrameworkLimitError, match="structured_output_model"):
        agent.structured_output(Order, "go")


def test_structured_output_is_a_call_like_any_other() -> None:
    heard = Saying(lambda _call: Allow())
    agent = agent_of(calling("Order", text="milk"), plugins=[guard(engine=engine_of(before=heard))])
    assert agent("go", structured_output_model=Order).structured_output == Order(text="milk")
    assert [call.original_name for call in heard.heard] == ["Order"]


def test_agents_of_another_kind_raise() -> None:
    with pytest.raises(FrameworkLimitError, match="shows nobody"):
        guard(engine=engine_of()).init_agent(object())


def test_a_refused_message_is_not_in_the_conversation() -> None:
    model = calling("note", text="milk")
    refuse = Saying(lambda message: Deny("not this") if "bad" in message.text else Allow())
    agent = agent_of(model, Ran().tool, plugins=[guard(engine=engine_of(message=refuse))])
    assert "not this" in str(agent("something bad"))
    assert "bad" not in str(agent.messages)
    agent([{"text": "fine"}, {"text": "and bad"}])
    assert model.given == []


@pytest.mark.parametrize(("text", "runs", "seen"), [("poison", [], "poison"), (SECRET, [SECRET], HIDDEN)])
def test_tools_in_the_background_are_judged(text: str, runs: list[str], seen: str) -> None:
    ran, model = Ran(), calling("note", text=text, _background_execution=True)
    deny = Saying(lambda call: Deny("this is poison") if call.arguments["text"] == "poison" else Allow())
    ours = guard(engine=engine_of(before=deny, after=Saying(hiding)))
    agent_of(model, ran.tool, plugins=[ours], background_tasks=True)("go")
    assert "dispatched" in results(model.given[1])["c1"], "it is in the background"
    assert ran == runs
    delivered = str(model.given[-1][-1])
    assert seen in delivered
    assert SECRET not in delivered


def test_arguments_that_are_no_object_are_refused() -> None:
    ran, model = Ran(), ScriptedModel(("c1", "note", ["milk"]))
    agent_of(model, ran.tool, plugins=[guard(engine=engine_of())])("go")
    assert ran == []
    assert "no JSON object" in returned(model)


def test_what_a_failed_call_says_is_known_to_be_an_error() -> None:
    @tool
    def fail() -> str:
        """Fail."""
        raise LookupError("gone")

    heard = Saying(lambda _outcome: Allow())
    model = calling("fail")
    agent_of(model, fail, plugins=[guard(engine=engine_of(after=heard))])("go")
    assert heard.heard[0].is_error
    assert "gone" in returned(model)


def test_only_what_the_user_says_is_a_message() -> None:
    heard = Saying(lambda _message: Allow())
    agent = agent_of(ScriptedModel(), plugins=[guard(engine=engine_of(message=heard))])
    agent(
        [
            {"role": "user", "content": [{"text": "one"}]},
            {"role": "assistant", "content": [{"text": "two"}]},
            {"role": "user", "content": [{"text": "three"}]},
        ]
    )
    assert [message.text for message in heard.heard] == ["one", "three"]
