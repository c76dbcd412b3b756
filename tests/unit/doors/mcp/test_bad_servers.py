"""A server that lies, hangs, floods, grows or dies is bounded, started anew, and harms no other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from interpose.doors.mcp.links.links import LinkError, ServerSide
from interpose.doors.mcp.servers import routing, server_connection
from interpose.doors.mcp.servers.supervised_server import LONGEST_PAUSE, ServerTimes, backoff
from tests.support.noted import noted
from tests.support.peers.mcp_peers import SILENT, FakeClient, FakeServer, Message, OpenGate, gateway, text, until
from tests.support.timing.patience import PATIENCE


def lying(*frames: Message | bytes, then: Any = SILENT) -> Callable[[FakeServer, Message], Any]:
    """Says these for a call; `ID` in them is the call's own id."""

    def call(server: FakeServer, message: Message) -> Any:
        for frame in frames:
            line = frame if isinstance(frame, bytes) else json.dumps({"jsonrpc": "2.0"} | frame).encode()
            server.side.received(line.replace(b'"ID"', json.dumps(message["id"]).encode()))
        return then

    return call


RIGHT = text("right")
WRONG = text("wrong")


@pytest.mark.parametrize(
    "call",
    noted(
        [
            ("an answer to nothing first", (lying({"id": 12345, "result": WRONG}, then=RIGHT),)),
            ("an answer whose id is a text", (lying(b'{"jsonrpc":"2.0","id":"ID2","result":{}}', then=RIGHT),)),
            ("an answer with a null id", (lying({"id": None, "error": {"code": 1, "message": "x"}}, then=RIGHT),)),
            ("twice", (lying({"id": "ID", "result": RIGHT}, then=WRONG),)),
            ("lines that are no frames", (lying(b"Listening on port 80", b"\xff\xfe", b"[]", b"{}", then=RIGHT),)),
            ("another version of JSON-RPC", (lying(b'{"jsonrpc":"1.0","id":"ID","result":{}}', then=RIGHT),)),
            ("progress of nothing", (
                lying({"method": "notifications/progress", "params": {"progressToken": {}}}, then=RIGHT),)),
            ("cancels a request of ours", (
                lying({"method": "notifications/cancelled", "params": {"requestId": "ID"}}, then=RIGHT),)),
            ("cancels with an id that is none", (
                lying({"method": "notifications/cancelled", "params": {"requestId": [1]}}, then=RIGHT),)),
            ("notifications with params that are none", (
                lying(b'{"jsonrpc":"2.0","method":"notifications/message","params":[1]}', then=RIGHT),)),
            ("asks what nobody knows", (lying({"id": 1, "method": "acme/x"}, then=RIGHT),)),
            ("asks with the id of our request", (lying({"id": "ID", "method": "ping"}, then=RIGHT),)),
            ("asks in a mode that is none", (
                lying({"id": 3, "method": "elicitation/create", "params": {"mode": [1]}}, then=RIGHT),)),
            ("asks as if it were a client", (
                lying({"id": 2, "method": "tools/call", "params": {"name": "echo"}}, then=RIGHT),)),
        ]
    ),
)  # fmt: skip
@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_what_a_server_says_unasked_changes_nothing(call: Any, era: Any) -> None:
    async def main() -> None:
        client = FakeClient(era)
        async with gateway({"a": FakeServer(era, on={"tools/call": call})}, client):
            for _ in range(2):
                assert (await client.call("a__echo"))["content"] == RIGHT["content"]

    asyncio.run(main())


