"""Both eras on both sides: what each peer sees is its own era's protocol, whatever the other one is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpose.doors.mcp.gate.contract import Era
from interpose.doors.mcp.gate.server_words import heading
from interpose.doors.mcp.links.eras import CLIENT_CAPABILITIES, PROTOCOL_VERSION, result_for
from tests.support.peers.mcp_peers import (
    SILENT,
    FakeClient,
    FakeServer,
    Message,
    OpenGate,
    PeerError,
    gateway,
    text,
    until,
)

ERAS: tuple[Era, ...] = ("handshake", "modern")
MARKED = f"{heading('a')}\n> Which?"
FORM = {"mode": "form", "message": "Which?", "requestedSchema": {"type": "object", "properties": {}}}
YES = {"action": "accept", "content": {"which": "this"}}
PAIRS = [(client, server) for client in ERAS for server in ERAS]


@pytest.mark.parametrize(("client_era", "server_era"), PAIRS)
def test_a_call_and_its_result(client_era: Era, server_era: Era) -> None:
    async def main() -> None:
        server, client = FakeServer(server_era), FakeClient(client_era)
        async with gateway({"a": server}, client):
            tools = await client.result("tools/list")
            assert [tool["name"] for tool in tools["tools"]] == ["a__echo"]
            result = await client.call("a__echo", {"x": 1})
            assert result["content"] == [{"type": "text", "text": '{"x": 1}'}]
            assert ("resultType" in result) == (client_era == "modern")
            assert ("cacheScope" in tools) == (client_era == "modern")
            if client_era == "modern":
                assert tools["cacheScope"] == "private"
            (call,) = server.calls()
            meta = call["params"].get("_meta", {})
            assert (PROTOCOL_VERSION in meta) == (server_era == "modern")
            assert call["params"]["name"] == "echo"

    asyncio.run(main())


def test_no_cache_may_hand_a_judged_result_to_another_client() -> None:
    assert result_for("resources/read", {"cacheScope": "public"}, "modern")["cacheScope"] == "private"


def test_a_server_may_ask_for_roots_before_its_client_is_initialised() -> None:
    """The filesystem server does as soon as it runs: then our client is still waiting for its answer."""

    async def main() -> None:
        roots = {"roots": [{"uri": "file:///work"}]}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "f"}}
        server, slow, put, answered = FakeServer("handshake"), FakeServer("handshake"), asyncio.Event(), []

        async def running() -> None:
            await until(lambda: server.calls("notifications/initialized"))
            asyncio.get_running_loop().call_soon(put.set)
            answered.append(await server.ask("r", "roots/list"))

        async def waiting(_server: FakeServer, _message: Message) -> Message:
            await put.wait()
            return hello

        slow.on["initialize"] = waiting
        client = FakeClient("handshake", {"roots": {}}, {"roots/list": roots})
        async with gateway({"a": server, "b": slow}, client, greeting=False):
            asking = asyncio.get_running_loop().create_task(running())
            said = {"protocolVersion": "2025-11-25", "capabilities": client.capabilities, "clientInfo": {"name": "t"}}
            await client.result("initialize", said)
            assert put.is_set()
            assert client.heard("roots/list") == [], "no client is asked before it said that it is there"
            client.say({"method": "notifications/initialized"})
            await asking
            assert answered[0].get("result") == roots

    asyncio.run(main())


def eliciting(era: Era) -> FakeServer:
    """A server whose tool asks which."""

    async def old(server: FakeServer, message: Message) -> Any:
        answer = await server.ask("q-1", "elicitation/create", FORM)
        return text(f"got {answer['result']['content']['which']}") if "result" in answer else text("got nothing")

    def new(_server: FakeServer, message: Message) -> Any:
        params = message["params"]
        if "inputResponses" not in params:
            asked = {"k": {"method": "elicitation/create", "params": FORM}}
            return {"resultType": "input_required", "inputRequests": asked, "requestState": "the server's own"}
        assert params["requestState"] == "the server's own"
        return text(f"got {params['inputResponses']['k']['content']['which']}")

    return FakeServer(era, on={"tools/call": old if era == "handshake" else new})


@pytest.mark.parametrize("server_era", ERAS)
def test_a_question_of_a_server_reaches_an_old_client_as_a_request(server_era: Era) -> None:
    async def main() -> None:
        client = FakeClient("handshake", {"elicitation": {}}, {"elicitation/create": YES})
        async with gateway({"a": eliciting(server_era)}, client):
            result = await client.call("a__echo")
            assert result["content"][0]["text"] == "got this"
            (asked,) = client.heard("elicitation/create")
            assert asked["params"]["message"] == MARKED
            assert client.during[client.frames.index(asked)] == 2, "on HTTP it belongs on the stream of its call"

    asyncio.run(main())


@pytest.mark.parametrize("server_era", ERAS)
def test_a_question_of_a_server_reaches_a_modern_client_as_a_result(server_era: Era) -> None:
    async def main() -> None:
        client, gate = FakeClient("modern", {"elicitation": {"form": {}}}), OpenGate()
        server = eliciting(server_era)
        async with gateway({"a": server}, client, gate):
            asked = await client.call("a__echo", {"x": 1})
            assert asked["resultType"] == "input_required"
            assert "the server's own" not in str(asked), "a server's state is not the client's to carry"
            ((key, request),) = asked["inputRequests"].items()
            assert (request["method"], request["params"]["message"]) == ("elicitation/create", MARKED)
            again = {"inputResponses": {key: YES}, "requestState": asked["requestState"]}
            result = await client.call("a__echo", {"x": 1}, **again)
            assert result["content"][0]["text"] == "got this"
            assert len(server.calls()) == (1 if server_era == "handshake" else 2)
            assert [one.continues for one in gate.asked] == [None, 1], "the gate knows that it passed before"
            spent = await client.request("tools/call", {"name": "a__echo", "arguments": {"x": 1}, **again})
            assert spent["error"]["code"] == -32602

    asyncio.run(main())


@pytest.mark.parametrize("server_era", ERAS)
def test_a_call_that_nobody_comes_back_for_is_given_up(server_era: Era) -> None:
    async def main() -> None:
        client, gate = FakeClient("modern", {"elicitation": {"form": {}}}), OpenGate()
        server = eliciting(server_era)
        async with gateway({"a": server}, client, gate) as made:
            asked = await client.call("a__echo")
            made.holds.clear()
            await until(lambda: gate.failures)
            if server_era == "handshake":
                await until(lambda: server.calls("notifications/cancelled"))
                assert [one for one in server.seen if one.get("id") == "q-1" and "error" in one]
            late = await client.request(
                "tools/call", {"name": "a__echo", "arguments": {}, "requestState": asked["requestState"]}
            )
            assert late["error"]["code"] == -32602

    asyncio.run(main())


@pytest.mark.parametrize("server_era", ERAS)
@pytest.mark.parametrize(
    ("note", "change"),
    [
        ("other arguments", {"arguments": {"x": 2}}),
        ("another tool", {"name": "a__other"}),
        ("an invented state", {"requestState": "held.invented"}),
    ],
)
def test_a_state_is_good_for_its_own_call_only(server_era: Era, note: str, change: Message) -> None:
    async def main() -> None:
        client = FakeClient("modern", {"elicitation": {"form": {}}})
        server = eliciting(server_era)
        server.on["tools/list"] = {"tools": [{"name": name, "inputSchema": {}} for name in ("echo", "other")]}
        async with gateway({"a": server}, client):
            call = {"name": "a__echo", "arguments": {"x": 1}}
            asked = (await client.request("tools/call", call))["result"]
            again = call | {"inputResponses": {"k": YES, "q1": YES}, "requestState": asked["requestState"]}
            stolen = await client.request("tools/call", again | change)
            assert stolen["error"]["code"] == -32602, note
            mine = await client.request("tools/call", again)
            assert mine["result"]["content"][0]["text"] == "got this", "who tried did not spend it"

    asyncio.run(main())


@pytest.mark.parametrize(("client_era", "server_era"), PAIRS)
def test_nobody_is_asked_what_they_did_not_declare(client_era: Era, server_era: Era) -> None:
    async def main() -> None:
        client = FakeClient(client_era, {"elicitation": {"url": {}}})
        async with gateway({"a": eliciting(server_era)}, client):
            answer = await client.request("tools/call", {"name": "a__echo", "arguments": {}})
            assert not client.heard("elicitation/create")
            if server_era == "handshake":
                assert answer["result"]["content"][0]["text"] == "got nothing"
            else:
                assert answer["error"]["code"] == -32021

    asyncio.run(main())


@pytest.mark.parametrize(("client_era", "server_era"), PAIRS)
def test_progress_comes_under_the_token_of_the_client(client_era: Era, server_era: Era) -> None:
    async def main() -> None:
        def call(server: FakeServer, message: Message) -> Any:
            token = message["params"]["_meta"]["progressToken"]
            assert token != "mine", "tokens of two clients may be the same"
            server.say({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
            server.say({"method": "notifications/progress", "params": {"progressToken": 999, "progress": 1}})
            return text("done")

        client = FakeClient(client_era)
        async with gateway({"a": FakeServer(server_era, on={"tools/call": call})}, client):
            await client.call("a__echo", _meta={"progressToken": "mine"})
            (told,) = client.heard("notifications/progress")
            assert told["params"] == {"progressToken": "mine", "progress": 1}

    asyncio.run(main())


@pytest.mark.parametrize(("client_era", "server_era"), PAIRS)
def test_a_cancelled_call_is_cancelled_at_its_server(client_era: Era, server_era: Era) -> None:
    async def main() -> None:
        client, gate = FakeClient(client_era), OpenGate()
        server = FakeServer(server_era, on={"tools/call": lambda *_: SILENT})
        async with gateway({"a": server}, client, gate):
            id, answer = client.begin("tools/call", {"name": "a__echo", "arguments": {}})
            await until(server.calls)
            client.say({"method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"}})
            await until(lambda: server.calls("notifications/cancelled"))
            (told,) = server.calls("notifications/cancelled")
            assert told["params"]["requestId"] == server.calls()[0]["id"] != id
            await until(lambda: gate.failures)
            assert not answer.done()

    asyncio.run(main())


@pytest.mark.parametrize("server_era", ERAS)
def test_list_changes_reach_both_kinds_of_client(server_era: Era) -> None:
    async def main(client: FakeClient) -> Message:
        server = FakeServer(server_era)
        async with gateway({"a": server}, client):
            await client.result("tools/list")
            if client.era == "modern":
                id, _ = client.begin("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
                await until(lambda: client.heard("notifications/subscriptions/acknowledged"))
            server.on["tools/list"] = {"tools": [{"name": "new", "inputSchema": {}}]}
            before = len(client.heard("notifications/tools/list_changed"))
            server.say({"method": "notifications/tools/list_changed"})
            await until(lambda: len(client.heard("notifications/tools/list_changed")) > before)
            assert [one["name"] for one in (await client.result("tools/list"))["tools"]] == ["a__new"]
            gone = await client.request("tools/call", {"name": "a__echo"})
            assert gone["error"]["code"] == -32602
            if client.era == "modern":
                (ack,) = client.heard("notifications/subscriptions/acknowledged")
                assert ack["params"]["notifications"] == {"toolsListChanged": True}
                assert not client.heard("notifications/prompts/list_changed"), "it did not ask for those"
                told = client.heard("notifications/tools/list_changed")[-1]
                assert told["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": id}
            return {}

    asyncio.run(main(FakeClient("handshake")))
    asyncio.run(main(FakeClient("modern")))


@pytest.mark.parametrize(("client_era", "server_era"), PAIRS)
def test_a_watched_resource(client_era: Era, server_era: Era) -> None:
    async def main() -> None:
        client = FakeClient(client_era)
        on = {"resources/list": {"resources": [{"uri": "file:///x", "name": "x"}]}, "resources/subscribe": {},
              "resources/unsubscribe": {}}  # fmt: skip
        server = FakeServer(server_era, on=on, resources={"subscribe": True, "listChanged": True})
        async with gateway({"a": server}, client):
            if client_era == "modern":
                client.begin("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["file:///x"]}})
            else:
                await client.result("resources/subscribe", {"uri": "file:///x"})

            def watched() -> bool:
                if server_era == "handshake":
                    return bool(server.calls("resources/subscribe"))
                listens = server.calls("subscriptions/listen")
                return bool(listens) and listens[-1]["params"]["notifications"].get("resourceSubscriptions") == [
                    "file:///x"
                ]

            await until(watched)
            server.say({"method": "notifications/resources/updated", "params": {"uri": "file:///other"}})
            server.say({"method": "notifications/resources/updated", "params": {"uri": "file:///x"}})
            await until(lambda: client.heard("notifications/resources/updated"))
            (told,) = client.heard("notifications/resources/updated")
            assert told["params"]["uri"] == "file:///x"

    asyncio.run(main())


def test_an_old_server_may_ask_for_roots_before_any_call() -> None:
    async def main() -> None:
        roots = {"roots": [{"uri": "file:///srv"}]}
        client = FakeClient("handshake", {"roots": {"listChanged": True}}, {"roots/list": roots})
        server = FakeServer("handshake")
        async with gateway({"a": server}, client):
            assert (await server.ask(7, "roots/list"))["result"] == roots
            assert (await server.ask(8, "sampling/createMessage"))["error"]["code"] == -32601
            assert (await server.ask(9, "ping"))["result"] == {}
            client.say({"method": "notifications/roots/list_changed"})
            await until(lambda: server.calls("notifications/roots/list_changed"))

    asyncio.run(main())


def test_what_a_client_declared_is_what_its_servers_hear() -> None:
    async def main(client: FakeClient, server: FakeServer) -> Message:
        async with gateway({"a": server}, client):
            await client.call("a__echo")
            if server.era == "handshake":
                return dict(server.calls("initialize")[0]["params"]["capabilities"])
            return dict(server.calls()[0]["params"]["_meta"][CLIENT_CAPABILITIES])

    old: Message = {"elicitation": {}, "sampling": {}, "tasks": {"list": {}}}
    new: Message = {"elicitation": {"form": {}}, "extensions": {"x/y": {}}}
    assert asyncio.run(main(FakeClient("handshake", old), FakeServer("handshake"))) == old
    assert asyncio.run(main(FakeClient("handshake", old), FakeServer("modern"))) == {
        "elicitation": {"form": {}}, "sampling": {},
    }  # fmt: skip
    assert asyncio.run(main(FakeClient("modern", new), FakeServer("modern"))) == new
    assert asyncio.run(main(FakeClient("modern", new), FakeServer("handshake"))) == {"elicitation": {"form": {}}}


@pytest.mark.parametrize(
    ("note", "on", "era"),
    [
        ("refuses what it does not know", {}, "handshake"),
        ("does not answer what it does not know", {"server/discover": lambda *_: SILENT}, "handshake"),
        (
            "knows the question but no modern version",
            {"server/discover": {"supportedVersions": ["2025-11-25"], "capabilities": {}}},
            "handshake",
        ),
        ("answers nonsense", {"server/discover": {"supportedVersions": 7}}, "handshake"),
    ],
)
def test_how_an_old_server_is_recognised(note: str, on: Message, era: Era) -> None:
    async def main() -> None:
        server, client = FakeServer("handshake", on=on), FakeClient("modern")
        async with gateway({"a": server}, client) as made:
            await client.call("a__echo")
            assert made.routes.servers[0].negotiated is not None
            assert made.routes.servers[0].negotiated.era == era, note

    asyncio.run(main())


def test_a_modern_server_that_starts_slowly_is_recognised() -> None:
    async def main() -> None:
        async def late(server: FakeServer, _message: Message) -> Any:
            await asyncio.sleep(0.4)  # after the old question was put
            return {"supportedVersions": ["2026-07-28"], "capabilities": server.capabilities}

        def refused(_server: FakeServer, _message: Message) -> Any:
            raise PeerError(-32022, "modern only", {"supported": ["2026-07-28"]})

        server = FakeServer("modern", on={"server/discover": late, "initialize": refused})
        client = FakeClient("handshake")
        async with gateway({"a": server}, client):
            assert (await client.call("a__echo"))["content"]

    asyncio.run(main())


def test_a_method_of_the_other_era_is_not_there() -> None:
    async def main() -> None:
        old, new = FakeClient("handshake"), FakeClient("modern")
        async with gateway({"a": FakeServer()}, old):
            assert (await old.request("subscriptions/listen"))["error"]["code"] == -32601
            assert (await old.request("ping"))["result"] == {}
        async with gateway({"a": FakeServer()}, new):
            assert (await new.request("resources/subscribe"))["error"]["code"] == -32601
            assert (await new.request("logging/setLevel"))["error"]["code"] == -32601

    asyncio.run(main())


def test_a_client_that_says_neither_is_told_what_to_say() -> None:
    async def main() -> None:
        client = FakeClient("handshake")
        async with gateway({"a": FakeServer()}, client, greeting=False):
            answer = await client.request("tools/call", {"name": "a__echo"})
            assert answer["error"]["code"] == -32600
            other = {"_meta": {PROTOCOL_VERSION: "2099-01-01", CLIENT_CAPABILITIES: {}}}
            assert (await client.request("tools/list", other))["error"]["code"] == -32022

    asyncio.run(main())
