"""What holds for LlamaIndex alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("llama_index.core.agent.workflow", reason="run by scripts/frameworks")

from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent, FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import (
    Context,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
    Workflow,
    step,
)
from msgspec.structs import replace

from interpose import Confirm, Deny, Engine, FrameworkLimitError, create_interceptor_registry
from interpose.core.types import Allow, Transform
from interpose.frameworks.llama_index import guard
from tests.frameworks.drivers.llama_index import ScriptedModel, called, results
from tests.frameworks.interceptors import HIDDEN, REASON, SECRET, Saying, engine_of, hiding

pytestmark = pytest.mark.filterwarnings("default")

REFUSING = Saying(lambda _call: Deny(REASON))
ASKING = Saying(lambda _call: Confirm("Really?"))


class Notes:
    """A tool, and what it was called with."""

    def __init__(self, name: str = "note") -> None:
        self.ran: list[str] = []
        self.tool = FunctionTool.from_defaults(self._note, name=name, description="Take a note.")

    def _note(self, text: str) -> str:
        self.ran.append(text)
        return f"noted {text}"


def agent_of(model: Any, *tools: Any, **options: Any) -> Any:
    return FunctionAgent(name="main", llm=model, tools=list(tools), **options)


async def answered(handler: Any, *answers: Callable[[Any], HumanResponseEvent]) -> tuple[list[Any], Any]:
    """A run whose questions are answered so, one after another: the questions and the result."""
    questions: list[Any] = []
    left = iter(answers)
    async for event in handler.stream_events():
        if isinstance(event, InputRequiredEvent):
            questions.append(event)
            handler.ctx.send_event(next(left)(event))
    return questions, await handler


def saying(text: Any) -> Callable[[Any], HumanResponseEvent]:
    return lambda event: HumanResponseEvent(response=text, question_id=event.question_id)


def run(agent: Any, *answers: Callable[[Any], HumanResponseEvent], **options: Any) -> tuple[list[Any], Any]:
    async def play() -> tuple[list[Any], Any]:
        return await answered(agent.run(**{"user_msg": "go"} | options), *answers)

    return asyncio.run(play())


# what is guarded


class Retriever:
    """Finds tools when the agent runs."""

    def __init__(self, *tools: Any) -> None:
        self._tools = list(tools)

    async def aretrieve(self, _text: str) -> list[Any]:
        return list(self._tools)


def test_tools_that_are_found_or_added_later_are_guarded_too() -> None:
    notes = Notes()
    model = ScriptedModel(called("note", 0, text="milk"))
    agent = guard(agent_of(model), engine=engine_of(before=REFUSING))
    agent.__dict__["tool_retriever"] = Retriever(notes.tool)
    run(agent)
    assert REASON in results(model)["c0"]
    model = ScriptedModel(called("note", 0, text="milk"))
    agent = guard(agent_of(model), engine=engine_of(before=REFUSING))
    agent.tools = [notes.tool]
    run(agent)
    assert REASON in results(model)["c0"]
    assert notes.ran == []


def test_an_agent_is_guarded_in_place_and_once() -> None:
    heard = Saying(lambda _call: Allow())
    agent = agent_of(ScriptedModel(called("note", 0, text="milk")), Notes().tool)
    assert guard(agent, engine=engine_of(before=heard)) is agent
    assert isinstance(agent, FunctionAgent)
    guard(agent, engine=engine_of(before=heard))
    run(agent)
    assert len(heard.heard) == 1


def test_a_guarded_agent_in_a_workflow_that_is_not_guarded_raises() -> None:
    notes = Notes()
    agent = guard(agent_of(ScriptedModel(called("note", 0, text="milk")), notes.tool), engine=engine_of())
    with pytest.raises(FrameworkLimitError, match="guard the workflow"):
        run(AgentWorkflow([agent]))
    assert notes.ran == []


def test_a_handoff_can_be_refused() -> None:
    notes = Notes()
    helper = FunctionAgent(
        name="helper", description="Helps.", llm=ScriptedModel(called("note", 0, text="milk")), tools=[notes.tool]
    )
    first = ScriptedModel(called("handoff", 1, to_agent="helper", reason="It can."))
    main = FunctionAgent(name="main", description="Leads.", llm=first)
    heard = Saying(lambda call: Deny(REASON) if call.name == "handoff" else Allow())
    run(guard(AgentWorkflow([main, helper], root_agent="main"), engine=engine_of(before=heard)))
    assert [(call.name, call.context.agent_id) for call in heard.heard] == [("handoff", "main")]
    assert REASON in results(first)["c1"]
    assert notes.ran == []


def test_an_agent_that_a_tool_runs_acts_in_the_same_session() -> None:
    heard = Saying(lambda _call: Allow())
    engine = engine_of(before=heard)
    notes = Notes()
    helper = guard(agent_of(ScriptedModel(called("note", 0, text="milk")), notes.tool), engine=engine, agent="helper")

    async def delegate() -> str:
        """Hand it over."""
        return str(await helper.run(user_msg="go"))

    run(guard(agent_of(ScriptedModel(called("delegate", 1)), delegate), engine=engine))
    assert [(call.name, call.context.agent_id) for call in heard.heard] == [("delegate", "main"), ("note", "helper")]
    assert len({call.context.session_id for call in heard.heard}) == 1
    assert notes.ran == ["milk"]


def test_a_conversation_that_goes_on_is_one_session() -> None:
    heard = Saying(lambda _call: Allow())
    agent = guard(agent_of(ScriptedModel(), Notes().tool), engine=engine_of(message=heard))

    async def talk() -> None:
        context = Context(agent)
        await agent.run(user_msg="one", ctx=context)
        await agent.run(user_msg="two", ctx=context)
        await agent.run(user_msg="three")

    asyncio.run(talk())
    one, two, three = [message.context.session_id for message in heard.heard]
    assert one == two
    assert three not in (one, "")


class Own(Workflow):
    """A workflow of one's own, which calls a tool."""

    def __init__(self, tool: Any) -> None:
        super().__init__()
        self.tool = tool

    @step
    async def go(self, ctx: Context, ev: StartEvent) -> StopEvent:
        return StopEvent(result=(await self.tool.acall(text="milk")).content)


