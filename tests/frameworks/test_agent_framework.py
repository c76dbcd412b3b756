"""What holds for Microsoft Agent Framework alone."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest

pytest.importorskip("agent_framework", reason="run by scripts/frameworks")

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    Message,
    MiddlewareFailure,
    MiddlewareTermination,
    ToolApprovalMiddleware,
    create_always_approve_tool_response,
    tool,
)
from agent_framework.exceptions import MiddlewareException

from interpose import Confirm, Deny, FrameworkLimitError
from interpose.core.types import Allow, Transform
from interpose.doors.frameworks.guarding import FrameworkGuard
from interpose.frameworks.agent_framework import METADATA, guard
from tests.frameworks.drivers.agent_framework import ScriptedClient, call_of, run
from tests.frameworks.interceptors import HIDDEN, INSTEAD, SECRET, Saying, engine_of, hiding, replacing, withholding
from tests.frameworks.playing import DONE, Mode

MODES: tuple[Mode, ...] = ("async", "stream")


class Notes:
    """A tool, and what it was really called with."""

    def __init__(self, **options: Any) -> None:
        self.ran: list[str] = []

        def note(text: str) -> str:
            """Take a note."""
            self.ran.append(text)
            return f"noted {text}"

        self.tool = tool(note, name="note", **options)


def noting(*texts: str) -> ScriptedClient:
    return ScriptedClient([call_of("note", {"text": text}, f"c{n}") for n, text in enumerate(texts)])


def asking(texts: str = "") -> Any:
    return engine_of(before=Saying(lambda call: Confirm("Really?") if call.arguments["text"] >= texts else Allow()))


def results(client: ScriptedClient) -> list[Any]:
    parts = [part for message in client.given[-1] for part in message.contents if part.type == "function_result"]
    return [part.result for part in sorted(parts, key=lambda part: str(part.call_id))]


def requests(answer: Any) -> list[Content]:
    return [one for one in answer.user_input_requests if one.type == "function_approval_request"]


def yes(asked: list[Content]) -> Message:
    return Message("user", [one.to_function_approval_response(True) for one in asked])


def played(does: Any, engine: Any, mode: Mode = "async", **arguments: Any) -> tuple[Any, ScriptedClient]:
    client = ScriptedClient([call_of(does.name, arguments, "c0")])
    agent = Agent(client, tools=[does], middleware=[guard(engine=engine)])
    return asyncio.run(run(agent, "go", AgentSession(), mode)), client


class Broken(FunctionMiddleware):
    async def process(self, context: Any, call_next: Any) -> None:
        raise RuntimeError("it broke")


@pytest.mark.parametrize("mode", MODES)
def test_the_trap_an_ordinary_exception_lets_the_run_go_on(mode: Mode) -> None:
    notes, client = Notes(), noting("milk")
    answer = asyncio.run(run(Agent(client, tools=[notes.tool], middleware=[Broken()]), "go", AgentSession(), mode))
    assert answer.text == DONE


@pytest.mark.parametrize("mode", MODES)
def test_a_failure_of_ours_ends_the_run(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_args: Any, **_options: Any) -> Any:
        raise RuntimeError("it broke")

    monkeypatch.setattr(FrameworkGuard, "around", fails)
    notes, client = Notes(), noting("milk", "bread")
    agent = Agent(client, tools=[notes.tool], middleware=[guard(engine=engine_of())])
    with pytest.raises(MiddlewareFailure, match="it broke"):
        asyncio.run(run(agent, "go", AgentSession(), mode))
    assert notes.ran == []
    assert len(client.given) == 1, "the model is not asked again"


@pytest.mark.parametrize("mode", MODES)
def test_what_a_tool_raises_is_still_a_tool_error(mode: Mode) -> None:
    def fail() -> str:
        """Fail."""
        raise LookupError("not here")

    answer, client = played(tool(fail), engine_of(), mode)
    assert answer.text == DONE
    assert "Error" in results(client)[0]


@pytest.mark.parametrize("mode", MODES)
def test_calls_that_wait_at_once_are_answered_one_by_one(mode: Mode) -> None:
    """One runs at once, one gets a yes and one a no."""
    notes, client = Notes(), noting("a", "b", "c")
    agent = Agent(client, tools=[notes.tool], middleware=[guard(engine=asking("b"))])

    async def go() -> Any:
        session = AgentSession()
        one, other = requests(await run(agent, "go", session, mode))
        assert notes.ran == ["a"]
        assert one.additional_properties[METADATA] == {
            "question": "Interpose asks: Really?",
            "arguments": {"text": "b"},
        }
        answers = [one.to_function_approval_response(True), other.to_function_approval_response(False)]
        return await run(agent, Message("user", answers), session, mode)

    assert asyncio.run(go()).text == DONE
    assert notes.ran == ["a", "b"]
    assert results(client)[:2] == ["noted a", "noted b"]
    assert "noted" not in results(client)[2]


def test_without_a_session_a_yes_is_none() -> None:
    notes, client = Notes(), noting("a")
    agent = Agent(client, tools=[notes.tool], middleware=[guard(engine=asking())])

    async def go() -> None:
        first = Message("user", ["go"])
        paused = await agent.run(first)
        await agent.run([first, *paused.messages, yes(requests(paused))])

    asyncio.run(go())
    assert notes.ran == []


@pytest.mark.parametrize("mode", MODES)
def test_a_yes_to_the_frameworks_own_question_is_none_to_ours(mode: Mode) -> None:
    notes, client = Notes(approval_mode="always_require"), noting("milk")
    agent = Agent(client, tools=[notes.tool], middleware=[guard(engine=asking())])

    async def go() -> Any:
        session = AgentSession()
        theirs = requests(await run(agent, "go", session, mode))
        assert METADATA not in theirs[0].additional_properties
        ours = requests(await run(agent, yes(theirs), session, mode))
        assert ours[0].additional_properties[METADATA]["question"] == "Interpose asks: Really?"
        assert notes.ran == []
        return await run(agent, yes(ours), session, mode)

    assert asyncio.run(go()).text == DONE
    assert notes.ran == ["milk"]


def test_a_yes_counts_for_the_arguments_that_were_shown() -> None:
    """The rules changed while the run waited: what would run now was never shown."""
    notes, client = Notes(), noting("milk")
    later: list[bool] = []

    def decide(call: Any) -> Any:
        if later and call.arguments["text"] == "milk":
            return Transform(call.with_arguments({"text": "cake"}))
        return Confirm("Really?") if not later else Allow()

    changing, asks = Saying(decide), Saying(lambda _call: Confirm("Really?"))
    from interpose import Engine, create_interceptor_registry

    registry = create_interceptor_registry()
    registry.add(id="changing", name="tool.before", priority=2, interceptor=changing)
    registry.add(id="asks", name="tool.before", priority=1, interceptor=asks)
    agent = Agent(client, tools=[notes.tool], middleware=[guard(engine=Engine(registry))])

    async def go() -> Any:
        session = AgentSession()
        asked = requests(await run(agent, "go", session, "async"))
        later.append(True)
        again = requests(await run(agent, yes(asked), session, "async"))
        assert again[0].additional_properties[METADATA]["arguments"] == {"text": "cake"}
        assert notes.ran == []
        return await run(agent, yes(again), session, "async")

    asyncio.run(go())
    assert notes.ran == ["cake"]


@pytest.mark.parametrize("mode", MODES)
def test_a_standing_approval_answers_no_question_of_ours(mode: Mode) -> None:
    notes, client = Notes(approval_mode="always_require"), noting("milk")
    rules: list[Any] = []
    engine = engine_of(before=Saying(lambda _call: rules[0] if rules else Allow()))
    agent = Agent(client, tools=[notes.tool], middleware=[ToolApprovalMiddleware(), guard(engine=engine)])

    async def go() -> None:
        session = AgentSession()
        asked = requests(await run(agent, "go", session, mode))
        await run(agent, Message("user", [create_always_approve_tool_response(asked[0])]), session, mode)
        assert notes.ran == ["milk"]
        rules.append(Confirm("Really?"))
        await run(agent, "go on", session, mode)

    asyncio.run(go())
    assert notes.ran == ["milk"]
    assert any("standing approval" in result for result in results(client))


def test_a_sub_agent_that_would_ask_runs_nothing() -> None:
    notes, client = Notes(), noting("milk")
    middleware = [
        guard(engine=engine_of(before=Saying(lambda c: Confirm("Really?") if "text" in c.arguments else Allow())))
    ]
    helper = Agent(client, name="helper", tools=[notes.tool], middleware=middleware)
    first = ScriptedClient([call_of("helper", {"task": "go"}, "d1")])
    answer = asyncio.run(run(Agent(first, tools=[helper.as_tool()], middleware=middleware), "go", None, "async"))
    assert answer.text == DONE
    assert notes.ran == []


@pytest.mark.parametrize("mode", MODES)
def test_a_result_that_ends_the_run_is_judged(mode: Mode) -> None:
    def last() -> str:
        """End."""
        raise MiddlewareTermination(result=f"I hold {SECRET}")

    answer, client = played(tool(last), engine_of(after=Saying(hiding)), mode)
    assert len(client.given) == 1, "the run ended"
    parts = [part for message in answer.messages for part in message.contents if part.type == "function_result"]
    assert parts[0].result == f"I hold {HIDDEN}"
    answer, _ = played(tool(last), engine_of(after=Saying(withholding)), mode)
    assert SECRET not in repr([message.to_dict() for message in answer.messages])


def test_all_parts_of_a_result_are_judged() -> None:
    def see() -> list[Content]:
        """See."""
        return [Content.from_text(f"a {SECRET}"), Content.from_data(b"x", "image/png"), Content.from_text(SECRET)]

    _, client = played(tool(see), engine_of(after=Saying(hiding)))
    part = next(part for message in client.given[-1] for part in message.contents if part.type == "function_result")
    assert [one.type for one in part.items] == ["text", "data", "text"]
    assert [one.text for one in part.items if one.type == "text"] == [f"a {HIDDEN}", HIDDEN]
    _, client = played(tool(see), engine_of(after=Saying(replacing)))
    assert SECRET not in repr([message.to_dict() for message in client.given[-1]])
    assert INSTEAD in repr([message.to_dict() for message in client.given[-1]])


def test_objects_are_judged_as_plain_data_and_made_anew() -> None:
    ran: list[Any] = []

    def meet(when: datetime) -> str:
        """Meet."""
        ran.append(when)
        return "there"

    seen = Saying(lambda call: Transform(call.with_arguments({"when": "2027-01-01T00:00:00"})))
    played(tool(meet), engine_of(before=seen), when="2026-01-01T00:00:00")
    assert seen.heard[0].arguments == {"when": "2026-01-01T00:00:00"}
    played(tool(meet), engine_of(), when="2026-01-01T00:00:00")
    assert ran == [datetime(2027, 1, 1), datetime(2026, 1, 1)]  # noqa: DTZ001 - as the tool takes them


def test_the_name_of_the_agent_stays_with_us() -> None:
    given: list[Any] = []

    def look(ctx: FunctionInvocationContext) -> str:
        """Look."""
        given.append(dict(ctx.kwargs))
        return "seen"

    heard = Saying(lambda _call: Allow())
    client = ScriptedClient([call_of("look", {}, "c0")])
    agent = Agent(client, name="clerk", tools=[tool(look)], middleware=[guard(engine=engine_of(before=heard))])
    asyncio.run(agent.run("go", function_invocation_kwargs={"own": 1}))
    assert heard.heard[0].context.agent_id == "clerk"
    assert given[0]["own"] == 1
    assert [key for key in given[0] if "interpose" in key] == []


@pytest.mark.parametrize("mode", MODES)
def test_a_tool_that_runs_elsewhere_raises_unless_it_is_accepted(mode: Mode) -> None:
    declared = FunctionTool(name="declared", description="", input_model={"type": "object", "properties": {}})
    for name, given in (("web_search", {"type": "web_search"}), ("declared", declared)):
        client = ScriptedClient([])
        agent = Agent(client, tools=[given], middleware=[guard(engine=engine_of())])
        with pytest.raises(FrameworkLimitError, match=name):
            asyncio.run(run(agent, "go", AgentSession(), mode))
        assert client.given == []
        agent = Agent(client, tools=[given], middleware=[guard(engine=engine_of(), unguarded=[name])])
        asyncio.run(run(agent, "go", AgentSession(), mode))
        assert client.given


class NoTools(ChatMiddlewareLayer, BaseChatClient):
    def _inner_get_response(self, **_options: Any) -> Any:
        raise AssertionError("this must not be asked")


def test_a_client_that_calls_no_middleware_for_tools_raises() -> None:
    with pytest.raises(FrameworkLimitError, match="NoTools"):
        asyncio.run(Agent(NoTools(), middleware=[guard(engine=engine_of())]).run("go"))


def test_half_of_the_guard_is_not_taken() -> None:
    with pytest.raises(MiddlewareException, match="indivisible"):
        ScriptedClient([], middleware=[guard(engine=engine_of())])


def test_what_was_answered_already_is_not_judged_again() -> None:
    heard = Saying(lambda message: Deny("no") if message.text == "old" else Allow())
    client = ScriptedClient([])
    agent = Agent(client, middleware=[guard(engine=engine_of(message=heard))])
    messages = [Message("user", ["old"]), Message("assistant", ["yes"]), Message("user", ["new"])]
    asyncio.run(agent.run(messages))
    assert [message.text for message in heard.heard] == ["new"]