@pytest.mark.parametrize(
    "call",
    noted(
        [
            ("a result that is a list", (lying({"id": "ID", "result": []}),)),
            ("a result that is null", (lying({"id": "ID", "result": None}),)),
            ("neither result nor error", (lying({"id": "ID"}),)),
            ("an error that is a text", (lying({"id": "ID", "error": "no"}),)),
            ("an error with a wrong code", (lying({"id": "ID", "error": {"code": "x", "message": 1}}),)),
            ("a question with a mode that is none", (
                lying({"id": "ID", "result": {"resultType": "input_required", "inputRequests": {
                    "a": {"method": "elicitation/create", "params": {"mode": []}}}}}),)),
            ("both", (lying({"id": "ID", "result": RIGHT, "error": {"code": 1, "message": "both"}}),)),
            ("questions that are none", (
                lying({"id": "ID", "result": {"resultType": "input_required", "inputRequests": {"a": 1}}}),)),
            ("questions that a server may not ask", (
                lying({"id": "ID", "result": {"resultType": "input_required", "inputRequests": {
                    "a": {"method": "tools/call", "params": {}}}}}),)),
        ]
    ),
)  # fmt: skip
@pytest.mark.parametrize("client_era", ["handshake", "modern"])
def test_an_answer_of_the_wrong_form_is_an_error(call: Any, client_era: Any) -> None:
    async def main() -> None:
        client = FakeClient(client_era, {"elicitation": {}})
        async with gateway({"a": FakeServer(on={"tools/call": call})}, client):
            assert "error" in await client.request("tools/call", {"name": "a__echo"})

    asyncio.run(main())


def test_questions_without_end_end() -> None:
    async def main() -> None:
        asking = {"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}}
        client = FakeClient("handshake", {"roots": {}}, {"roots/list": {"roots": []}})
        server = FakeServer(on={"tools/call": asking})
        async with gateway({"a": server}, client):
            assert "error" in await client.request("tools/call", {"name": "a__echo"})
            assert len(server.calls()) == 10

    asyncio.run(main())


def test_a_server_that_hangs_is_given_up_and_harms_no_other() -> None:
    async def main() -> None:
        hangs, works = FakeServer(on={"tools/call": lambda *_: SILENT}), FakeServer()
        client, gate = FakeClient("modern"), OpenGate()
        async with gateway({"a": hangs, "b": works}, client, gate, times=ServerTimes(start=5, probe=0.2, request=0.1)):
            _, answer = client.begin("tools/call", {"name": "a__echo"})
            assert (await client.call("b__echo"))["content"]
            error = (await asyncio.wait_for(answer, PATIENCE))["error"]
            assert error["code"] == -32001
            assert "did not answer within 0.1 seconds" in error["message"]
            assert gate.failures == [(-32001, error["message"])]
            await until(lambda: hangs.calls("notifications/cancelled"))

    asyncio.run(main())


class Dying(FakeServer):
    """Ends with its first call."""

    def __init__(self) -> None:
        super().__init__(on={"tools/call": self.die})

    def die(self, _server: FakeServer, _message: Message) -> Any:
        self.side.lost("it ended with exit code 3")
        return SILENT


def test_a_server_that_dies_fails_what_was_under_way_and_comes_back() -> None:
    async def main() -> None:
        made: list[FakeServer] = []

        def connect() -> FakeServer:
            made.append(FakeServer() if made else Dying())
            return made[-1]

        other = FakeServer()
        client, gate = FakeClient("handshake"), OpenGate()
        async with gateway({"a": connect, "b": other}, client, gate):
            error = (await client.request("tools/call", {"name": "a__echo"}))["error"]
            assert error["code"] == -32000
            assert "exit code 3" in error["message"]
            assert gate.failures
            assert (await client.call("b__echo"))["content"]
            await until(lambda: len(made) == 2 and made[1].calls("server/discover"))
            assert (await client.call("a__echo"))["content"]
            assert made[0].closed == 1
            assert client.heard("notifications/tools/list_changed"), "what it shows may be something else now"

    asyncio.run(main())


class Absent(FakeServer):
    async def open(self, side: ServerSide, /) -> None:
        raise LinkError("there is no program 'nothing' in its PATH")


def test_a_server_that_cannot_be_started_is_told_at_once_and_harms_no_other() -> None:
    async def main() -> None:
        client = FakeClient("modern")
        async with gateway({"a": Absent, "b": FakeServer()}, client):
            error = (await client.request("tools/call", {"name": "a__echo"}))["error"]
            assert "there is no program" in error["message"]
            assert [one["name"] for one in (await client.result("tools/list"))["tools"]] == ["b__echo"]

    asyncio.run(main())


class Slow(FakeServer):
    """Starts when it is let."""

    def __init__(self) -> None:
        super().__init__(tools=("late",))
        self.let = asyncio.Event()

    async def open(self, side: ServerSide, /) -> None:
        await self.let.wait()
        await super().open(side)


def test_a_server_that_starts_slowly_keeps_nobody_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "PATIENCE", 0.1)

    async def main() -> None:
        slow, client = Slow(), FakeClient("handshake")
        async with gateway({"a": slow, "b": FakeServer()}, client):
            assert [one["name"] for one in (await client.result("tools/list"))["tools"]] == ["b__echo"]
            before = len(client.heard("notifications/tools/list_changed"))
            slow.let.set()
            await until(lambda: len(client.heard("notifications/tools/list_changed")) > before)
            assert [one["name"] for one in (await client.result("tools/list"))["tools"]] == ["a__late", "b__echo"]

    asyncio.run(main())


