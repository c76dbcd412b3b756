"""Our own tokens for servers behind OAuth: got, kept, replaced, and never another's."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from interpose.core.config.gateway_oauth import ServerOAuth
from interpose.core.errors import ConfigError
from interpose.doors.mcp.servers.server_oauth import OAuthTokens, open_tokens
from tests.support.peers.issuers import Issuer, basic
from tests.support.peers.mcp_http import Asked, HttpToy, answer, frame, listening, site, text_of
from tests.support.peers.mcp_peers import until

Run = Callable[[Coroutine[Any, Any, None]], None]
CALL = {"name": "toy__echo", "arguments": {"x": 1}}


def made(issuer: Issuer, toy: HttpToy, **more: Any) -> OAuthTokens:
    given = {"client_id": "gateway", "client_secret": "very secret", "issuer": issuer.issuer} | more
    return open_tokens("toy", toy.url, ServerOAuth(**given))


def bearers(toy: HttpToy) -> list[str]:
    return [seen.headers.get("authorization", "") for seen in toy.calls()]


@pytest.mark.parametrize("modern", [True, False], ids=["modern", "handshake"])
def test_a_server_gets_our_own_token_and_never_the_client_s(modern: bool, run: Run) -> None:
    async def main() -> None:
        async with listening(Issuer()) as issuer, listening(HttpToy(modern=modern)) as toy:
            assert isinstance(issuer, Issuer)
            async with site({"toy": toy.link(tokens=made(issuer, toy, scopes=("read",)))}) as one:
                for who in ("ada", "bob"):
                    assert text_of(await one.modern("tools/call", CALL, who)) == '{"x": 1}'
            assert bearers(toy) == ["Bearer gateway-token-1"] * 2
            assert {seen.headers["authorization"] for seen in toy.asked} == {"Bearer gateway-token-1"}
            (form,) = issuer.forms
            assert form == {"grant_type": "client_credentials", "resource": toy.url, "scope": "read"}
            assert issuer.authorizations == [basic("gateway", "very+secret")]

    run(main())


@pytest.mark.parametrize("modern", [True, False], ids=["modern", "handshake"])
def test_who_has_a_token_of_their_own_is_served_with_it(modern: bool, run: Run) -> None:
    async def main() -> None:
        number = iter(range(100))

        def script(asked: Asked, _writer: Any) -> Any:
            if asked.message.get("method") == "initialize":
                said = HttpToy(modern=False).usual(asked)
                return said.replace(b"toy-session", b"session-%d" % next(number))
            return NotImplemented

        async with listening(Issuer()) as issuer, listening(HttpToy(script, modern=modern)) as toy:
            assert isinstance(issuer, Issuer)
            tokens = made(issuer, toy, users={"ada": "adas-refresh"})
            async with site({"toy": toy.link(tokens=tokens)}) as one:
                for who in ("ada", "bob", "ada"):
                    assert text_of(await one.modern("tools/call", CALL, who)) == '{"x": 1}'
            hers, ours = "Bearer adas-refresh-token-2", "Bearer gateway-token-1"
            assert bearers(toy) == [hers, ours, hers]
            assert issuer.forms[1]["refresh_token"] == "adas-refresh"
            if not modern:
                sessions = [seen.headers["mcp-session-id"] for seen in toy.calls()]
                assert sessions == ["session-1", "session-0", "session-1"]
                for seen in toy.asked:
                    if (session := seen.headers.get("mcp-session-id")) is not None:
                        whose = {"session-0": ours, "session-1": hers}[session]
                        assert seen.headers["authorization"] == whose  # a session is never used with another's token

    run(main())


def test_what_belongs_to_somebody_s_call_goes_the_same_way(run: Run) -> None:
    """The answer to a question that the server asks during a call, and its cancellation."""
    number = iter(range(100))

    def script(asked: Asked, _writer: Any) -> Any:
        message = asked.message
        if message.get("method") == "initialize":
            return HttpToy(modern=False).usual(asked).replace(b"toy-session", b"session-%d" % next(number))
        if message.get("method") == "tools/call":
            question = {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"message": "?"}}
            data = b"data: " + json.dumps(question).encode() + b"\n\n"
            return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + data
        return NotImplemented

    async def main() -> None:
        async with listening(Issuer()) as issuer, listening(HttpToy(script, modern=False)) as toy:
            assert isinstance(issuer, Issuer)
            tokens = made(issuer, toy, users={"ada": "adas-refresh"})
            async with site({"toy": toy.link(tokens=tokens)}, seconds=1) as one:
                headers = await one.begin("ada")  # it declares nothing, so the question is refused for it
                said = await one.ask("POST", headers, frame(2, "tools/call", CALL))
                assert "did not answer" in said.json["error"]["message"]
                await until(lambda: any(b"notifications/cancelled" in seen.body for seen in toy.asked))
                mine = [seen for seen in toy.asked if seen.message.get("id") == "q" or b"/cancelled" in seen.body]
                assert [seen.headers["mcp-session-id"] for seen in mine] == ["session-1", "session-1"]
                assert {seen.headers["authorization"] for seen in mine} == {"Bearer adas-refresh-token-2"}

    run(main())


def test_a_token_that_is_refused_is_replaced_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpose.doors.mcp.servers.server_oauth.AGAIN", -1.0)

    def script(asked: Asked, _writer: Any) -> Any:
        refused = asked.headers.get("authorization") in ("Bearer gateway-token-1", "Bearer gateway-token-3")
        return answer(401, b"") if refused and asked.message.get("method") == "tools/call" else NotImplemented

    async def main() -> None:
        async with listening(Issuer()) as issuer, listening(HttpToy(script)) as toy:
            assert isinstance(issuer, Issuer)
            async with site({"toy": toy.link(tokens=made(issuer, toy))}) as one:
                assert text_of(await one.modern("tools/call", CALL)) == '{"x": 1}'
                assert bearers(toy) == ["Bearer gateway-token-1", "Bearer gateway-token-2"]

    run(main())


def test_a_token_is_replaced_before_it_ends(run: Run) -> None:
    async def main() -> None:
        async with listening(Issuer()) as issuer, listening(HttpToy()) as toy:
            assert isinstance(issuer, Issuer)
            tokens = made(issuer, toy)
            await tokens.ready()
            assert tokens.current() == "gateway-token-1"
            tokens._grants[""].until = 0.0
            assert tokens.current() == ""
            await tokens.ready()
            assert tokens.current() == "gateway-token-2"

    run(main())


REFUSED: list[tuple[str, Any, Any, str]] = [
    ("the issuer refuses", {}, {"refused": "invalid_client"}, "invalid_client"),
    ("another issuer speaks", {}, {"more": {"issuer": "https://evil.example"}}, "another issuer"),
    ("the issuer sends us elsewhere", {}, {"more": {"token_endpoint": "http://localhost:1/token"}}, "this machine"),
    ("the issuer sends us nowhere", {}, {"more": {"token_endpoint": 5}}, "token_endpoint"),
]


@pytest.mark.parametrize(("note", "settings", "issuing", "why"), REFUSED, ids=[row[0] for row in REFUSED])
def test_without_a_token_nothing_is_sent(note: str, settings: Any, issuing: Any, why: str, run: Run) -> None:
    async def main() -> None:
        async with listening(Issuer()) as issuer, listening(HttpToy()) as toy:
            assert isinstance(issuer, Issuer)
            for name, value in issuing.items():
                setattr(issuer, name, value)
            async with site({"toy": toy.link(tokens=made(issuer, toy, **settings))}) as one:
                said = (await one.modern("tools/call", CALL)).json["error"]["message"]
                assert why in said, (note, said)
                assert "very" not in said
                assert toy.asked == []

    run(main())


def test_secrets_of_the_keyring(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    kept = {("interpose", "github"): "first"}

    def put(service: str, name: str, value: str) -> None:
        kept[service, name] = value

    fake = SimpleNamespace(get_password=lambda service, name: kept.get((service, name)), set_password=put)
    monkeypatch.setitem(sys.modules, "keyring", fake)

    async def main() -> None:
        async with listening(Issuer()) as issuer, listening(HttpToy()) as toy:
            assert isinstance(issuer, Issuer)
            tokens = made(issuer, toy, client_secret="", refresh_token="keyring:interpose/github")
            issuer.script = rotating(issuer)
            await tokens.ready()
            assert issuer.forms[0]["refresh_token"] == "first"
            assert issuer.forms[0]["client_id"] == "gateway"
            assert kept == {("interpose", "github"): "second"}
            with pytest.raises(ConfigError, match="has nothing under interpose/other"):
                made(issuer, toy, client_secret="keyring:interpose/other")

    run(main())


def rotating(issuer: Issuer) -> Any:
    usual = issuer._answer

    def script(asked: Asked, writer: Any) -> bytes:
        if asked.path != "/token":
            return usual(asked, writer)
        usual(asked, writer)
        return answer(200, b'{"access_token": "t", "token_type": "bearer", "refresh_token": "second"}')

    return script