def test_a_workflow_of_ones_own_has_guarded_tools() -> None:
    notes = Notes()
    with pytest.raises(FrameworkLimitError, match="guard the tools"):
        guard(Own(notes.tool), engine=engine_of())
    refused = guard(notes.tool, engine=engine_of(before=REFUSING))
    assert REASON in run(Own(refused))[1]
    assert REASON in refused.call("milk").content
    assert notes.ran == []
    assert guard(notes.tool, engine=engine_of()).call("milk").content == "noted milk"
    with pytest.raises(TypeError, match="2 values"):
        refused.call("milk", "oats")
    with pytest.raises(FrameworkLimitError, match="no way to ask here"):
        guard(notes.tool, engine=engine_of(before=ASKING)).call(text="oats")
    assert notes.ran == ["milk"]


def test_what_is_nothing_of_that_kind_raises() -> None:
    with pytest.raises(TypeError, match="42"):
        guard(42, engine=engine_of())


# other agents


def test_an_agent_that_reasons_in_text_is_refused_in_text() -> None:
    notes = Notes()
    given: list[str] = []

    def answer(messages: Any, **_options: Any) -> ChatMessage:
        given.append(str(messages[-1].content))
        act = 'Thought: I take a note.\nAction: note\nAction Input: {"text": "milk"}'
        end = "Thought: I can answer without using any more tools.\nAnswer: done"
        return ChatMessage(role="assistant", content=act if len(given) == 1 else end)

    llm = MockFunctionCallingLLM(response_generator=answer)
    agent = ReActAgent(name="main", llm=llm, tools=[notes.tool])
    run(guard(agent, engine=engine_of(before=REFUSING)))
    assert notes.ran == []
    assert REASON in given[-1]


def test_code_is_judged_and_what_it_calls_raises_unless_it_is_accepted() -> None:
    ran: list[str] = []

    async def execute(code: str) -> str:
        ran.append(code)
        return "ran"

    def answer(messages: Any, **_options: Any) -> ChatMessage:
        code = "<execute>note('milk')</execute>"
        return ChatMessage(role="assistant", content="done" if REASON in str(messages[-1].content) else code)

    def coder(*tools: Any) -> Any:
        llm = MockFunctionCallingLLM(response_generator=answer)
        return CodeActAgent(code_execute_fn=execute, llm=llm, tools=list(tools))

    heard = Saying(lambda _call: Deny(REASON))
    run(guard(coder(), engine=engine_of(before=heard)))
    assert heard.heard[0].arguments["code"] == "note('milk')"
    with pytest.raises(FrameworkLimitError, match="note"):
        run(guard(coder(Notes().tool), engine=engine_of(before=heard)))
    run(guard(coder(Notes().tool), engine=engine_of(before=heard), unguarded=["note"]))
    assert ran == []