def test_a_wrapped_server_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "PATIENCE", 0.05)

    async def main() -> None:
        slow, client = Slow(), FakeClient("handshake")
        async with gateway({"a": slow}, client, greeting=False, transparent=True, prefix=lambda _name: ""):
            greeting = asyncio.ensure_future(client.greet())
            await asyncio.sleep(0.2)
            assert not greeting.done()
            slow.let.set()
            assert (await greeting)["capabilities"] == {"tools": {"listChanged": True}}
            assert (await client.call("late"))["content"]

    asyncio.run(main())


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_a_wrapped_server_that_cannot_be_started_is_told(era: Any) -> None:
    async def main() -> None:
        client = FakeClient(era)
        async with gateway({"a": Absent}, client, greeting=False, transparent=True):
            said = {"protocolVersion": "2025-11-25", "capabilities": {}}
            answer = await client.request("initialize" if era == "handshake" else "server/discover", said)
            assert "there is no program" in answer["error"]["message"]

    asyncio.run(main())


def test_one_that_ends_at_the_modern_question_is_asked_the_old_way_next_time() -> None:
    async def main() -> None:
        made: list[FakeServer] = []

        def die(server: FakeServer, _message: Message) -> Any:
            server.side.lost("it ended with exit code 1")
            return SILENT

        def connect() -> FakeServer:
            made.append(FakeServer("handshake", on={"server/discover": die}))
            return made[-1]

        client = FakeClient("modern")
        async with gateway({"a": connect}, client, greeting=False) as opened:
            await client.request("server/discover")
            await until(lambda: opened.routes.servers[0].running)
            assert (await client.call("a__echo"))["content"]
            assert len(made) == 2

    asyncio.run(main())


def test_pauses_grow_and_are_bounded() -> None:
    longest = [max(backoff(failures) for _ in range(200)) for failures in (1, 2, 3, 4, 20, 1000)]
    assert longest[0] < longest[1] < longest[2] < longest[3]
    assert all(pause <= LONGEST_PAUSE for pause in longest)
    assert len({backoff(5) for _ in range(20)}) > 1, "servers that fail together are not started together"


