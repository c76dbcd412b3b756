"""The MUSTs of MCP's security practices, one test each, on a gateway with real sockets and processes.

Where a duty has a table of its own elsewhere, the test here is the plainest case of it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from interpose.core.config.load import load
from interpose.core.errors import ConfigError
from interpose.doors.http_client.addresses import parse_url
from interpose.doors.mcp.gate.contract import AskClient
from interpose.doors.mcp.links.child_link import ChildLink, ServerProgram
from interpose.doors.mcp.links.header_values import annotated
from interpose.doors.mcp.links.http_link import HttpLink, HttpPlace
from interpose.doors.mcp.links.links import LinkError
from tests.support.peers.mcp_http import MODERN, TOKENS, Asked, HttpToy, answer, bearer, frame, listening, site, text_of
from tests.support.peers.mcp_peers import SILENT, FakeServer, OpenGate, tool, until
from tests.support.timing.growth import grows_linearly

Run = Callable[[Coroutine[Any, Any, None]], None]
CALL = {"name": "toy__echo", "arguments": {"x": 1}}


def test_no_token_is_passed_through(run: Run) -> None:
    """MUST NOT pass the token that came from the client through to a server."""

    async def main() -> None:
        for modern in (True, False):
            async with listening(HttpToy(modern=modern)) as toy, site({"toy": toy.link()}) as one:
                headers = {"Cookie": "session=1", "X_Api_Key": "k" * 30, "Proxy_Authorization": "Basic eA=="}
                assert text_of(await one.modern("tools/call", CALL, **headers)) == '{"x": 1}'
                old = await one.begin("bob")
                assert (await one.ask("POST", old, frame(5, "tools/call", CALL))).status == 200
                for seen in toy.asked:
                    whole = json.dumps(dict(seen.headers)) + seen.body.decode()
                    assert not any(token in whole for token in TOKENS.values())
                    assert seen.headers.keys().isdisjoint(
                        {"authorization", "cookie", "x-api-key", "proxy-authorization"}
                    )
                assert len(toy.calls()) == 2

    run(main())


@pytest.mark.parametrize(
    ("note", "headers"),
    [
        ("a page of another site", {"Origin": "https://evil.example"}),
        ("a page without a place", {"Origin": "null"}),
        ("a name that was made to point here", {"Host": "evil.example:8090"}),
        ("a form of another site", {"Sec-Fetch-Site": "cross-site"}),
    ],
)
def test_host_and_origin_are_checked(note: str, headers: dict[str, str], run: Run) -> None:
    """MUST validate the Origin header (DNS rebinding), and the Host, also of who has a token."""

    async def main() -> None:
        server = FakeServer()
        async with site({"toy": lambda: server}) as one:
            said = await one.ask("POST", bearer("ada") | headers, frame(1, "initialize", {}))
            assert said.status == 403, note
            assert len(one.clients.sessions) == 0

    run(main())


def test_headers_equal_the_body(run: Run) -> None:
    """MUST reject a request whose headers say something else than its body: 400 and -32020."""

    async def main() -> None:
        server = FakeServer(tools=("echo", "delete"))
        async with site({"toy": lambda: server}) as one:
            said = await one.modern("tools/call", {"name": "toy__delete", "arguments": {}}, Mcp_Name="toy__echo")
            assert (said.status, said.json["error"]["code"]) == (400, -32020)
            assert server.calls() == []

    run(main())


INNER = [
    ("a redirect of a call", "redirect"),
    ("the place where messages of the old transport go", "endpoint"),
    ("a link in a result", "link"),
]


@pytest.mark.parametrize(("note", "way"), INNER, ids=[note for note, _ in INNER])
def test_a_server_can_t_send_us_into_the_private_network(note: str, way: str, run: Run) -> None:
    """SSRF: what a server names is not fetched, and a name does not lead where it must not."""

    async def main() -> None:
        async with listening(HttpToy()) as inner:
            target = f"http://localhost:{inner.port}/latest/meta-data"

            def script(asked: Asked, writer: Any) -> Any:
                if way == "redirect" and asked.message.get("method") == "tools/call":
                    return answer(307, b"", Location=target)
                if way == "link" and asked.message.get("method") == "tools/call":
                    link = {"type": "resource_link", "uri": target, "name": "x"}
                    body = {"jsonrpc": "2.0", "id": asked.message["id"], "result": {"content": [link]}}
                    return answer(200, json.dumps(body).encode())
                if way == "endpoint" and asked.method == "GET":
                    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                    return head + f"event: endpoint\ndata: {target}\n\n".encode()
                return NotImplemented

            async with listening(HttpToy(script)) as toy:
                from interpose.doors.mcp.links.sse_link import SseLink

                place = HttpPlace(name="toy", url=parse_url(toy.url), reach="named")
                link: Callable[[], Any] = (lambda: SseLink(place)) if way == "endpoint" else toy.link()
                async with site({"toy": link}) as one:
                    said = await one.modern("tools/call", CALL)
                    assert ("error" in said.json) == (way != "link"), note
            assert inner.asked == []

    run(main())


@pytest.mark.parametrize("address", ["10.1.2.3", "127.0.0.1", "169.254.169.254", "192.168.0.1", "fd00::1", "::1"])
def test_a_name_that_leads_into_the_private_network_is_refused(
    address: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SSRF: MUST NOT connect to private ranges unless the operator named the host."""

    async def main() -> None:
        async def lookup(host: str, port: int, **more: Any) -> Any:
            return [(2, 1, 6, "", (address, port))]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", lookup, raising=False)
        link = HttpLink(HttpPlace(name="toy", url=parse_url("https://mcp.vendor.example/mcp")))
        with pytest.raises(LinkError, match=r"private network|this machine|link-local"):
            await link.open(FakeSide())

    asyncio.run(main())


