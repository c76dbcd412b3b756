"""Many servers as one: names, URIs, lists of many pages, and collisions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpose.doors.mcp.gate.contract import Client
from interpose.doors.mcp.servers.routing import matches
from tests.support.noted import noted
from tests.support.peers.mcp_peers import FakeClient, FakeServer, Message, OpenGate, gateway, refusing, text, tool


def paged(kind: str, *pages: list[Message]) -> Any:
    def page(_server: FakeServer, message: Message) -> Message:
        at = int(message["params"].get("cursor", 0))
        return {kind: pages[at]} | ({"nextCursor": str(at + 1)} if at + 1 < len(pages) else {})

    return page


def test_lists_of_all_servers_are_one_list_with_all_pages() -> None:
    async def main() -> None:
        one = FakeServer("modern", on={"tools/list": paged("tools", [{"name": "x"}], [{"name": "y"}], [{"name": "z"}])})
        two = FakeServer("handshake", tools=("x",))
        client = FakeClient("modern")
        async with gateway({"a": one, "b": two}, client):
            names = [tool["name"] for tool in (await client.result("tools/list"))["tools"]]
            assert names == ["a__x", "a__y", "a__z", "b__x"]
            await client.call("b__x")
            assert two.calls()
            assert not one.calls()
            wrong = await client.request("tools/list", {"cursor": "1"})
            assert wrong["error"]["code"] == -32602

    asyncio.run(main())


def test_without_a_prefix_names_stay_and_cannot_take_anothers() -> None:
    async def main() -> None:
        plain, other = FakeServer(tools=("x", "b__y")), FakeServer(tools=("y",))
        plain.on["tools/list"]["tools"].append(tool("b__z"))
        client = FakeClient("modern")
        async with gateway({"a": plain, "b": other}, client, prefix=lambda name: "" if name == "a" else name):
            shown = {one["name"]: one["description"] for one in (await client.result("tools/list"))["tools"]}
            assert shown == {"x": "The tool x", "b__y": "The tool y"}, "what would be taken for another's is left out"
            await client.call("b__y")
            assert other.calls()
            assert not plain.calls()

    asyncio.run(main())


@pytest.mark.parametrize(
    "answer",
    noted(
        [
            ("a name twice", ({"tools": [{"name": "x"}, {"name": "x"}]},)),
            ("no list", ({"tools": {"x": 1}},)),
            ("nothing", ({},)),
            ("no object", ([],)),
            ("a tool without a name", ({"tools": [{"description": "x"}]},)),
            ("a tool that is none", ({"tools": ["x"]},)),
            ("pages that don't end", (lambda *_: {"tools": [], "nextCursor": "same"},)),
        ]
    ),
)
def test_a_server_with_a_broken_list_shows_nothing_and_harms_no_other(answer: Any) -> None:
    async def main() -> None:
        client = FakeClient("modern")
        async with gateway({"a": FakeServer(on={"tools/list": answer}), "b": FakeServer()}, client):
            names = [tool["name"] for tool in (await client.result("tools/list"))["tools"]]
            assert names == ["b__echo"]
            assert "error" in await client.request("tools/call", {"name": "a__x"})
            assert (await client.call("b__echo"))["content"]

    asyncio.run(main())


def resources(*uris: str, templates: tuple[str, ...] = ()) -> FakeServer:
    return FakeServer(
        "modern",
        on={
            "resources/list": {"resources": [{"uri": uri, "name": uri} for uri in uris]},
            "resources/templates/list": {"resourceTemplates": [{"uriTemplate": one, "name": one} for one in templates]},
            "resources/read": lambda _server, message: {"contents": [{"uri": message["params"]["uri"], "text": "t"}]},
        },
        resources={"listChanged": True},
    )


def test_resources_are_found_by_uri_and_shared_uris_are_qualified() -> None:
    async def main() -> None:
        one = resources("file:///a", "file:///shared", templates=("log://{day}/{name}",))
        two = resources("file:///b", "file:///shared", templates=("db://{table}",))
        client = FakeClient("modern")
        async with gateway({"a": one, "b": two}, client):
            shown = [item["uri"] for item in (await client.result("resources/list"))["resources"]]
            shared = [uri for uri in shown if uri.startswith("interpose://")]
            assert shown == ["file:///a", shared[0], "file:///b", shared[1]]
            for uri, server, own in [
                ("file:///a", one, "file:///a"),
                ("file:///b", two, "file:///b"),
                (shared[0], one, "file:///shared"),
                (shared[1], two, "file:///shared"),
                ("log://monday/x", one, "log://monday/x"),
                ("db://users", two, "db://users"),
            ]:
                read = await client.result("resources/read", {"uri": uri})
                assert read["contents"][0]["uri"] == own
                assert server.calls("resources/read")[-1]["params"]["uri"] == own
            nobody = await client.request("resources/read", {"uri": "file:///shared"})
            assert nobody["error"]["code"] == -32602
            assert "interpose://a/" in nobody["error"]["message"]
            unknown = await client.request("resources/read", {"uri": "ftp://x"})
            assert unknown["error"]["code"] == -32602

    asyncio.run(main())


@pytest.mark.parametrize(
    ("template", "uri", "want"),
    [
        ("log://{day}/{name}", "log://monday/x", True),
        ("log://{day}/{name}", "log://monday", False),
        ("file:///x", "file:///x", True),
        ("file:///x", "file:///y", False),
        ("{+any}", "file:///x", False),
        ("a{x}a", "a", False),
        ("a{x}b{y}c", "aXbYc", True),
        ("a{x", "a{x", True),
        ("a{x", "ay", False),
    ],
)
def test_templates(template: str, uri: str, want: bool) -> None:
    assert matches(template, uri) is want


def test_prompts_and_completions_are_renamed() -> None:
    async def main() -> None:
        on = {
            "prompts/list": {"prompts": [{"name": "p"}]},
            "prompts/get": lambda _server, message: {"messages": [], "description": message["params"]["name"]},
            "completion/complete": lambda _server, message: {"completion": {"values": [str(message["params"]["ref"])]}},
        }
        server = FakeServer("handshake", on=on, prompts={}, completions={})
        client = FakeClient("modern")
        async with gateway({"a": server, "b": FakeServer()}, client):
            assert [one["name"] for one in (await client.result("prompts/list"))["prompts"]] == ["a__p"]
            assert (await client.result("prompts/get", {"name": "a__p"}))["description"] == "p"
            ref = {"type": "ref/prompt", "name": "a__p"}
            done = await client.result("completion/complete", {"ref": ref, "argument": {"name": "x", "value": ""}})
            assert done["completion"]["values"] == ["{'type': 'ref/prompt', 'name': 'p'}"]
            assert done["resultType"] == "complete"

    asyncio.run(main())


def test_what_servers_tell_the_model_is_told_under_their_names() -> None:
    async def main() -> None:
        on: Message = {
            "server/discover": {
                "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "instructions": "Be kind."
            }
        }  # fmt: skip
        client = FakeClient("modern")
        async with gateway({"a": FakeServer(on=on), "b": FakeServer()}, client, greeting=False):
            told = await client.greet()
            assert told["instructions"] == "# a\nBe kind."
            assert told["capabilities"]["tools"] == {"listChanged": True}
            assert "prompts" not in told["capabilities"]

    asyncio.run(main())


def test_results_of_unjudged_requests_are_the_bytes_that_came() -> None:
    async def main() -> None:
        client = FakeClient("modern")
        on = {"acme/say": {"values": ["x"]}}
        async with gateway({"a": FakeServer(on=on)}, client, methods_a=("acme/say",)):
            seen: list[bytes] = []
            send = client.send

            async def keeping(frame: bytes, **options: Any) -> None:
                seen.append(frame)
                await send(frame, **options)

            client.send = keeping  # type: ignore[method-assign]
            await client.request("acme/say")
            assert b'"values": ["x"]' in seen[0], "with the space that the server put there"

    asyncio.run(main())


def test_tasks_belong_to_who_made_them_and_are_seen_by_the_gate() -> None:
    async def main() -> None:
        on = {
            "tools/call": {"resultType": "task", "taskId": "7", "status": "working"},
            "tasks/get": lambda _server, message: {
                "taskId": message["params"]["taskId"], "status": "completed", "result": text("late"),
            },
            "tasks/cancel": {}, "tasks/update": {},
        }  # fmt: skip
        server, client, gate = FakeServer(on=on), FakeClient("modern"), OpenGate(refusing)
        async with gateway({"a": server}, client, gate) as made:
            begun = await client.call("a__echo")
            assert begun["taskId"] == "a__7"
            got = await client.result("tasks/get", {"taskId": "a__7"})
            assert got["taskId"] == "a__7"
            assert server.calls("tasks/get")[0]["params"]["taskId"] == "7"
            assert gate.results[-1][2]["result"] == text("late"), "what arrives later is looked at, too"
            yes, bad = ({"k": {"action": "accept", "content": {"x": said}}} for said in ("yes", "bad"))
            more = {"name": "a__echo", "arguments": {"x": "bad"}}
            await client.result("tasks/update", {"taskId": "a__7", "inputResponses": yes, **more})
            assert server.calls("tasks/update")[0]["params"].items() >= {"taskId": "7", "inputResponses": yes}.items()
            assert not {"name", "arguments"} & server.calls("tasks/update")[0]["params"].keys()
            assert gate.asked[-1].continues == 1
            refused = await client.result("tasks/update", {"taskId": "a__7", "inputResponses": bad})
            assert refused["isError"] is True
            assert len(server.calls("tasks/update")) == 1, "what a task is answered is judged, too"
            stranger = FakeClient("modern")
            stranger.conversation = made.converse(stranger, Client(principal="somebody else"))
            assert (await stranger.request("tasks/get", {"taskId": "a__7"}))["error"]["code"] == -32602
            for unknown in ("7", "a__8", 7):
                assert (await client.request("tasks/get", {"taskId": unknown}))["error"]["code"] == -32602

    asyncio.run(main())
