"""Clients over HTTP: headers that must equal the body, sessions that prove nothing, streams that end calls."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from interpose.core.config.settings import ServerLimits
from interpose.doors.mcp.links.eras import PROTOCOL_VERSION
from tests.support.peers.mcp_http import ACCEPT, MODERN, OLD, Said, bearer, frame, site, text_of
from tests.support.peers.mcp_peers import SILENT, FakeServer, tool, until

Run = Callable[[Coroutine[Any, Any, None]], None]
CALL = {"name": "toy__echo", "arguments": {"place": "here"}}
ANNOTATED = {"type": "object", "properties": {"place": {"type": "string", "x-mcp-header": "Place"}}}


def toys(**more: Any) -> dict[str, Callable[[], FakeServer]]:
    server = FakeServer(**more)
    return {"toy": lambda: server}


MISMATCHES = [
    ("the method", {"Mcp_Method": "tools/list"}),
    ("no method", {"Mcp_Method": None}),
    ("the method in other letters", {"Mcp_Method": "Tools/Call"}),
    ("the name", {"Mcp_Name": "toy__other"}),
    ("no name", {"Mcp_Name": None}),
    ("the name in base64 that is no base64", {"Mcp_Name": "=?base64?dG95X19lY2hv!?="}),
    ("the version of the body is another", {"Mcp_Protocol_Version": "2099-01-01"}),
    ("a version of the old era in the header", {"Mcp_Protocol_Version": OLD}),
    ("no version", {"Mcp_Protocol_Version": None}),
    ("an argument", {"Mcp_Param_Place": "there"}),
    ("no argument", {"Mcp_Param_Place": None}),
]


@pytest.mark.parametrize(("note", "headers"), MISMATCHES, ids=[note for note, _ in MISMATCHES])
def test_headers_that_say_something_else_than_the_body_are_refused(note: str, headers: Any, run: Run) -> None:
    async def main() -> None:
        server = FakeServer(on={"tools/list": {"tools": [tool("echo", inputSchema=ANNOTATED)]}})
        async with site({"toy": lambda: server}) as one:
            await one.modern("tools/list", {})
            said = await one.modern("tools/call", CALL, **({"Mcp_Param_Place": "here"} | headers))
            assert (said.status, said.json["error"]["code"]) == (400, -32020), (note, said)
            assert server.calls() == []

    run(main())


EQUAL = [
    ("as they are", {}),
    ("the name in base64", {"Mcp_Name": "=?base64?dG95X19lY2hv?="}),
    ("the argument in base64", {"Mcp_Param_Place": "=?base64?aGVyZQ==?="}),
    ("headers that nobody declared", {"Mcp_Param_Other": "x"}),
]


@pytest.mark.parametrize(("note", "headers"), EQUAL, ids=[note for note, _ in EQUAL])
def test_headers_that_say_the_same_are_taken(note: str, headers: Any, run: Run) -> None:
    async def main() -> None:
        server = FakeServer(on={"tools/list": {"tools": [tool("echo", inputSchema=ANNOTATED)]}})
        async with site({"toy": lambda: server}) as one:
            await one.modern("tools/list", {})
            said = await one.modern("tools/call", CALL, **({"Mcp_Param_Place": "here"} | headers))
            assert (said.status, text_of(said)) == (200, '{"place": "here"}')
            assert "mcp-session-id" not in said.headers

    run(main())


WRONG = [
    ("no JSON", b"{", {}, 400, -32600),
    ("no text", b"\xff", {}, 400, -32700),
    ("a batch", b"[]", {}, 400, -32600),
    ("an answer", b'{"jsonrpc":"2.0","id":1,"result":{}}', {}, 400, -32600),
    ("an id of null", b'{"jsonrpc":"2.0","id":null,"method":"ping"}', {}, 400, -32600),
    ("no _meta", frame(1, "tools/list", {}), {"Mcp-Method": "tools/list"}, 400, -32602),
    ("params that are a list", frame(1, "tools/list", []), {"Mcp-Method": "tools/list"}, 400, -32602),
]


@pytest.mark.parametrize(("note", "body", "headers", "status", "code"), WRONG, ids=[row[0] for row in WRONG])
def test_what_is_no_request_is_refused(
    note: str, body: bytes, headers: dict[str, str], status: int, code: int, run: Run
) -> None:
    async def main() -> None:
        async with site(toys()) as one:
            said = await one.ask("POST", bearer("ada") | {"Mcp-Protocol-Version": MODERN} | headers, body)
            assert (said.status, said.json["error"]["code"]) == (status, code), note

    run(main())


REFUSED = [
    ("without a token", "POST", {"Authorization": ""}, 401),
    ("with a token that nobody knows", "POST", {"Authorization": "Bearer " + "x" * 40}, 401),
    ("a page of another site", "POST", {"Origin": "http://evil.example"}, 403),
    ("a name that was made to point here", "POST", {"Host": "evil.example"}, 403),
    ("text", "POST", {"Content-Type": "text/plain"}, 415),
    ("a client that takes no JSON", "POST", {"Accept": "text/event-stream"}, 406),
    ("a client that takes no events", "POST", {"Accept": "application/json"}, 406),
    ("a GET of the modern era", "GET", {"Mcp-Protocol-Version": MODERN}, 405),
    ("a session that there is not", "GET", {"Mcp-Session-Id": "nothing", "Mcp-Protocol-Version": OLD}, 404),
    ("a session that there is not, to be ended", "DELETE", {"Mcp-Session-Id": "nothing"}, 404),
    ("no session", "DELETE", {}, 400),
    ("a header twice", "POST", {"Mcp-Method": "a", "mcp-method": "a"}, 400),
]


@pytest.mark.parametrize(("note", "method", "headers", "status"), REFUSED, ids=[row[0] for row in REFUSED])
def test_who_is_not_let_in(note: str, method: str, headers: dict[str, str], status: int, run: Run) -> None:
    async def main() -> None:
        server = FakeServer()
        async with site({"toy": lambda: server}) as one:
            given = {name: value for name, value in (bearer("ada") | headers).items() if value}
            said = await one.ask(method, given, frame(1, "tools/call", CALL) if method == "POST" else b"")
            assert said.status == status, (note, said)
            assert ("www-authenticate" in said.headers) == (status == 401)
            assert server.calls() == []

    run(main())


def test_a_session_is_no_proof_of_who_asks(run: Run) -> None:
    async def main() -> None:
        server = FakeServer("handshake")
        async with site({"toy": lambda: server}) as one:
            hers = await one.begin("ada")
            assert (await one.ask("POST", hers, frame(2, "tools/call", CALL))).status == 200
            stolen = hers | bearer("bob")
            assert (await one.ask("POST", stolen, frame(3, "tools/call", CALL))).status == 404
            assert (await one.ask("DELETE", stolen)).status == 404
            nobody = {name: value for name, value in hers.items() if name != "Authorization"}
            assert (await one.ask("POST", nobody, frame(4, "tools/call", CALL))).status == 401
            assert len(server.calls()) == 1
            assert [asked.client.principal for asked in one.gate.asked] == ["ada"]
            assert (await one.ask("DELETE", hers)).status == 200
            assert (await one.ask("POST", hers, frame(5, "tools/call", CALL))).status == 404

    run(main())


def test_a_request_of_the_modern_era_in_an_old_session_is_refused(run: Run) -> None:
    async def main() -> None:
        async with site(toys()) as one:
            headers = await one.begin()
            said = await one.ask("POST", headers, frame(2, "tools/list", {"_meta": {PROTOCOL_VERSION: MODERN}}))
            assert (said.status, said.json["error"]["code"]) == (400, -32020)

    run(main())


def test_progress_makes_the_answer_a_stream(run: Run) -> None:
    async def slow(server: FakeServer, message: Any) -> Any:
        token = message["params"]["_meta"]["progressToken"]
        server.say({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        return {"content": [{"type": "text", "text": "a\nb"}]}

    async def main() -> None:
        async with site(toys(on={"tools/call": slow})) as one:
            said = await one.modern("tools/call", CALL | {"_meta": {"progressToken": "mine"}})
            assert said.headers["content-type"] == "text/event-stream"
            progress, result = said.events
            assert progress["params"]["progressToken"] == "mine"
            assert result["result"]["content"][0]["text"] == "a\nb"
            headers = await one.begin()
            body = frame(7, "tools/call", CALL | {"_meta": {"progressToken": 5}})
            events = (await one.ask("POST", headers, body)).events
            assert [event.get("id") for event in events] == [None, 7]

    run(main())


@pytest.mark.parametrize("leaves", ["closes", "half-closes"])
def test_a_client_that_leaves_cancels_its_call(leaves: str, run: Run) -> None:
    async def main() -> None:
        server = FakeServer(on={"tools/call": lambda _server, _message: SILENT})
        async with site({"toy": lambda: server}, seconds=60) as one:
            await one.modern("tools/list", {})
            _, writer = await asyncio.open_connection("127.0.0.1", one.port)
            params = CALL | {"_meta": {PROTOCOL_VERSION: MODERN, "io.modelcontextprotocol/clientCapabilities": {}}}
            body = frame(1, "tools/call", params)
            headers = bearer("ada") | {
                "Host": f"127.0.0.1:{one.port}", "Mcp-Protocol-Version": MODERN, "Mcp-Method": "tools/call",
                "Mcp-Name": "toy__echo", "Content-Length": str(len(body)),
            }  # fmt: skip
            lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            writer.write(f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body)
            await until(server.calls)
            writer.close() if leaves == "closes" else writer.write_eof()
            await until(lambda: server.calls("notifications/cancelled"))
            await until(lambda: not one.gateway._conversations)
            writer.close()

    run(main())


def test_an_old_client_is_asked_on_the_stream_of_its_call(run: Run) -> None:
    async def asking(server: FakeServer, message: Any) -> Any:
        said = await server.ask("q", "elicitation/create", {"message": "?", "requestedSchema": {"type": "object"}})
        return {"content": [{"type": "text", "text": json.dumps(said["result"])}]}

    async def main() -> None:
        server = FakeServer("handshake", on={"tools/call": asking})
        async with site({"toy": lambda: server}) as one:
            headers = await one.begin(capabilities={"elicitation": {}})
            calling = asyncio.ensure_future(one.ask("POST", headers, frame(2, "tools/call", CALL)))
            asked = "interpose-1"
            await until(lambda: server.answers)
            answered: Said | None = None
            while answered is None or not server.answers["q"].done():
                body = {"jsonrpc": "2.0", "id": asked, "result": {"action": "accept", "content": {"x": 1}}}
                answered = await one.ask("POST", headers, json.dumps(body).encode())
                assert answered.status == 202
            events = (await calling).events
            assert [event.get("method", "answer") for event in events] == ["elicitation/create", "answer"]
            assert '"x": 1' in events[1]["result"]["content"][0]["text"]

    run(main())


def test_one_stream_of_a_session_tells_what_changed(run: Run) -> None:
    async def main() -> None:
        server = FakeServer("handshake")
        async with site({"toy": lambda: server}) as one:
            headers = await one.begin()
            listening = asyncio.ensure_future(one.ask("GET", headers | {"Accept": "text/event-stream"}))
            (session,) = one.clients.sessions._sessions.values()
            await until(lambda: session.unasked is not None)
            assert (await one.ask("GET", headers | {"Accept": "text/event-stream"})).status == 409
            server.say({"method": "notifications/tools/list_changed"})
            await until(lambda: session.unasked is not None and not len(session.unasked))
            one.clients.hush()
            events = (await listening).events
            assert {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"} in events

    run(main())


def test_too_many_sessions_and_too_large_bodies_are_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpose.doors.mcp.clients.http_sessions.MOST_A_PRINCIPAL", 2)

    async def main() -> None:
        async with site(toys(), limits=ServerLimits(max_body_bytes=4096)) as one:
            for _ in range(5):
                await one.begin("ada")
            await one.begin("bob")
            assert len(one.clients.sessions) == 3
            said = await one.modern("tools/call", CALL | {"arguments": {"text": "x" * 5000}})
            assert said.status == 413

    run(main())


def test_ids_of_two_posts_may_be_the_same_in_the_modern_era(run: Run) -> None:
    async def main() -> None:
        async with site(toys()) as one:
            await one.modern("tools/list", {})
            wanted = [{"name": "toy__echo", "arguments": {"number": number}} for number in range(20)]
            answers = await asyncio.gather(*(one.modern("tools/call", call) for call in wanted))
            assert [json.loads(text_of(said)) for said in answers] == [call["arguments"] for call in wanted]

    run(main())


def test_a_notification_of_the_modern_era_is_taken_and_means_nothing(run: Run) -> None:
    async def main() -> None:
        async with site(toys()) as one:
            body = frame(None, "notifications/cancelled", {"requestId": 1})
            assert (await one.ask("POST", bearer("ada") | {"Mcp-Protocol-Version": MODERN}, body)).status == 202

    run(main())


def test_who_is_believed_without_a_token_is_the_operators_choice(run: Run) -> None:
    async def main() -> None:
        from tests.support.peers.mcp_http import trust

        async with site(toys(), trusting=trust(loopback="open")) as one:
            body = frame(1, "initialize", {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "t"}})
            assert (await one.ask("POST", ACCEPT, body)).status == 200

    run(main())


def test_a_name_in_two_headers_is_not_put_together(run: Run) -> None:
    """Who stands between sees the first or the last of them; we would see both as one."""

    async def main() -> None:
        server = FakeServer(tools=("a", "a, b"))
        async with site({"toy": lambda: server}) as one:
            assert (await one.modern("tools/call", {"name": "toy__a, b", "arguments": {}})).status == 200
            said = await one.modern(
                "tools/call", {"name": "toy__a, b", "arguments": {}}, Mcp_Name="toy__a", mcp_name="b"
            )
            assert said.status == 400
            assert len(server.calls()) == 1

    run(main())