class FakeSide:
    """Who hears a server; here nobody."""

    def received(self, line: bytes, during: int | None = None, /) -> None: ...

    def lost(self, why: str, /) -> None: ...


def test_servers_are_started_without_a_shell(tmp_path: Path, run: Run) -> None:
    """MUST NOT run what stands in a configuration through a shell."""

    async def main() -> None:
        heard: list[bytes] = []
        side = FakeSide()
        side.received = lambda line, during=None, /: heard.append(line)  # type: ignore[method-assign]
        given = ("; touch hit", "$(touch hit)", "`touch hit`", "| touch hit", "a b", "*")
        code = "import json, sys; print(json.dumps(sys.argv[1:]), flush=True); sys.stdin.read()"
        program = ServerProgram(name="toy", command=sys.executable, args=("-c", code, *given), cwd=str(tmp_path))
        link = ChildLink(program)
        await link.open(side)
        await until(lambda: heard)
        await link.close()
        assert json.loads(heard[0]) == list(given)
        assert list(tmp_path.iterdir()) == []

    run(main())


def behind_oauth(**secrets: Any) -> Any:
    return {"url": "https://x.example", "oauth": {"client_id": "a", "issuer": "https://i.example"} | secrets}


WRITTEN = [
    ("a variable", {"command": "x", "env": {"GITHUB_TOKEN": "ghp_1"}}),
    ("a header", {"url": "https://x.example", "headers": {"Authorization": "Bearer abc"}}),
    ("a client's secret", behind_oauth(client_secret="s")),
    ("a refresh token", behind_oauth(refresh_token="s")),
    ("a user's token", behind_oauth(client_secret="${S}", users={"ada": "s"})),
    ("half of one", behind_oauth(client_secret="s${S}")),
]