def test_a_flood_is_cut_off_and_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_connection, "UNASKED_AT_ONCE", 500)
    monkeypatch.setattr(server_connection, "UNASKED_A_SECOND", 1)

    async def main() -> None:
        made: list[FakeServer] = []

        def flood(server: FakeServer, _message: Message) -> Any:
            for _ in range(5000):
                server.say({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
            return RIGHT

        def connect() -> FakeServer:
            made.append(FakeServer(on={"tools/call": flood}))
            return made[-1]

        client = FakeClient("handshake")
        async with gateway({"a": connect, "b": FakeServer()}, client):
            error = (await client.request("tools/call", {"name": "a__echo"}))["error"]
            assert "frames a second unasked" in error["message"]
            assert len(client.heard("notifications/message")) <= 500
            assert (await client.call("b__echo"))["content"]
            await until(lambda: len(made) > 1)

    asyncio.run(main())


def test_so_many_questions_at_once_and_no_more() -> None:
    async def main() -> None:
        def ask(server: FakeServer, message: Message) -> Any:
            for number in range(server_connection.MAX_QUESTIONS + 5):
                server.say({"id": number, "method": "roots/list"})
            return SILENT

        client = FakeClient("handshake", {"roots": {}}, {"roots/list": lambda _message: SILENT})
        server = FakeServer("handshake", on={"tools/call": ask})
        async with gateway({"a": server}, client):
            client.begin("tools/call", {"name": "a__echo"})
            await until(lambda: len([one for one in server.seen if "error" in one]) == 5)
            assert len(client.heard("roots/list")) == server_connection.MAX_QUESTIONS

    asyncio.run(main())


def test_what_one_client_is_asked_is_never_put_to_another() -> None:
    async def main() -> None:
        roots: Message = {"roots/list": lambda _message: SILENT}
        one, two = FakeClient("handshake", {"roots": {}}, roots), FakeClient("handshake", {"roots": {}}, roots)
        server = FakeServer("handshake", on={"tools/call": lambda *_: SILENT})
        async with gateway({"a": server}, one) as opened:
            from interpose.doors.mcp.gate.contract import Client

            two.conversation = opened.converse(two, Client(principal="other"))
            await two.greet()
            assert (await server.ask(1, "roots/list"))["error"]["code"] == -32601, "two clients, and no call"
            one.begin("tools/call", {"name": "a__echo"})
            two.begin("tools/call", {"name": "a__echo"})
            await until(lambda: len(server.calls()) == 2)
            assert "error" in await server.ask(2, "roots/list")
            server.say({"id": 3, "method": "roots/list"}, during=server.calls()[1]["id"])
            await until(lambda: two.heard("roots/list"))
            assert not one.heard("roots/list")

    asyncio.run(main())


def test_a_client_that_asks_too_much_is_told_so() -> None:
    from interpose.doors.mcp.clients import conversation

    async def main() -> None:
        client = FakeClient("modern")
        async with gateway({"a": FakeServer(on={"tools/call": lambda *_: SILENT})}, client):
            for _ in range(conversation.MAX_OPEN):
                client.begin("tools/call", {"name": "a__echo"})
            error = (await client.request("tools/call", {"name": "a__echo"}))["error"]
            assert "under way already" in error["message"]

    asyncio.run(main())


def test_an_id_that_is_in_use_is_refused() -> None:
    async def main() -> None:
        client = FakeClient("modern")
        server = FakeServer(on={"tools/call": lambda *_: SILENT})
        async with gateway({"a": server}, client):
            id, _ = client.begin("tools/call", {"name": "a__echo"})
            await until(server.calls)
            client.say({"id": id, "method": "tools/call", "params": client.params({"name": "a__echo"})})
            await until(lambda: [one for one in client.frames if "error" in one])
            assert len(server.calls()) == 1

    asyncio.run(main())


def test_answered_requests_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_connection, "MAX_OPEN", 10)

    async def main() -> None:
        client = FakeClient("modern")
        failing = FakeServer(on={"prompts/get": lambda *_: "no result", "prompts/list": {"prompts": [{"name": "p"}]}})
        failing.capabilities["prompts"] = {"listChanged": True}
        async with gateway({"a": failing}, client):
            for _ in range(20):
                await client.call("a__echo")
                assert "error" in await client.request("prompts/get", {"name": "a__p"})

    asyncio.run(main())
