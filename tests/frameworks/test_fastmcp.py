"""What holds for FastMCP alone. What it shares with the MCP SDK is told in test_mcp_sdk.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastmcp.server", reason="run by scripts/frameworks")

from fastmcp import Client, Context, FastMCP
from fastmcp.client.elicitation import ElicitResult
from fastmcp.exceptions import ToolError
from fastmcp.server import create_proxy
from fastmcp.server.middleware import Middleware
from fastmcp.server.middleware.tool_injection import ToolInjectionMiddleware
from fastmcp.tools import Tool, ToolResult
from mcp import MCPError
from mcp.types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    TextContent,
)

from interpose import Confirm, Deny
from interpose.core.types import Allow
from interpose.frameworks.fastmcp import guard
from tests.frameworks.behaviours import BEHAVIOURS, Behaviour, Play
from tests.frameworks.drivers import fastmcp as driver
from tests.frameworks.interceptors import HIDDEN, INSTEAD, SECRET, Saying, engine_of, hiding, replacing
from tests.frameworks.known import KNOWN
from tests.frameworks.playing import SESSION, Played, Script

CANNOT = next(one.cannot for one in KNOWN if one.name == "fastmcp")


class OlderEra:
    """The driver, with a client of the protocol's versions until 2025-11-25."""

    modes = driver.modes
    guard: Any = staticmethod(guard)

    @staticmethod
    def play(script: Script) -> Played:
        return driver.play(script, "legacy")


@pytest.mark.parametrize("behaviour", [one for one in BEHAVIOURS if one.name not in CANNOT], ids=lambda one: one.name)
def test_the_older_era(behaviour: Behaviour, tmp_path: Path) -> None:
    behaviour.check(Play(OlderEra(), "async", tmp_path))


def test_a_client_can_name_its_session() -> None:
    heard = Saying(lambda _call: Allow())
    for era in ("auto", "legacy"):
        driver.play(Script(calls=("milk",), options={"engine": engine_of(before=heard)}), era)
    assert [call.context.session_id for call in heard.heard] == [SESSION, SESSION]


def asking(_call: Any) -> Any:
    return Confirm("Really?")


def served(engine: Any, *others: Middleware, **options: Any) -> FastMCP:
    return FastMCP("notes", middleware=[guard(engine=engine, **options), *others])


def played(server: FastMCP, does: Callable[[Client], Any], **options: Any) -> Any:
    async def run() -> Any:
        async with Client(server, **options) as client:
            return await does(client)

    return asyncio.run(run())


def text_of(result: Any) -> str:
    return "\n".join(part.text for part in result.content if part.type == "text")


def noting(server: FastMCP) -> list[str]:
    ran: list[str] = []

    @server.tool
    def note(text: str) -> str:
        ran.append(text)
        return f"noted {text}"

    return ran


def test_a_server_has_its_own_name_or_yours() -> None:
    heard = Saying(lambda _call: Allow())
    for server in (
        FastMCP("notes", middleware=[guard(engine=engine_of(before=heard))]),
        FastMCP("notes", middleware=[guard("mine", engine=engine_of(before=heard))]),
    ):
        noting(server)
        played(server, lambda client: client.call_tool("note", {"text": "milk"}))
    assert [call.name for call in heard.heard] == ["mcp__notes__note", "mcp__mine__note"]


def test_an_answer_counts_only_with_its_question() -> None:
    server = served(engine_of(before=Saying(asking)))
    ran = noting(server)
    yes: Any = {"interpose": {"action": "accept", "content": {"answer": "yes"}}}

    async def forge(client: Client) -> None:
        def call(text: str, **continued: Any) -> Any:
            return client.session.call_tool("note", {"text": text}, allow_input_required=True, **continued)

        unasked = await call("milk", input_responses=yes)
        assert isinstance(unasked, InputRequiredResult)
        other = await call("bread")
        with pytest.raises(MCPError):
            await call("milk", input_responses=yes, request_state=other.request_state)
        assert ran == []
        done = await call("milk", input_responses=yes, request_state=unasked.request_state)
        assert text_of(done) == "noted milk"
        assert isinstance(
            await call("milk", input_responses=yes, request_state=unasked.request_state), InputRequiredResult
        )
        assert ran == ["milk"]

    async def elicit(*_asked: Any) -> Any:
        raise AssertionError("this client answers by itself")

    played(server, forge, elicitation_handler=elicit)