@pytest.mark.parametrize(("note", "server"), WRITTEN, ids=[note for note, _ in WRITTEN])
def test_secrets_stand_in_the_environment_or_the_keyring_alone(
    note: str, server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MUST NOT keep secrets in plain text in the configuration."""
    monkeypatch.setenv("S", "secret")
    file = tmp_path / "interpose.yaml"
    file.write_text(json.dumps({"gateway": {"servers": {"toy": server}}}), encoding="utf-8")
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="a secret does not stand in this file"):
        load(str(file))


def test_references_of_schemas_are_bounded_and_never_fetched(run: Run) -> None:
    """MUST NOT follow `$ref` to other places, and MUST bound what is followed."""
    loop: dict[str, Any] = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    deep: Any = {"type": "string", "x-mcp-header": "Deep"}
    for _ in range(5000):
        deep = {"type": "object", "properties": {"p": deep}}
    wide = {
        size: {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(size)}}
        for size in (50_000, 200_000)
    }

    async def main() -> None:
        async with listening(HttpToy()) as inner:
            outside = {"$ref": f"http://127.0.0.1:{inner.port}/schema", "type": "object"}
            tools = [tool(name, inputSchema=one, outputSchema=one) for name, one in (("loop", loop), ("out", outside))]
            said = {"content": [], "structuredContent": {"a": {"b": 1}}}
            server = FakeServer(on={"tools/list": {"tools": tools}, "tools/call": lambda _s, _m: said})
            async with site({"toy": lambda: server}) as one:
                for name in ("toy__loop", "toy__out"):
                    answered = await one.modern("tools/call", {"name": name, "arguments": {"a": 1}})
                    assert answered.status == 200
            assert inner.asked == []

    run(main())
    assert annotated(deep) in ({}, None)
    assert annotated(wide[200_000]) is None
    assert grows_linearly(lambda size: annotated(wide[size]), 50_000)


def test_a_session_is_not_authentication(run: Run) -> None:
    """MUST NOT use sessions for authentication; MUST verify each request; ids MUST NOT be guessable."""

    async def main() -> None:
        server = FakeServer("handshake")
        async with site({"toy": lambda: server}) as one:
            sessions = [(await one.begin("ada"))["Mcp-Session-Id"] for _ in range(8)]
            assert len(set(sessions)) == 8
            assert all(len(session) >= 40 for session in sessions)
            for who in ({}, {"Authorization": f"Bearer {TOKENS['bob']}"}):
                headers = {name: value for name, value in bearer("ada").items() if name != "Authorization"}
                said = await one.ask(
                    "POST", headers | who | {"Mcp-Session-Id": sessions[0]}, frame(2, "tools/call", CALL)
                )
                assert said.status in (401, 404)
            assert server.calls() == []

    run(main())


def test_the_session_of_governance_is_not_that_of_the_connection(run: Run) -> None:
    """Nobody gets into another's session, or out of their own, by opening connections or naming sessions."""

    async def main() -> None:
        server = FakeServer()
        gate = OpenGate()
        async with site({"toy": lambda: server}, gate=gate) as one:
            await one.modern("tools/call", CALL, "ada")
            headers = await one.begin("ada")
            await one.ask("POST", headers, frame(2, "tools/call", CALL))
            named = CALL | {"_meta": {"interpose/session": "hers"}}
            for who in ("ada", "bob"):
                await one.modern("tools/call", named, who)
            await one.modern("tools/call", CALL, "bob")
            sessions = [asked.client.context.session_id for asked in gate.asked]
            assert sessions == ["mcp:ada", "mcp:ada", "ada:hers", "bob:hers", "mcp:bob"]

    run(main())


def test_the_state_of_a_question_belongs_to_its_user(run: Run) -> None:
    """Confused deputy: what one user was asked can't be answered by another, for another call, or twice."""
    spent: list[str] = []

    async def asking(server: FakeServer, message: Any) -> Any:
        said = await server.ask(
            f"q{len(server.answers)}", "elicitation/create", {"message": "Sure?", "requestedSchema": {}}
        )
        spent.append(json.dumps(said.get("result", said.get("error"))))
        return {"content": [{"type": "text", "text": "done"}]}

    async def main() -> None:
        server = FakeServer("handshake", on={"tools/call": asking})
        async with site({"toy": lambda: server}) as one:
            asked = (await one.modern("tools/call", CALL, "ada")).json["result"]
            assert asked["resultType"] == "input_required"
            (key,) = asked["inputRequests"]
            again = {
                "requestState": asked["requestState"],
                "inputResponses": {key: {"action": "accept", "content": {}}},
            }
            other = {"name": "toy__echo", "arguments": {"x": 2}}
            for who, call in (("bob", CALL), ("ada", other)):
                said = await one.modern("tools/call", call | again, who)
                assert said.json["error"]["code"] == -32602
            assert spent == []
            assert text_of(await one.modern("tools/call", CALL | again, "ada")) == "done"
            assert (await one.modern("tools/call", CALL | again, "ada")).json["error"]["code"] == -32602
            assert len(spent) == 1

    run(main())


def test_an_undeclared_question_is_never_put(run: Run) -> None:
    """MUST NOT ask a client in a way that it did not declare."""

    async def main() -> None:
        asks = AskClient({"q": {"method": "elicitation/create", "params": {"message": "?", "mode": "url"}}}, "s")
        server = FakeServer("handshake", on={"tools/call": lambda _server, _message: SILENT})
        async with site({"toy": lambda: server}, gate=OpenGate(lambda _asked: asks)) as one:
            headers = await one.begin("ada")  # it declares nothing
            said = await one.ask("POST", headers, frame(2, "tools/call", CALL))
            assert said.json["error"]["code"] == -32021
            assert MODERN not in said.body.decode()

    run(main())
