"""Whatever a client sends, a server gets only what the gate let through, encoded from the value that was judged."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from interpose.doors.mcp.gate.contract import AskClient, Asked, Fail, Forward, Gated
from tests.support.noted import noted
from tests.support.peers.mcp_peers import (
    FakeClient,
    FakeServer,
    Message,
    OpenCatalogue,
    OpenGate,
    gateway,
    refusing,
    text,
    until,
)

BAD = {"name": "a__echo", "arguments": {"x": "bad"}}


def frame(id: Any, method: str, params: Any, **more: Any) -> bytes:
    body = {"jsonrpc": "2.0", "method": method, "params": params} | more
    return json.dumps(body if id is None else body | {"id": id}).encode()


def call(params: str, head: str = '"id":50') -> bytes:
    return f'{{"jsonrpc":"2.0",{head},"method":"tools/call","params":{params}}}'.encode()


SMUGGLED = noted(
    [
        ("a call", (frame(50, "tools/call", BAD),)),
        ("the slash escaped", (frame(50, "tools/call", BAD).replace(b"tools/call", b"tools\\/call"),)),
        ("the method in unicode escapes", (frame(50, "tools/call", BAD).replace(b"tools", b"\\u0074ools"),)),
        ("the method twice", (call(json.dumps(BAD), '"id":50,"method":"ping"'),)),
        ("the arguments twice", (call('{"name":"a__echo","arguments":{"x":"good"},"arguments":{"x":"bad"}}'),)),
        ("the good ones last", (call('{"name":"a__echo","arguments":{"x":"bad"},"arguments":{"x":"good"}}'),)),
        ("a key of the arguments twice", (call('{"name":"a__echo","arguments":{"x":"bad","x":"good"}}'),)),
        ("without an id", (frame(None, "tools/call", BAD),)),
        ("with a null id", (call(json.dumps(BAD), '"id":null'),)),
        ("in a batch", (b"[" + frame(50, "tools/call", BAD) + b"]",)),
        ("in other letters", (frame(50, "Tools/Call", BAD),)),
        ("with a space", (frame(50, "tools/call ", BAD),)),
        ("as a method that nobody knows", (frame(50, "acme/run", BAD),)),
        ("as a notification that nobody knows", (frame(None, "notifications/acme", BAD),)),
        ("as a task's update", (frame(50, "tasks/update", BAD | {"taskId": "a__1"}),)),
        ("as a completion", (frame(50, "completion/complete", {"ref": BAD, "argument": {}}),)),
        ("the server's own name", (frame(50, "tools/call", {"name": "echo", "arguments": {"x": "bad"}}),)),
        ("the name of nobody", (frame(50, "tools/call", {"name": "b__echo", "arguments": {"x": "bad"}}),)),
        ("a tool that is not shown", (frame(50, "tools/call", {"name": "a__secret", "arguments": {"x": "bad"}}),)),
        ("the arguments as a text", (frame(50, "tools/call", {"name": "a__echo", "arguments": "bad"}),)),
        ("the name as a list", (frame(50, "tools/call", {"name": ["a__echo"], "arguments": {"x": "bad"}}),)),
        ("the params as a list", (frame(50, "tools/call", ["a__echo", "bad"]),)),
        ("an answer to nothing", (json.dumps({"jsonrpc": "2.0", "id": 1, "result": BAD}).encode(),)),
        ("with a result beside", (frame(50, "tools/call", BAD, result={}),)),
        ("bytes that are no text", (frame(50, "tools/call", BAD).replace(b"bad", b"bad\xff"),)),
        ("deep", (frame(50, "tools/call", {"name": "a__echo", "arguments": {"x": "bad"}}).replace(
            b'"bad"', b"[" * 5000 + b'"bad"' + b"]" * 5000),)),
    ]
)  # fmt: skip


@pytest.mark.parametrize("era", ["handshake", "modern"])
@pytest.mark.parametrize("line", SMUGGLED)
def test_a_call_that_the_gate_refuses_reaches_no_server(line: bytes, era: Any) -> None:
    async def main() -> None:
        server, client, gate = FakeServer("handshake"), FakeClient("handshake"), OpenGate(refusing)
        async with gateway({"a": server}, client, gate):
            client.raw(line)
            if era == "modern":  # one connection may carry both: each request says its own
                client.era = "modern"
                try:
                    message = json.loads(line)
                except (ValueError, RecursionError):
                    return
                if not isinstance(message, dict) or not isinstance(message.get("params"), dict):
                    return
                client.say(message | {"params": client.params(message["params"])})
            client.era = "handshake"
            await client.call("a__echo", {"x": "after"})
            sent = [line for line in server.lines if b"bad" in line]
            assert sent == []

    asyncio.run(main())


def test_what_is_sent_is_what_was_judged() -> None:
    async def main() -> None:
        def rewriting(asked: Asked) -> Gated | None:
            return Forward({**asked.params, "arguments": {"x": "rewritten"}}, "ticket")

        server, client, gate = FakeServer("handshake"), FakeClient("handshake"), OpenGate(rewriting)
        async with gateway({"a": server}, client, gate):
            client.raw(
                b'{"jsonrpc":"2.0","id":90,"method":"tools/call","params":'
                b'{"name":"a__echo","name":"a__echo","arguments":{"x":1,"x":2},"_meta":{"k":1}}}'
            )
            await until(server.calls)
            (asked,) = gate.asked
            assert asked.params == {"name": "echo", "arguments": {"x": 2}, "_meta": {"k": 1}}
            assert (asked.server, asked.name, asked.method) == ("a", "echo", "tools/call")
            assert server.calls()[0]["params"] == {"name": "echo", "arguments": {"x": "rewritten"}, "_meta": {"k": 1}}

    asyncio.run(main())


def test_params_that_nobody_judges_reach_no_server() -> None:
    async def main() -> None:
        server, client = FakeServer("handshake"), FakeClient("handshake")
        async with gateway({"a": server}, client):
            await client.call("a__echo", {"x": 1}, command="rm", task={"ttl": 5, "command": "rm"}, inputResponses={})
            assert server.calls()[0]["params"] == {"name": "echo", "arguments": {"x": 1}, "task": {"ttl": 5}}

    asyncio.run(main())


@pytest.mark.parametrize(("said", "got"), [("good", "good"), ("bad", None)])
def test_answers_of_an_old_client_to_an_old_server_are_judged(said: str, got: str | None) -> None:
    async def asking(server: FakeServer, _message: Message) -> Any:
        answer = await server.ask("q", "elicitation/create", {"message": "Which?", "requestedSchema": {}})
        return text("got " + answer.get("result", {}).get("content", {}).get("x", "nothing"))

    async def main() -> None:
        server = FakeServer("handshake", on={"tools/call": asking})
        answers = {"elicitation/create": {"action": "accept", "content": {"x": said}}}
        client, gate = FakeClient("handshake", {"elicitation": {}}, answers), OpenGate(refusing)
        async with gateway({"a": server}, client, gate):
            result = await client.call("a__echo", {"x": 1})
            assert result["content"][0]["text"] == f"got {got or 'nothing'}"
            assert gate.asked[-1].continues == 1, "with the call that it is about"
            assert [line for line in server.lines if b"bad" in line] == []

    asyncio.run(main())


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_nobody_subscribes_to_what_they_may_not_read(era: Any) -> None:
    async def main() -> None:
        on: Message = {"resources/subscribe": {}, "resources/list": {"resources": []}}
        server, client = FakeServer("handshake", on=on, resources={"subscribe": True}), FakeClient(era)
        async with gateway({"a": server}, client):
            if era == "modern":
                wanted = {"notifications": {"resourceSubscriptions": ["x:good", "x:bad"]}}
                answer = await client.request("subscriptions/listen", wanted)
            else:
                await client.result("resources/subscribe", {"uri": "x:good"})
                answer = await client.request("resources/subscribe", {"uri": "x:bad"})
            assert answer["error"]["message"] == "refused"
            assert [line for line in server.lines if b"bad" in line] == []

    asyncio.run(main())


COMPLETIONS = noted(
    [
        ("a prompt that is held", ({"type": "ref/prompt", "name": "a__held"}, "x")),
        ("a prompt that nobody shows", ({"type": "ref/prompt", "name": "a__other"}, "x")),
        ("a template that nobody shows", ({"type": "ref/resource", "uri": "file:///etc/shadow"}, "x")),
        ("a text that is refused", ({"type": "ref/prompt", "name": "a__p"}, "bad")),
    ]
)


@pytest.mark.parametrize(("ref", "value"), COMPLETIONS)
def test_completions_are_judged_and_only_of_what_is_shown(ref: Message, value: str) -> None:
    async def main() -> None:
        on = {
            "prompts/list": {"prompts": [{"name": "p"}, {"name": "held"}]},
            "completion/complete": {"completion": {"values": ["found"]}},
        }
        server, client = FakeServer("handshake", on=on, prompts={}, completions={}), FakeClient("handshake")
        gate, catalogue = OpenGate(refusing), OpenCatalogue(["held"])
        async with gateway({"a": server}, client, gate, catalogue):
            argument = {"name": "x", "value": value}
            await client.request("completion/complete", {"ref": ref, "argument": argument})
            assert server.calls("completion/complete") == []
            good = {"ref": {"type": "ref/prompt", "name": "a__p", "more": 1}, "argument": {"name": "x", "value": "v"}}
            done = await client.result("completion/complete", {**good, "more": "x"})
            assert done["completion"]["values"] == ["found"]
            (sent,) = server.calls("completion/complete")
            ours = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": good["argument"]}
            assert sent["params"] == ours
            assert gate.results[-1][2] == done, "what comes of it is looked at"

    asyncio.run(main())


def test_lines_within_a_frame_are_no_frames() -> None:
    """What HTTP may carry pretty-printed is one line on stdio, and no key in it can become a frame."""
    from interpose.doors.mcp.links.lines import as_line

    inner = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}'
    for end in (b"\n", b"\r", b"\r\n"):
        line = as_line(b'{"a":' + end + inner + end + b"}")
        assert line.count(b"\n") == 1
        assert line.endswith(b"\n")
        assert b"\r" not in line


@pytest.mark.parametrize("broken", ["before", "after", "failed"])
def test_a_gate_that_breaks_refuses(broken: str) -> None:
    async def main() -> None:
        class Broken(OpenGate):
            pass

        async def raising(*_: Any) -> Any:
            raise RuntimeError("oops")

        gate = Broken()
        setattr(gate, broken, raising)
        on = {"tools/call": lambda *_: 1 / 0} if broken == "failed" else {}
        server, client = FakeServer("modern", on=on), FakeClient("modern")
        if broken == "failed":
            server.on["tools/call"] = "no result"
        async with gateway({"a": server}, client, gate):
            answer = await client.request("tools/call", {"name": "a__echo", "arguments": {"x": "secret"}})
            assert "error" in answer
            assert "oops" not in json.dumps(answer)
            assert "secret" not in json.dumps(answer)
            assert bool(server.calls()) == (broken != "before")

    asyncio.run(main())


def test_what_the_gate_says_instead() -> None:
    async def main() -> None:
        client = FakeClient("handshake")
        on = {"prompts/list": {"prompts": [{"name": "p"}]}, "prompts/get": {"messages": []}}
        server = FakeServer("handshake", on=on, prompts={})
        gate = OpenGate(lambda asked: Fail(-32010, "No.") if asked.method == "prompts/get" else refusing(asked))
        async with gateway({"a": server}, client, gate):
            assert (await client.call("a__echo", {"x": "bad"}))["isError"] is True
            answer = await client.request("prompts/get", {"name": "a__p", "arguments": {"y": "1"}})
            assert answer["error"] == {"code": -32010, "message": "No."}
            assert not server.calls("prompts/get")

    asyncio.run(main())


@pytest.mark.parametrize("era", ["handshake", "modern"])
def test_a_question_of_the_gate(era: Any) -> None:
    form = {"ok": {"method": "elicitation/create", "params": {"mode": "form", "message": "May it?"}}}

    def asking(asked: Asked) -> Gated | None:
        if asked.state != "sealed":
            return AskClient(form, "sealed")
        return None if asked.responses["ok"]["action"] == "accept" else Fail(-32010, "No.")

    async def main(action: str) -> Message:
        capabilities: Message = {"elicitation": {"form": {}}}
        client = FakeClient(era, capabilities, {"elicitation/create": {"action": action}})
        server = FakeServer("modern", on={"tools/call": text("ran")})
        async with gateway({"a": server}, client, OpenGate(asking)):
            if era == "handshake":
                answer = await client.request("tools/call", {"name": "a__echo"})
                assert client.heard("elicitation/create")[0]["params"]["message"] == "May it?"
            else:
                asked = await client.call("a__echo")
                assert asked["inputRequests"] == form
                assert asked["requestState"] == "sealed"
                again = {"requestState": "sealed", "inputResponses": {"ok": {"action": action}}}
                answer = await client.request("tools/call", {"name": "a__echo", **again})
            assert len(server.calls()) == (action == "accept")
            for call in server.calls():
                assert not {"requestState", "inputResponses"} & call["params"].keys(), "those were ours"
            return answer

    assert asyncio.run(main("accept"))["result"]["content"]
    assert asyncio.run(main("decline"))["error"]["message"] == "No."


def test_what_is_held_can_neither_be_seen_nor_used() -> None:
    async def main() -> None:
        client, catalogue = FakeClient("modern"), OpenCatalogue(["evil"])
        server = FakeServer("modern", tools=("echo", "evil"))
        async with gateway({"a": server}, client, catalogue=catalogue):
            answer = await client.request("tools/call", {"name": "a__evil"})
            assert answer["result"]["isError"] is True
            assert answer["result"]["content"][0]["text"] == "evil is held"
            assert [one["name"] for one in (await client.result("tools/list"))["tools"]] == ["a__echo"]
            assert not server.calls()

    asyncio.run(main())


def test_only_methods_that_the_configuration_names_pass_unjudged() -> None:
    async def main() -> None:
        server = FakeServer("modern", on={"acme/status": {"fine": True}, "acme/run": {"ran": True}})
        client = FakeClient("modern")
        async with gateway({"a": server, "b": FakeServer("modern")}, client, methods_a=("acme/status",)):
            assert (await client.result("acme/status"))["fine"] is True
            assert (await client.request("acme/run"))["error"]["code"] == -32601
            assert not server.calls("acme/run")

    asyncio.run(main())


def test_what_is_said_to_us_in_meta_is_not_passed_on() -> None:
    async def main() -> None:
        server, client = FakeServer("modern"), FakeClient("modern")
        async with gateway({"a": server}, client):
            await client.call("a__echo", _meta={"interpose/session": "s", "traceparent": "00-1-1-01"})
            meta = server.calls()[0]["params"]["_meta"]
            assert "interpose/session" not in meta
            assert meta["traceparent"] == "00-1-1-01"

    asyncio.run(main())


def test_tools_that_are_looked_for_are_called_like_any_other() -> None:
    async def main() -> None:
        server, client, gate = FakeServer("modern", tools=("echo", "other")), FakeClient("modern"), OpenGate(refusing)
        async with gateway({"a": server}, client, gate, search=True):
            names = [one["name"] for one in (await client.result("tools/list"))["tools"]]
            assert names == ["search_tools", "call_tool"]
            found = await client.call("search_tools", {"query": "echo"})
            assert "a__echo" in found["content"][0]["text"]
            inner = {"name": "a__echo", "arguments": {"x": "bad"}}
            assert (await client.call("call_tool", inner))["isError"] is True
            assert not server.calls()
            assert (await client.call("call_tool", inner | {"arguments": {"x": 1}}))["content"]
            assert server.calls()[0]["params"]["arguments"] == {"x": 1}

    asyncio.run(main())