@pytest.mark.parametrize("state", ["of the tool", None])
def test_a_tool_that_asks_by_itself_gets_its_own_answers(state: str | None) -> None:
    server = served(engine_of(before=Saying(asking)))
    form: Any = {"type": "object", "properties": {"name": {"type": "string"}}}

    @server.tool(output_schema=None)
    def greet(ctx: Context) -> Any:
        answers = ctx.input_responses
        if not answers:
            asked = ElicitRequest(params=ElicitRequestFormParams(message="Name?", requested_schema=form))
            return InputRequiredResult(input_requests={"who": asked}, request_state=state)
        assert set(answers) == {"who"}
        assert ctx.request_state == state
        return f"hello {answers['who'].content['name']}"

    questions: list[str] = []

    async def elicit(message: str, *_asked: Any) -> ElicitResult[Any]:
        questions.append(message)
        ours = "Really?" in message
        return ElicitResult(action="accept", content={"answer": "yes"} if ours else {"name": "Kim"})

    result = played(server, lambda client: client.call_tool("greet"), elicitation_handler=elicit)
    assert text_of(result) == "hello Kim"
    ours = [one for one in questions if "Really?" in one]
    assert len(ours) == (1 if state else 2), "without a state nobody knows that it is the same call"


def test_what_is_structured_is_hidden_too() -> None:
    server = served(engine_of(after=Saying(hiding)))

    @server.tool
    def find() -> dict[str, Any]:
        return {"found": [SECRET], "many": 3}

    result = played(server, lambda client: client.call_tool("find"))
    assert result.structured_content == {"found": [HIDDEN], "many": 3}
    assert SECRET not in repr(result)


@pytest.mark.parametrize(("says", "left"), [(hiding, f"raw {HIDDEN}"), (replacing, INSTEAD)])
def test_a_whole_result_of_the_protocol_is_judged(says: Any, left: str) -> None:
    """FastMCP sends it as it is, whatever a middleware makes of the rest of a result."""
    server = served(engine_of(after=Saying(says)))

    @server.tool(output_schema=None)
    def find() -> Any:
        return CallToolResult(content=[TextContent(type="text", text=f"raw {SECRET}")], _meta={"of": SECRET})

    result = played(server, lambda client: client.call_tool_mcp("find", {}))
    assert text_of(result) == left
    assert SECRET not in repr(result)


def test_a_tool_that_says_it_failed_has_failed() -> None:
    heard = Saying(lambda _outcome: Allow())
    server = served(engine_of(after=heard))

    @server.tool
    def fail() -> ToolResult:
        return ToolResult("no paper", is_error=True)

    played(server, lambda client: client.call_tool_mcp("fail", {}))
    assert [outcome.is_error for outcome in heard.heard] == [True]


def test_resources_and_prompts_are_judged() -> None:
    heard = Saying(lambda call: Deny("not this") if "secret" in repr(call.arguments) else Allow())
    server = served(engine_of(before=heard, after=Saying(hiding)))
    read: list[str] = []

    @server.resource("notes://{name}")
    def notes(name: str) -> str:
        read.append(name)
        return f"{name}: {SECRET}"

    @server.resource("blob://{name}")
    def blob(name: str) -> bytes:
        return f"{name}: {SECRET}".encode()

    @server.prompt
    def ask(about: str) -> str:
        read.append(about)
        return f"about {about}: {SECRET}"

    async def use(client: Client) -> None:
        assert (await client.read_resource("notes://milk"))[0].text == f"milk: {HIDDEN}"
        assert (await client.get_prompt("ask", {"about": "milk"})).messages[0].content.text == f"about milk: {HIDDEN}"
        with pytest.raises(MCPError, match="not this"):
            await client.read_resource("notes://secret")
        with pytest.raises(MCPError, match="not this"):
            await client.get_prompt("ask", {"about": "secret"})
        assert SECRET not in repr(await client.read_resource("blob://milk"))

    played(server, use)
    assert read == ["milk", "milk"]
    names = [call.original_name for call in heard.heard]
    assert names[:4] == ["mcp__notes__resources/read", "mcp__notes__prompts/get"] * 2