class WithProvider(ScriptedModel):
    """A model whose provider runs tools."""

    built_in_tools: list[dict[str, str]] | None = None


def test_a_tool_of_the_provider_raises_unless_it_is_accepted() -> None:
    def model() -> ScriptedModel:
        return WithProvider(built_in_tools=[{"type": "web_search"}])

    with pytest.raises(FrameworkLimitError, match="web_search"):
        run(guard(agent_of(model()), engine=engine_of()))
    with pytest.raises(FrameworkLimitError, match="web_search"):
        run(guard(AgentWorkflow([agent_of(model())]), engine=engine_of()))
    _, reply = run(guard(agent_of(model()), engine=engine_of(), unguarded=["web_search"]))
    assert str(reply) == "done"


# the context of a run


def with_context(tool: Any) -> Any:
    """LlamaIndex looks for the type itself, and does not find it in a text."""
    tool.__annotations__["ctx"] = Context
    return tool


def test_a_tool_gets_the_context_of_its_run_and_no_other() -> None:
    seen: list[Any] = []

    @with_context
    async def note(ctx: Context, text: str) -> str:
        """Take a note."""
        seen.append(ctx)
        return f"noted {text}"

    heard = Saying(lambda _call: Allow())
    model = ScriptedModel(called("note", 0, text="milk", ctx="mine"))
    run(guard(agent_of(model, note), engine=engine_of(before=heard)))
    assert isinstance(seen[0], Context)
    assert heard.heard[0].arguments == {"text": "milk"}
    assert results(model)["c0"] == "noted milk"


@with_context
async def asking(ctx: Context) -> str:
    """Ask a person something."""
    answer = await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(prefix="Your name?"))
    return f"they said {answer.response}"


@pytest.mark.parametrize("ours", [True, False])
def test_a_tool_that_asks_by_itself_still_does(ours: bool) -> None:
    model = ScriptedModel(called("asking", 0))
    no_errors = Saying(lambda outcome: Deny(REASON) if outcome.is_error else Allow())  # a pause is no error
    engine = engine_of(before=ASKING if ours else None, after=no_errors)
    first = [saying("yes")] if ours else []
    questions, _ = run(
        guard(agent_of(model, asking), engine=engine), *first, lambda _event: HumanResponseEvent(response="Kim")
    )
    assert [one.prefix for one in questions] == [*(["Interpose asks: Really?"] if ours else []), "Your name?"]
    assert results(model)["c0"] == "they said Kim"


# questions


@pytest.mark.parametrize(
    ("answer", "runs"), [("Yes", True), (" y\n", True), ("always", False), ("", False), (True, False), (None, False)]
)
def test_only_a_yes_is_a_yes(answer: Any, runs: bool) -> None:
    notes = Notes()
    model = ScriptedModel(called("note", 0, text="milk"))
    run(guard(agent_of(model, notes.tool), engine=engine_of(before=ASKING)), saying(answer))
    assert bool(notes.ran) is runs
    assert results(model)["c0"].startswith("noted" if runs else "A person was asked and said no")


def test_an_answer_to_another_question_is_none() -> None:
    notes = Notes()
    model = ScriptedModel(called("note", 0, text="milk"), called("note", 1, text="oats"))
    agent = guard(agent_of(model, notes.tool), engine=engine_of(before=ASKING))

    async def play() -> None:
        handler = agent.run(user_msg="go")
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response="yes"))
                handler.ctx.send_event(HumanResponseEvent(response="yes", question_id="another"))
                yes = event.tool_kwargs == {"text": "oats"}
                handler.ctx.send_event(saying("yes" if yes else "no")(event))
        await handler

    asyncio.run(play())
    assert notes.ran == ["oats"]


