"""What a server says beside its results is looked at before a client gets it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpose.doors.mcp.gate.gate_asides import aside
from interpose.doors.mcp.gate.server_words import heading
from interpose.reading.secrets import Redactor
from tests.support.peers.mcp_peers import FakeClient, FakeServer, Message, PeerError, gateway, text

TOKEN = "ghp_" + "a8Kd93jsKq02mZpXw7vLt5RbYc1NeUf4HgQ6"


def test_secrets_and_hidden_text_are_taken_out() -> None:
    said = aside(Redactor(), {"level": "info", "data": ["key " + TOKEN, "ab\x1b[31m", 1.5, None]})
    assert said is not None
    assert TOKEN not in str(said)
    assert said["data"][1:] == ["ab", 1.5, None]
    assert said["level"] == "info"


async def _noisy(server: FakeServer, message: Message) -> Any:
    token = message["params"]["_meta"]["progressToken"]
    more = {"progressToken": token, "progress": 1, "message": "classified", "more": 1}
    server.say({"method": "notifications/progress", "params": more})
    server.say({"method": "notifications/progress", "params": {**more, "message": "withheld"}})
    server.say({"method": "notifications/message", "params": {"level": "info", "data": "classified"}})
    server.say({"method": "notifications/message", "params": {"level": "info", "data": "withheld"}})
    return text("done")


def test_progress_and_log_lines() -> None:
    async def main() -> None:
        client = FakeClient("handshake")
        async with gateway({"a": FakeServer("handshake", on={"tools/call": _noisy}, logging={})}, client):
            await client.call("a__echo", _meta={"progressToken": "mine"})
            assert [one["params"] for one in client.heard("notifications/progress")] == [
                {"progressToken": "mine", "progress": 1, "message": "[hidden]"}
            ]
            assert [one["params"]["data"] for one in client.heard("notifications/message")] == ["[hidden]"]

    asyncio.run(main())


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_questions_of_an_old_server(era: Any) -> None:
    async def asking(server: FakeServer, _message: Message) -> Any:
        answer = await server.ask("q", "elicitation/create", {"message": "classified", "requestedSchema": {}})
        return text(str(answer["result"]["action"]))

    async def main() -> None:
        heard: list[Message] = []

        def answer(message: Message) -> Any:
            heard.append(message)
            return {"action": "decline"}

        client = FakeClient(era, {"elicitation": {"form": {}}}, {"elicitation/create": answer})
        async with gateway({"a": FakeServer("handshake", on={"tools/call": asking})}, client):
            result = await client.call("a__echo")
            asked = result["inputRequests"]["q1"] if era == "modern" else heard[0]
            assert asked["params"]["message"] == f"{heading('a')}\n> [hidden]"

    asyncio.run(main())


def test_data_of_errors() -> None:
    def failing(_server: FakeServer, _message: Message) -> Any:
        raise PeerError(-32042, "look there", {"elicitations": [{"message": "classified"}]})

    async def main() -> None:
        client = FakeClient("handshake")
        async with gateway({"a": FakeServer("handshake", on={"tools/call": failing})}, client):
            error = (await client.request("tools/call", {"name": "a__echo"}))["error"]
            assert error["data"] == {"elicitations": [{"message": "[hidden]"}]}

    asyncio.run(main())


@pytest.mark.parametrize("wrong", [5, {"x": 1}, "t", None, [3, None, {"taskId": ["t"]}]])
def test_lists_of_tasks(wrong: Any) -> None:
    """One server's list is looked at; another's that is none takes nothing from it."""
    begun = {"task": {"taskId": "t", "status": "working"}}
    listed = {"tasks": [{"taskId": "t", "status": "working", "statusMessage": "classified"}, {"taskId": "u"}]}
    has: Message = {"list": {}, "requests": {"tools": {"call": {}}}}

    async def main() -> None:
        client = FakeClient("handshake")
        bad = FakeServer("handshake", on={"tasks/list": {"tasks": wrong}}, tasks=has)
        good = FakeServer("handshake", on={"tools/call": begun, "tasks/list": listed}, tasks=has)
        async with gateway({"a": bad, "b": good}, client):
            await client.call("b__echo")
            assert (await client.result("tasks/list"))["tasks"] == [
                {"taskId": "b__t", "status": "working", "statusMessage": "[hidden]"}
            ]

    asyncio.run(main())


def test_what_is_told_is_bounded() -> None:
    """A server that talks without end is heard for a while, and its answer still comes."""

    def talking(server: FakeServer, _message: Message) -> Any:
        for _ in range(200):
            server.say({"method": "notifications/message", "params": {"level": "info", "data": "x" * 20_000}})
        return text("done")

    async def main() -> None:
        client = FakeClient("handshake")
        async with gateway({"a": FakeServer("handshake", on={"tools/call": talking}, logging={})}, client):
            assert (await client.call("a__echo"))["content"][0]["text"] == "done"
            assert 20 <= len(client.heard("notifications/message")) <= 40

    asyncio.run(main())