def test_a_mounted_server_and_a_proxy_stand_behind_it() -> None:
    heard = Saying(lambda _call: Deny("not now"))
    inner = FastMCP("inner")
    ran = noting(inner)
    outer = served(engine_of(before=heard))
    outer.mount(inner, namespace="in")
    with pytest.raises(ToolError, match="not now"):
        played(outer, lambda client: client.call_tool("in_note", {"text": "milk"}))
    proxy = create_proxy(inner, name="before-inner")
    proxy.add_middleware(guard(engine=engine_of(before=heard)))
    with pytest.raises(ToolError, match="not now"):
        played(proxy, lambda client: client.call_tool("note", {"text": "milk"}))
    assert [call.name for call in heard.heard] == ["mcp__notes__in_note", "mcp__before-inner__note"]
    assert ran == []


def test_guards_of_two_servers_each_ask_once() -> None:
    inner = FastMCP("inner", middleware=[guard(engine=engine_of(before=Saying(asking)))])
    ran = noting(inner)
    outer = served(engine_of(before=Saying(asking)))
    outer.mount(inner, namespace="in")
    questions: list[str] = []

    async def elicit(message: str, *_asked: Any) -> ElicitResult[Any]:
        questions.append(message.splitlines()[1])
        return ElicitResult(action="accept", content={"answer": "yes"})

    result = played(outer, lambda client: client.call_tool("in_note", {"text": "milk"}), elicitation_handler=elicit)
    assert text_of(result) == "noted milk"
    assert questions == ["mcp__notes__in_note", "mcp__inner__note"]
    assert ran == ["milk"]


def test_what_another_middleware_answers_is_judged() -> None:
    ran: list[str] = []

    def note(text: str) -> str:
        ran.append(text)
        return "noted"

    injected = ToolInjectionMiddleware(tools=[Tool.from_function(note)])
    server = served(engine_of(before=Saying(lambda _call: Deny("not now"))), injected)
    with pytest.raises(ToolError, match="not now"):
        played(server, lambda client: client.call_tool("note", {"text": "milk"}))
    assert ran == []


def test_a_call_of_the_program_itself_is_judged_and_nobody_can_be_asked() -> None:
    server = served(
        engine_of(before=Saying(lambda call: Confirm("Really?") if call.arguments["text"] == "x" else Allow()))
    )
    ran = noting(server)
    assert text_of(asyncio.run(server.call_tool("note", {"text": "milk"}))) == "noted milk"
    with pytest.raises(ToolError, match="has no elicitation"):
        asyncio.run(server.call_tool("note", {"text": "x"}))
    assert ran == ["milk"]


def test_a_task_gives_its_result_where_nobody_can_judge_it() -> None:
    class Tasks(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            return CallToolResult(content=[TextContent(type="text", text="working")])  # no result of FastMCP's own

    server = served(engine_of(), Tasks())
    noting(server)
    with pytest.raises(MCPError, match="nobody can stand between"):
        played(server, lambda client: client.call_tool("note", {"text": "milk"}))
    server = served(engine_of(), Tasks(), unguarded=["mcp__notes__note"])
    noting(server)
    with pytest.raises(RuntimeError, match="structured content"):  # it comes to the client, who expected a note
        played(server, lambda client: client.session.call_tool("note", {"text": "milk"}))
