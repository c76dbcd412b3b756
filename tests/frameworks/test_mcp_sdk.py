"""What holds for servers of the MCP SDK alone."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.server.mcpserver", reason="run by scripts/frameworks")

from mcp import Client, MCPError
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import (
    BlobResourceContents,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    InputRequiredResult,
    TextContent,
)

from interpose import Confirm, Deny
from interpose.core.types import Allow
from interpose.frameworks.mcp_sdk import guard
from tests.frameworks.behaviours import BEHAVIOURS, Behaviour, Play
from tests.frameworks.drivers import mcp_sdk as driver
from tests.frameworks.interceptors import HIDDEN, INSTEAD, SECRET, Saying, engine_of, hiding, replacing
from tests.frameworks.known import KNOWN
from tests.frameworks.playing import SESSION, Played, Script

CANNOT = next(one.cannot for one in KNOWN if one.name == "mcp_sdk")


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


def served(engine: Any, **options: Any) -> MCPServer:
    return MCPServer("notes", middleware=[guard("notes", engine=engine, **options)])


def played(server: MCPServer, does: Callable[[Client], Any], **options: Any) -> Any:
    async def run() -> Any:
        async with Client(server, **options) as client:
            return await does(client)

    return asyncio.run(run())


def text_of(result: Any) -> str:
    return "\n".join(part.text for part in result.content if part.type == "text")


def noting(server: MCPServer) -> list[str]:
    ran: list[str] = []

    @server.tool()
    def note(text: str) -> str:
        ran.append(text)
        return f"noted {text}"

    return ran


def test_rules_know_tools_by_the_names_of_the_gateway() -> None:
    heard = Saying(lambda _call: Allow())
    server = served(engine_of(before=heard))
    noting(server)
    played(server, lambda client: client.call_tool("note", {"text": "milk"}))
    assert [call.name for call in heard.heard] == ["mcp__notes__note"]


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_a_client_that_cannot_ask_is_told_so(era: str) -> None:
    server = served(engine_of(before=Saying(asking)))
    ran = noting(server)
    result = played(server, lambda client: client.call_tool("note", {"text": "milk"}), mode=era)
    assert ran == []
    assert result.is_error
    assert "has no elicitation" in text_of(result)


ANSWERS = [
    ElicitResult(action="accept", content={"answer": "no"}),
    ElicitResult(action="accept", content={"answer": True}),
    ElicitResult(action="accept", content={"yes": "yes"}),
    ElicitResult(action="accept"),
    ElicitResult(action="decline", content={"answer": "yes"}),
    ElicitResult(action="cancel"),
]


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("answer", ANSWERS)
def test_nothing_but_yes_is_yes(answer: ElicitResult, era: str) -> None:
    async def elicit(_context: Any, _asked: Any) -> ElicitResult:
        return answer

    server = served(engine_of(before=Saying(asking)))
    ran = noting(server)
    try:
        result = played(
            server, lambda client: client.call_tool("note", {"text": "milk"}), mode=era, elicitation_callback=elicit
        )
        assert result.is_error
    except MCPError:
        pass  # the client itself takes no such answer
    assert ran == []


YES: Any = {"interpose": ElicitResult(action="accept", content={"answer": "yes"})}


async def elicits(_context: Any, _asked: Any) -> ElicitResult:
    raise AssertionError("this client answers by itself")


def call(client: Client, text: str, **continued: Any) -> Any:
    return client.session.call_tool("note", {"text": text}, allow_input_required=True, **continued)


def test_an_answer_counts_only_with_its_question() -> None:
    server = served(engine_of(before=Saying(asking)))
    ran = noting(server)

    async def forge(client: Client) -> None:
        unasked = await call(client, "milk", input_responses=YES)
        assert isinstance(unasked, InputRequiredResult), "nobody was asked yet"
        other = await call(client, "bread")
        with pytest.raises(MCPError):
            await call(client, "milk", input_responses=YES, request_state=other.request_state)
        with pytest.raises(MCPError):
            await call(client, "milk", input_responses=YES, request_state="interpose:of-mine")
        assert ran == []
        done = await call(client, "milk", input_responses=YES, request_state=unasked.request_state)
        assert text_of(done) == "noted milk"
        again = await call(client, "milk", input_responses=YES, request_state=unasked.request_state)
        assert isinstance(again, InputRequiredResult), "it counts once"
        assert ran == ["milk"]

    played(server, forge, elicitation_callback=elicits)


def test_our_state_is_bound_to_the_call_without_the_sdks_seal() -> None:
    server = served(engine_of(before=Saying(asking)))
    server.middleware[:] = [one for one in server.middleware if type(one).__name__ != "RequestStateBoundary"]
    ran = noting(server)

    async def forge(client: Client) -> None:
        other = await call(client, "bread")
        answer = await call(client, "milk", input_responses=YES, request_state=other.request_state)
        assert isinstance(answer, InputRequiredResult)
        made_up = await call(client, "milk", input_responses=YES, request_state="interpose:of-mine")
        assert isinstance(made_up, InputRequiredResult)

    played(server, forge, elicitation_callback=elicits)
    assert ran == []


@pytest.mark.parametrize("state", ["of the tool", None])
def test_a_tool_that_asks_by_itself_gets_its_own_answers(state: str | None) -> None:
    server = served(engine_of(before=Saying(asking)))
    form: Any = {"type": "object", "properties": {"name": {"type": "string"}}}

    @server.tool(structured_output=False)
    def greet(context: Context[Any, Any]) -> CallToolResult | InputRequiredResult:
        answers: Any = context.input_responses
        if not answers:
            asked = ElicitRequest(params=ElicitRequestFormParams(message="Name?", requested_schema=form))
            return InputRequiredResult(input_requests={"who": asked}, request_state=state)
        assert set(answers) == {"who"}
        assert context.request_state == state
        return CallToolResult(content=[TextContent(type="text", text=f"hello {answers['who'].content['name']}")])

    questions: list[str] = []

    async def elicit(_context: Any, asked: Any) -> ElicitResult:
        questions.append(asked.message)
        ours = "Really?" in asked.message
        return ElicitResult(action="accept", content={"answer": "yes"} if ours else {"name": "Kim"})

    result = played(server, lambda client: client.call_tool("greet"), elicitation_callback=elicit)
    assert text_of(result) == "hello Kim"
    ours = [one for one in questions if "Really?" in one]
    assert len(ours) == (1 if state else 2), "without a state nobody knows that it is the same call"


def test_what_is_structured_is_hidden_too() -> None:
    server = served(engine_of(after=Saying(hiding)))

    @server.tool()
    def find() -> dict[str, Any]:
        return {"found": [SECRET], "many": 3}

    result = played(server, lambda client: client.call_tool("find"))
    assert result.structured_content == {"found": [HIDDEN], "many": 3}
    assert SECRET not in repr(result)


def test_a_result_that_is_replaced_keeps_its_shape() -> None:
    server = served(engine_of(after=Saying(replacing)))

    @server.tool()
    def find() -> dict[str, Any]:
        return {"found": [SECRET], "many": 3}

    result = played(server, lambda client: client.call_tool("find"))
    assert INSTEAD in text_of(result)
    assert SECRET not in repr(result)


def test_text_in_base64_is_looked_at_and_a_picture_is_left_alone() -> None:
    server = served(engine_of(after=Saying(hiding)))
    picture = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256))).decode()

    @server.tool(structured_output=False)
    def find() -> list[Any]:
        return [
            EmbeddedResource(
                type="resource",
                resource=BlobResourceContents(uri="file:///a", blob=b64encode(f"a {SECRET}".encode()).decode()),
            ),
            EmbeddedResource(type="resource", resource=BlobResourceContents(uri="file:///b", blob=picture)),
        ]

    result = played(server, lambda client: client.call_tool("find"))
    first, second = (part.resource.blob for part in result.content)
    assert b64decode(first).decode() == f"a {HIDDEN}"
    assert second == picture


def test_resources_and_prompts_are_judged() -> None:
    heard = Saying(lambda call: Deny("not this") if "secret" in repr(call.arguments) else Allow())
    server = served(engine_of(before=heard, after=Saying(hiding)))
    read: list[str] = []

    @server.resource("notes://{name}")
    def notes(name: str) -> str:
        read.append(name)
        return f"{name}: {SECRET}"

    @server.prompt()
    def ask(about: str) -> str:
        read.append(about)
        return f"about {about}: {SECRET}"

    async def use(client: Client) -> None:
        came: list[Any] = [
            await client.read_resource("notes://milk"),
            await client.get_prompt("ask", {"about": "milk"}),
        ]
        assert came[0].contents[0].text == f"milk: {HIDDEN}"
        assert came[1].messages[0].content.text == f"about milk: {HIDDEN}"
        with pytest.raises(MCPError, match="not this"):
            await client.read_resource("notes://secret")
        with pytest.raises(MCPError, match="not this"):
            await client.get_prompt("ask", {"about": "secret"})

    played(server, use)
    assert read == ["milk", "milk"]
    names = [call.original_name for call in heard.heard]
    assert names == ["mcp__notes__resources/read", "mcp__notes__prompts/get"] * 2


def test_a_tool_that_says_it_failed_has_failed() -> None:
    heard = Saying(lambda _outcome: Allow())
    server = served(engine_of(after=heard))

    @server.tool(structured_output=False)
    def fail() -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text="no paper")], is_error=True)

    assert played(server, lambda client: client.call_tool("fail")).is_error
    assert [outcome.is_error for outcome in heard.heard] == [True]


async def failed(client: Client) -> str:
    """What a client is told that calls the tool in vain."""
    with pytest.raises(MCPError) as told:
        await client.call_tool("note", {"text": "milk"})
    return str(told.value)


def answering(does: Callable[[Any], Any]) -> Any:
    """A middleware that answers calls by itself."""

    async def answer(context: Any, call_next: Any) -> Any:
        return await (does(context) if context.method == "tools/call" else call_next(context))

    return answer


def test_a_task_gives_its_result_where_nobody_can_judge_it() -> None:
    async def task(_context: Any) -> Any:
        return {"taskId": "t1", "status": "working", "content": [], "isError": True, "resultType": "complete"}

    server = served(engine_of())
    server.middleware.append(answering(task))
    noting(server)
    assert "nobody can stand between" in played(server, failed)
    server = served(engine_of(), unguarded=["mcp__notes__note"])
    server.middleware.append(answering(task))
    noting(server)
    assert played(server, lambda client: client.call_tool("note", {"text": "milk"})).is_error


@pytest.mark.parametrize("params", [{"name": 7}, {"name": "note", "arguments": [["text", "milk"]]}, {}])
def test_what_is_no_call_is_refused(params: dict[str, Any]) -> None:
    server = served(engine_of())
    ran = noting(server)

    async def garble(ctx: Any, call_next: Any) -> Any:
        return await call_next(replace(ctx, params=params) if ctx.method == "tools/call" else ctx)

    server.middleware.insert(0, garble)
    assert "needs a name" in played(server, failed)
    assert ran == []


def test_nobody_gets_into_the_session_of_another_principal() -> None:
    heard = Saying(lambda _call: Allow())
    server = served(engine_of(before=heard))
    noting(server)
    for who in ("kim", "lee"):
        token = auth_context_var.set(AuthenticatedUser(AccessToken(token="t", client_id="app", scopes=[], subject=who)))
        try:
            played(server, lambda client: client.call_tool("note", {"text": "x"}, meta=driver.META))
        finally:
            auth_context_var.reset(token)
    sessions = [one.context.session_id for one in heard.heard]
    assert len(set(sessions)) == 2
    assert sessions[0].startswith("app:kim:")
