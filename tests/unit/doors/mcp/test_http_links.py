"""Servers over HTTP: what they are sent, and what they can't do by lying, hanging, flooding, growing or dying."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from interpose.doors.mcp.links import http_replies
from tests.support.peers.mcp_http import MODERN, OLD, Asked, HttpToy, answer, listening, reply, site, text_of
from tests.support.peers.mcp_peers import FakeServer, until
from tests.support.timing.patience import PATIENCE

Run = Callable[[Coroutine[Any, Any, None]], None]
CALL = {"name": "toy__echo", "arguments": {"x": 1}}
GOOD = {"name": "good__echo", "arguments": {"y": 2}}


def during_calls(said: Callable[[Asked, Any], Any]) -> Any:
    """A script that answers calls by itself, and all else as usual."""

    def script(asked: Asked, writer: Any) -> Any:
        return said(asked, writer) if asked.message.get("method") == "tools/call" else NotImplemented

    return script


def stream(*events: Any, ends: bool = True, **headers: str) -> bytes:
    """A chunked stream of events."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    made = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n{lines}\r\n".encode()
    for event in events:
        data = event if isinstance(event, bytes) else b"data: " + json.dumps(event).encode() + b"\n\n"
        made += b"%x\r\n%b\r\n" % (len(data), data)
    return made + (b"0\r\n\r\n" if ends else b"")


def result(asked: Asked, text: str = "done") -> Any:
    return {"jsonrpc": "2.0", "id": asked.message["id"], "result": {"content": [{"type": "text", "text": text}]}}


def closing(data: bytes) -> Any:
    async def script(_asked: Asked, writer: Any) -> None:
        writer.write(data)
        await writer.drain()
        writer.close()

    return script


def test_what_a_modern_server_is_sent(run: Run) -> None:
    async def main() -> None:
        async with listening(HttpToy()) as toy:
            annotated = {"city": {"type": "string", "x-mcp-header": "City"}, "count": {"type": "integer"}}
            toy.tools = [{"name": "echo", "inputSchema": {"type": "object", "properties": annotated}}]
            async with site({"toy": toy.link()}) as one:
                await one.modern("tools/list", {})
                call = {"name": "toy__echo", "arguments": {"city": "Zürich", "count": 2}}
                said = await one.modern("tools/call", call, Mcp_Param_City="=?base64?WsO8cmljaA==?=")
                assert said.status == 200, said
                (seen,) = toy.calls()
                assert seen.headers["mcp-protocol-version"] == MODERN
                assert seen.headers["mcp-method"] == "tools/call"
                assert seen.headers["mcp-name"] == "echo"
                assert seen.headers["mcp-param-city"] == "=?base64?WsO8cmljaA==?="
                assert "mcp-session-id" not in seen.headers
                assert "mcp-param-count" not in seen.headers

    run(main())


def test_what_an_old_server_is_sent(run: Run) -> None:
    async def main() -> None:
        async with listening(HttpToy(modern=False)) as toy, site({"toy": toy.link()}) as one:
            assert text_of(await one.modern("tools/call", CALL)) == '{"x": 1}'
            by_method = {seen.message.get("method", seen.method): seen for seen in toy.asked}
            assert "mcp-session-id" not in by_method["initialize"].headers
            assert "mcp-protocol-version" not in by_method["initialize"].headers
            for method in ("notifications/initialized", "tools/list", "tools/call"):
                headers = by_method[method].headers
                assert (headers["mcp-session-id"], headers["mcp-protocol-version"]) == ("toy-session", OLD)
                assert "mcp-method" not in headers
            await until(lambda: any(seen.method == "GET" for seen in toy.asked))
        assert toy.asked[-1].method == "DELETE"

    run(main())


def redirect(location: str) -> bytes:
    return answer(307, b"", Location=location)


