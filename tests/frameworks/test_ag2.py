"""What holds for AG2 alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("ag2.middleware", reason="run by scripts/frameworks")

from ag2 import Agent, Context, MemoryStream, TaskConfig, ToolResult, tool
from ag2.context import ConversationContext
from ag2.events import DataInput, ModelRequest, ToolCallEvent, ToolResultsEvent
from ag2.exceptions import HumanInputError
from ag2.middleware import BaseMiddleware, Middleware, approval_required
from ag2.response import PromptedSchema, response_schema
from ag2.testing import TestConfig
from ag2.tools import WebSearchTool
from ag2.tools.dynamic import dynamic_agent
from ag2.tools.final.client_tool import ClientTool
from ag2.tools.subagents import background_agent_tool

from interpose import Confirm, Deny, FrameworkLimitError
from interpose.core.types import Allow
from interpose.frameworks.ag2 import guard
from tests.frameworks.drivers.ag2 import ScriptedModel, called, results
from tests.frameworks.interceptors import HIDDEN, INSTEAD, REASON, SECRET, Saying, engine_of, hiding, replacing

pytestmark = pytest.mark.filterwarnings("default")


def noting(ran: list[str]) -> Any:
    @tool
    async def note(text: str) -> str:
        """Take a note."""
        ran.append(text)
        return f"noted {text}"

    return note


def asked(does: Any, engine: Any, *, message: str = "go", **options: Any) -> dict[str, str]:
    """What a model saw that calls this tool once, without arguments."""
    model = ScriptedModel(called(does.name, 0))
    agent = Agent("main", config=model, tools=[does], middleware=[guard(engine=engine)], **options)
    asyncio.run(agent.ask(message))
    return results(model)


def run(agent: Agent[Any], **options: Any) -> Any:
    return asyncio.run(agent.ask("go", **options))


# agents that nobody would see


def test_an_agent_as_a_tool_must_be_guarded_too() -> None:
    engine = engine_of()
    helper = Agent("helper", config=TestConfig("done"))
    for delegate in (helper.as_tool(description="Helps."), background_agent_tool(helper, description="Helps.")):
        main = Agent("main", config=TestConfig("done"), tools=[delegate], middleware=[guard(engine=engine)])
        with pytest.raises(FrameworkLimitError, match="helper"):
            run(main)
    helper = Agent("helper", config=TestConfig("done"), middleware=[guard(engine=engine)])
    for delegate in (helper.as_tool(description="Helps."), background_agent_tool(helper, description="Helps.")):
        main = Agent("main", config=TestConfig("done"), tools=[delegate], middleware=[guard(engine=engine)])
        assert run(main).body == "done"


def test_an_agent_as_a_tool_that_comes_with_a_turn_does_not_run() -> None:
    ran: list[str] = []
    helper = Agent("helper", config=ScriptedModel(called("note", 0, text="milk")), tools=[noting(ran)])
    model = ScriptedModel(called("help", 1, objective="go"))
    main = Agent("main", config=model, middleware=[guard(engine=engine_of())])
    run(main, tools=[helper.as_tool(description="Helps.", name="help")])
    assert ran == []
    assert "nobody can stand between" in results(model)["c1"]


def test_agents_that_the_framework_makes_itself_raise_unless_they_are_accepted() -> None:
    dynamic = dynamic_agent(available_tools=[noting([])], config=TestConfig("done"))
    for name, options in (("run_subtask", {"tasks": TaskConfig()}), (dynamic.name, {"tools": [dynamic]})):
        agent: Any = Agent("main", config=TestConfig("done"), middleware=[guard(engine=engine_of())], **options)
        with pytest.raises(FrameworkLimitError, match=name):
            run(agent)
        accepted = guard(engine=engine_of(), unguarded=[name])
        agent = Agent("main", config=TestConfig("done"), middleware=[accepted], **options)
        assert run(agent).body == "done"


def test_what_is_no_agent_raises() -> None:
    context = ConversationContext(stream=MemoryStream())
    with pytest.raises(FrameworkLimitError, match="LiveAgent"):
        guard(engine=engine_of())(ModelRequest([]), context)


# tools that nobody would see


def test_a_tool_of_the_provider_raises_unless_it_is_accepted() -> None:
    agent = Agent("main", config=TestConfig("done"), middleware=[guard(engine=engine_of())])
    with pytest.raises(FrameworkLimitError, match="web_search"):
        run(agent, tools=[WebSearchTool()])
    accepted = guard(engine=engine_of(), unguarded=["web_search"])
    agent = Agent("main", config=TestConfig("done"), tools=[WebSearchTool()], middleware=[accepted])
    assert run(agent).body == "done"


def test_a_tool_that_the_client_runs_is_refused_unless_it_is_accepted() -> None:
    """Its call is judged in any case. What comes of it, nobody sees."""
    client = ClientTool({"function": {"name": "note", "parameters": {"type": "object", "properties": {}}}})
    assert "nobody can stand between" in asked(client, engine_of())["c0"]
    refusing = engine_of(before=Saying(lambda _call: Deny(REASON)))
    for engine, handed_over in ((engine_of(), True), (refusing, False)):
        model = ScriptedModel(called("note", 0))
        agent = Agent("main", config=model, middleware=[guard(engine=engine, unguarded=["note"])])
        reply = run(agent, tools=[client])
        assert bool(reply.response.tool_calls) is handed_over


# arguments


class Changing(BaseMiddleware):
    """Changes the arguments in one of the two places in which AG2 keeps them."""

    async def on_tool_execution(self, call_next: Any, event: Any, context: Any) -> Any:
        event.serialized_arguments = {"text": "poison"}
        return await call_next(event, context)


def test_what_another_middleware_made_of_a_call_is_what_is_judged() -> None:
    ran: list[str] = []
    heard = Saying(lambda call: Deny(REASON) if call.arguments["text"] == "poison" else Allow())
    model = ScriptedModel(called("note", 0, text="milk"))
    behind = [Middleware(Changing), guard(engine=engine_of(before=heard))]
    run(Agent("main", config=model, tools=[noting(ran)], middleware=behind))
    assert ran == []
    assert REASON in results(model)["c0"]


def test_the_tool_gets_what_was_judged_wherever_it_looks() -> None:
    read: list[Any] = []

    async def look(call_next: Any, event: Any, context: Any) -> Any:
        read.extend((event.arguments, event.serialized_arguments))
        return await call_next(event, context)

    ran: list[str] = []
    change = Saying(_changed)
    model = ScriptedModel(called("note", 0, text="milk"))
    tools = [noting(ran).with_middleware(look)]
    run(Agent("main", config=model, tools=tools, middleware=[guard(engine=engine_of(before=change))]))
    assert read == ['{"text":"oats"}', {"text": "oats"}]
    assert ran == ["oats"]


def _changed(call: Any) -> Any:
    from interpose.core.types import Transform

    return Transform(call.with_arguments({"text": "oats"}))


@pytest.mark.parametrize(
    ("note", "arguments"),
    [("no JSON", "{"), ("no object", "[]"), ("two of one name", '{"text": "milk", "text": "poison"}')],
)
def test_arguments_that_nobody_can_read_do_not_run(note: str, arguments: str) -> None:
    ran: list[str] = []
    model = ScriptedModel(ToolCallEvent("note", id="c0", arguments=arguments))
    run(Agent("main", config=model, tools=[noting(ran)], middleware=[guard(engine=engine_of())]))
    assert ran == []
    assert "no JSON object" in results(model)["c0"]


# results


def test_the_cause_of_an_error_is_hidden_too() -> None:
    @tool
    def note() -> str:
        """Take a note."""
        try:
            raise LookupError(f"no {SECRET}")
        except LookupError as error:
            raise RuntimeError("no paper") from error

    assert SECRET in asked(note, engine_of())["c0"], "AG2 shows the model the causes of an error"
    heard = Saying(hiding)
    seen = asked(note, engine_of(after=heard))["c0"]
    assert heard.heard[0].is_error
    assert SECRET not in seen
    assert HIDDEN in seen
    assert "no paper" in seen


def test_a_result_of_several_parts_is_judged_whole() -> None:
    @tool
    def note() -> ToolResult:
        """Take a note."""
        return ToolResult(f"see {SECRET}", {"file": SECRET, "size": 3}, metadata={"by": SECRET})

    model = ScriptedModel(called("note", 0))
    run(Agent("main", config=model, tools=[note], middleware=[guard(engine=engine_of(after=Saying(hiding)))]))
    [event] = [one for one in model.given[-1] if isinstance(one, ToolResultsEvent)]
    result = event.results[0].result
    assert result.parts[0].content == f"see {HIDDEN}"
    assert isinstance(result.parts[1], DataInput)
    assert result.parts[1].data == {"file": HIDDEN, "size": 3}
    assert result.metadata == {"by": HIDDEN}
    assert asked(note, engine_of(after=Saying(replacing)))["c0"] == INSTEAD


def test_a_final_result_is_judged_and_stays_final() -> None:
    @tool
    def note() -> ToolResult:
        """Take a note."""
        return ToolResult(f"see {SECRET}", final=True)

    model = ScriptedModel(called("note", 0))
    behind = [guard(engine=engine_of(after=Saying(hiding)))]
    assert run(Agent("main", config=model, tools=[note], middleware=behind)).body == f"see {HIDDEN}"


# questions


ASKING = Saying(lambda _call: Confirm("Really?"))


def test_with_nobody_to_ask_a_question_ends_the_turn() -> None:
    ran: list[str] = []
    model = ScriptedModel(called("note", 0, text="milk"))
    agent = Agent("main", config=model, tools=[noting(ran)], middleware=[guard(engine=engine_of(before=ASKING))])
    with pytest.raises(HumanInputError):
        run(agent)
    assert ran == []


def test_a_tool_that_can_ask_nobody_ends_the_turn_whatever_is_made_of_its_error() -> None:
    @tool
    async def note(context: Context) -> str:
        """Take a note."""
        return await context.input("Your name?")

    with pytest.raises(HumanInputError):
        asked(note, engine_of(after=Saying(replacing)))


@pytest.mark.parametrize(
    ("answer", "runs"), [("Yes", True), (" y\n", True), ("always", False), ("", False), ("yes, but", False)]
)
def test_only_a_yes_is_a_yes(answer: str, runs: bool) -> None:
    ran: list[str] = []
    model = ScriptedModel(called("note", 0, text="milk"))
    behind = [guard(engine=engine_of(before=ASKING))]
    run(Agent("main", config=model, tools=[noting(ran)], middleware=behind, hitl_hook=lambda: answer))
    assert bool(ran) is runs
    assert results(model)["c0"].startswith("noted" if runs else "A person was asked and said no")


def test_a_sub_agents_question_reaches_the_person_of_its_agent() -> None:
    ran: list[str] = []
    questions: list[str] = []

    def answer(request: Any) -> str:
        questions.append(request.content)
        return "yes"

    model = ScriptedModel(called("note", 0, text="milk"))
    behind = [
        guard(engine=engine_of(before=Saying(lambda call: Confirm("Really?") if call.name == "note" else Allow())))
    ]
    helper = Agent("helper", config=model, tools=[noting(ran)], middleware=behind)
    first = ScriptedModel(called("help", 1, objective="go"))
    delegate = helper.as_tool(description="Helps.", name="help")
    run(Agent("main", config=first, tools=[delegate], middleware=behind, hitl_hook=answer))
    assert ran == ["milk"]
    assert len(questions) == 1
    assert '{"text":"milk"}' in questions[0]


def test_a_tools_own_questions_stay() -> None:
    answers = iter(["yes", "Kim"])

    @tool(middleware=[approval_required()])
    async def note(context: Context) -> str:
        """Take a note."""
        return f"they said {await context.input('Your name?')}"

    assert asked(note, engine_of(), hitl_hook=lambda: next(answers))["c0"] == "they said Kim"


# messages


def test_what_is_said_while_the_agent_works_is_judged_too() -> None:
    heard = Saying(lambda message: Deny(REASON) if "poison" in message.text else Allow())

    @tool
    async def note(context: Context) -> str:
        """Take a note."""
        context.enqueue("and now poison")
        return "noted"

    model = ScriptedModel(called("note", 0))
    agent = Agent("main", config=model, tools=[note], middleware=[guard(engine=engine_of(message=heard))])
    reply = run(agent)
    assert [message.text for message in heard.heard] == ["go", "and now poison"]
    assert REASON in reply.body
    assert "poison" not in repr(model.given)


def test_a_refused_message_is_not_in_the_next_turn() -> None:
    heard = Saying(lambda message: Deny(REASON) if "poison" in message.text else Allow())
    model = ScriptedModel()
    agent = Agent("main", config=model, middleware=[guard(engine=engine_of(message=heard))])

    async def talk() -> None:
        reply = await agent.ask("poison")
        assert REASON in (reply.body or "")
        await reply.ask("milk")

    asyncio.run(talk())
    assert "poison" not in repr(model.given)
    assert "milk" in repr(model.given)


@pytest.mark.parametrize("wrapped", [lambda schema: schema, PromptedSchema], ids=["as it is", "prompted"])
def test_a_function_that_is_given_the_answer_must_be_accepted(wrapped: Any) -> None:
    ran: list[str] = []

    @response_schema
    def run_query(query: str) -> str:
        """Run a query."""
        ran.append(query)
        return "done"

    def answered(**options: Any) -> str:
        async def go() -> str:
            agent = Agent(
                "main", config=TestConfig('{"query": "milk"}'), middleware=[guard(engine=engine_of(), **options)]
            )  # fmt: skip
            reply: Any = await agent.ask("go", response_schema=wrapped(run_query))
            return str(await reply.content())

        return asyncio.run(go())

    with pytest.raises(FrameworkLimitError, match="run_query"):
        answered()
    assert ran == []
    assert answered(unguarded=["run_query"]) == "done"