def test_a_call_that_changed_since_it_was_asked_about_is_asked_about_again() -> None:
    notes = Notes()
    texts = iter(["milk", "poison", "poison"])
    change = Saying(lambda call: Transform(call.with_arguments({"text": next(texts)})))
    registry = create_interceptor_registry()
    registry.add(id="changing", name="tool.before", priority=2, interceptor=change)
    registry.add(id="asking", name="tool.before", priority=1, interceptor=ASKING)
    model = ScriptedModel(called("note", 0, text="x"))
    questions, _ = run(guard(agent_of(model, notes.tool), engine=Engine(registry)), saying("yes"), saying("no"))
    assert [one.tool_kwargs["text"] for one in questions] == ["milk", "poison"]
    assert notes.ran == []


@pytest.mark.parametrize(
    ("note", "first", "then", "runs"),
    [
        ("the answer", "mine", "", True),
        ("an answer to another question, then the answer", "another", "mine", True),
        ("an answer to no question, then a no", "", "no", False),
    ],
)
def test_a_run_that_was_kept_takes_no_answer_to_another_question(note: str, first: str, then: str, runs: bool) -> None:
    """LlamaIndex forgets what a kept run waits for, and gives it any answer."""
    notes = Notes()
    model = ScriptedModel(called("note", 0, text="milk"))
    agent = guard(agent_of(model, notes.tool), engine=engine_of(before=ASKING))

    async def play() -> None:
        begun = agent.run(user_msg="go")
        async for event in begun.stream_events():
            if isinstance(event, InputRequiredEvent):
                break
        kept = begun.ctx.to_dict()
        await begun.cancel_run()
        context = Context.from_dict(agent, kept)
        resumed = agent.run(ctx=context)
        await resumed.ctx.store.set("memory", ChatMemoryBuffer.from_defaults())  # LlamaIndex does not keep it
        name = event.question_id if first == "mine" else first
        resumed.ctx.send_event(HumanResponseEvent(response="yes", **({"question_id": name} if name else {})))
        await answered(resumed, *[saying("no" if then == "no" else "yes")] * 3)

    asyncio.run(play())
    assert bool(notes.ran) is runs


# results


def test_a_refused_tool_is_not_the_answer_of_the_run() -> None:
    notes = Notes()
    notes.tool.metadata.return_direct = True
    _, reply = run(
        guard(
            agent_of(ScriptedModel(called("note", 0, text="milk")), notes.tool),
            engine=engine_of(before=REFUSING),
        )
    )
    assert str(reply) == "done"


def test_nobody_sees_what_is_hidden_also_not_in_events_and_raw_outputs() -> None:
    def note() -> dict[str, str]:
        """Take a note."""
        return {"file": SECRET}

    model = ScriptedModel(called("note", 0))
    agent = guard(agent_of(model, note), engine=engine_of(after=Saying(hiding)))

    async def play() -> list[Any]:
        handler = agent.run(user_msg="go")
        events = [event async for event in handler.stream_events()]
        return [*events, await handler]

    assert SECRET not in repr(asyncio.run(play()))
    assert HIDDEN in results(model)["c0"]


def test_parts_that_are_no_text_are_judged_too() -> None:
    def note() -> list[Any]:
        """Take a note."""
        return [TextBlock(text=f"see {SECRET}"), ImageBlock(url=f"https://example.com/{SECRET}.png")]

    model = ScriptedModel(called("note", 0))
    run(guard(agent_of(model, note), engine=engine_of(after=Saying(hiding))))
    [message] = [one for one in model.given[-1] if one.role == "tool"]
    assert message.blocks[0].text == f"see {HIDDEN}"
    assert isinstance(message.blocks[1], ImageBlock)
    assert SECRET not in repr(message)


# messages


def test_only_what_the_user_said_since_the_agent_spoke_is_judged() -> None:
    heard = Saying(lambda message: Transform(replace(message, text=message.text.replace("two", "2"))))
    history = [
        ChatMessage(role="user", content="one"),
        ChatMessage(role="assistant", content="yes?"),
        ChatMessage(role="user", content="two"),
    ]
    model = ScriptedModel()
    run(guard(agent_of(model), engine=engine_of(message=heard)), user_msg=None, chat_history=history)
    assert [message.text for message in heard.heard] == ["two"]
    assert [one.content for one in model.given[0]] == ["one", "yes?", "2"]
    assert history[-1].content == "two", "the caller's own message is not touched"