BAD: list[tuple[str, Any, str]] = [
    ("an error of HTTP", lambda asked, _w: answer(500, b"oops", "text/plain"), "HTTP 500"),
    ("a page", lambda asked, _w: answer(200, b"<html>", "text/html"), "no answer"),
    ("an answer to something else", lambda asked, _w: reply(999, {"content": []}), "no answer"),
    ("no JSON", lambda asked, _w: answer(200, b"{"), "no answer"),
    ("a redirect to another host", lambda asked, _w: redirect("http://169.254.169.254/"), "not followed"),
    ("a redirect without an end", lambda asked, _w: redirect("/mcp"), "not followed"),
    ("a redirect to another scheme", lambda asked, _w: redirect("https://127.0.0.1/mcp"), "not followed"),
    ("a stream without an answer", lambda asked, _w: stream(), "without an answer"),
    ("a stream with other answers", lambda asked, _w: stream({"jsonrpc": "2.0", "id": 9}), "without an answer"),
    ("an event without an end", lambda asked, _w: stream(b"data: " + b"x" * 70_000, ends=False), "more than"),
    ("many pieces of an event without an end", lambda asked, _w: stream(*[b"y" * 900] * 100, ends=False), "more than"),
    ("an answer without an end", lambda asked, _w: answer(200, b" " * 70_000), "more than"),
    ("a head without an end", lambda asked, _w: answer(200, b"", **{f"X-{n}": "z" * 900 for n in range(99)}), "head"),
    ("no HTTP", lambda asked, _w: b"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1"),
    ("another protocol", lambda asked, _w: b"HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "protocol"),
    ("a coding that nobody asked for", lambda asked, _w: answer(200, b"x", **{"Content-Encoding": "gzip"}), "coding"),
    ("it dies before it answers", closing(b""), "closed"),
    ("it dies in its answer", closing(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"), "closed"),
    ("it dies in its stream", closing(stream(ends=False)), "without an answer"),
    ("it never answers", lambda asked, _w: None, "did not answer within"),
    ("it accepts, and never answers", lambda asked, _w: answer(202, b""), "HTTP 202"),
    ("an error of its own in other words", lambda asked, _w: answer(401, b"{}"), "token"),
]  # fmt: skip


@pytest.mark.parametrize("modern", [True, False], ids=["modern", "handshake"])
@pytest.mark.parametrize(("note", "said", "why"), BAD, ids=[row[0] for row in BAD])
def test_a_bad_server_harms_itself_at_worst(
    note: str, said: Any, why: str, modern: bool, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_replies, "MAX_FRAME", 65_536)

    async def main() -> None:
        good = FakeServer()
        bad = HttpToy(during_calls(said), modern=modern)
        async with listening(bad), site({"toy": bad.link(), "good": lambda: good}, seconds=1) as one:
            answered = await one.modern("tools/call", CALL)
            problem = answered.json["error"]["message"]
            assert why in problem, (note, problem)
            assert text_of(await one.modern("tools/call", GOOD)) == '{"y": 2}'
            # Its next call is judged by what it does then.
            bad.script = None
            await until(lambda: one.gateway.routes.servers[0].running)
            assert text_of(await one.modern("tools/call", CALL)) == '{"x": 1}'

    run(main())


def test_a_redirect_within_the_same_place_is_followed(run: Run) -> None:
    def script(asked: Asked, _writer: Any) -> Any:
        return answer(307, b"", Location="/mcp/") if asked.path == "/mcp" else NotImplemented

    async def main() -> None:
        async with listening(HttpToy(script)) as toy, site({"toy": toy.link()}) as one:
            assert text_of(await one.modern("tools/call", CALL)) == '{"x": 1}'

    run(main())


def test_a_flood_ends_the_connection_and_nothing_else(run: Run) -> None:
    def flooding(asked: Asked, _writer: Any) -> bytes:
        line = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
        return stream(b"".join(b"data: " + json.dumps(line).encode() + b"\n\n" for _ in range(20_000)), ends=False)

    async def main() -> None:
        good = FakeServer()
        bad = HttpToy(during_calls(flooding))
        async with listening(bad), site({"toy": bad.link(), "good": lambda: good}) as one:
            answered = await one.modern("tools/call", CALL)
            assert "cut off" in answered.json["error"]["message"]
            assert text_of(await one.modern("tools/call", GOOD)) == '{"y": 2}'

    run(main())


def test_a_session_that_ended_is_begun_anew(run: Run) -> None:
    async def main() -> None:
        async with listening(HttpToy(modern=False)) as toy, site({"toy": toy.link()}) as one:
            assert text_of(await one.modern("tools/call", CALL)) == '{"x": 1}'
            toy.script = during_calls(lambda _asked, _writer: answer(404, b""))
            assert "session ended" in (await one.modern("tools/call", CALL)).json["error"]["message"]
            toy.script = None
            server = one.gateway.routes.servers[0]
            await until(lambda: server.running)
            assert text_of(await one.modern("tools/call", CALL)) == '{"x": 1}'
            assert sum(seen.message.get("method") == "initialize" for seen in toy.asked) == 2

    run(main())


def test_an_old_server_may_let_go_of_a_stream_and_go_on(run: Run) -> None:
    waiting: list[Any] = []

    def script(asked: Asked, _writer: Any) -> Any:
        if asked.message.get("method") == "tools/call":
            waiting.append(asked)
            return stream(b"id: 7\nretry: 50\ndata:\n\n")
        if asked.method == "GET" and "last-event-id" in asked.headers:
            assert asked.headers["last-event-id"] == "7"
            return stream(result(waiting[0], "later"))
        return NotImplemented

    async def main() -> None:
        async with listening(HttpToy(script, modern=False)) as toy, site({"toy": toy.link()}) as one:
            assert text_of(await one.modern("tools/call", CALL)) == "later"

    run(main())


def test_to_cancel_is_to_end_the_stream_or_to_say_so(run: Run) -> None:
    async def main(modern: bool) -> None:
        ended = asyncio.Event()

        async def script(asked: Asked, writer: Any) -> Any:
            if asked.message.get("method") != "tools/call":
                return NotImplemented
            asyncio.get_running_loop().create_task(_watch(writer, ended))
            return None

        async with listening(HttpToy(script, modern=modern)) as toy, site({"toy": toy.link()}, seconds=0.3) as one:
            answered = await one.modern("tools/call", CALL)
            assert "did not answer within" in answered.json["error"]["message"]
            await asyncio.wait_for(ended.wait(), PATIENCE)
            told = [seen for seen in toy.asked if seen.message.get("method") == "notifications/cancelled"]
            if modern:
                assert told == []
            else:
                await until(lambda: any(b"notifications/cancelled" in seen.body for seen in toy.asked))

    run(main(True))
    run(main(False))


async def _watch(writer: Any, ended: asyncio.Event) -> None:
    transport = writer.transport
    while not transport.is_closing():
        await asyncio.sleep(0.01)
    ended.set()


def test_a_hundred_calls_at_once_share_kept_connections(run: Run) -> None:
    async def main() -> None:
        async with listening(HttpToy()) as toy, site({"toy": toy.link()}) as one:
            await one.modern("tools/list", {})
            calls = [{"name": "toy__echo", "arguments": {"n": n}} for n in range(100)]
            answers = await asyncio.gather(*(one.modern("tools/call", call) for call in calls))
            assert [json.loads(text_of(said))["n"] for said in answers] == list(range(100))

    run(main())


def test_a_server_that_is_not_there_is_said_to_be(run: Run) -> None:
    async def main() -> None:
        toy = HttpToy()
        async with listening(toy):
            pass
        async with site({"toy": toy.link()}) as one:
            said = await one.modern("tools/call", CALL)
            assert "does not run" in said.json["error"]["message"]
            assert "can't be connected to" in said.json["error"]["message"]

    run(main())


def test_a_batch_of_an_old_server_is_taken_apart(run: Run) -> None:
    def batch(asked: Asked, _writer: Any) -> bytes:
        log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
        return answer(200, json.dumps([log, result(asked)]).encode())

    async def main() -> None:
        async with listening(HttpToy(during_calls(batch), modern=False)) as toy, site({"toy": toy.link()}) as one:
            assert text_of(await one.modern("tools/call", CALL)) == "done"

    run(main())
