"""Tokens of an issuer for clients: what counts, and all that does not."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from time import time
from typing import Any

import pytest

from interpose.core.config.gateway_oauth import GatewayOAuth
from interpose.doors.http_server.messages import Refusal
from interpose.doors.mcp.clients.client_tokens import ClientTokens
from tests.support.peers.issuers import CURVE, OTHER, RSA, Issuer
from tests.support.peers.mcp_http import listening
from tests.support.peers.mcp_peers import until

Run = Callable[[Coroutine[Any, Any, None]], None]
RESOURCE = "https://gateway.example/mcp"


@asynccontextmanager
async def opened(**more: Any) -> AsyncIterator[tuple[Issuer, ClientTokens]]:
    async with listening(Issuer()) as issuer:
        assert isinstance(issuer, Issuer)
        tokens = ClientTokens(GatewayOAuth(issuer=issuer.issuer, resource=RESOURCE, scopes=("mcp:use",), **more))
        tokens.start()
        try:
            await until(lambda: tokens._loaded)
            yield issuer, tokens
        finally:
            await tokens.close()


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def unsigned(issuer: Issuer) -> str:
    claims = {"iss": issuer.issuer, "aud": RESOURCE, "sub": "ada", "exp": int(time()) + 600, "scope": "mcp:use"}
    return f"{part({'alg': 'none', 'kid': 'one'})}.{part(claims)}."


def signed_with_the_public_key(issuer: Issuer) -> str:
    import hashlib
    import hmac

    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    secret = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head, _, rest = unsigned(issuer).partition(".")
    claims = rest.rstrip(".")
    head = part({"alg": "HS256", "kid": "one"})
    seal = hmac.new(secret, f"{head}.{claims}".encode(), hashlib.sha256).digest()
    return f"{head}.{claims}.{base64.urlsafe_b64encode(seal).decode().rstrip('=')}"


DON_T_COUNT: list[tuple[str, Callable[[Issuer], str]]] = [
    ("for another resource", lambda one: one.token(aud="https://other.example/mcp")),
    ("for nothing", lambda one: one.token(aud=None)),
    ("of another issuer", lambda one: one.token(iss="https://evil.example")),
    ("of nobody", lambda one: one.token(iss=None)),
    ("that has ended", lambda one: one.token(exp=int(time()) - 60)),
    ("that never ends", lambda one: one.token(exp=None)),
    ("that is not yet", lambda one: one.token(nbf=int(time()) + 600)),
    ("signed with another key", lambda one: one.token(OTHER)),
    ("signed with another key of the issuer than it says", lambda one: one.token(CURVE, "one", "ES256")),
    ("without a signature", unsigned),
    ("signed with the public key as a secret", signed_with_the_public_key),
    ("that says nobody", lambda one: one.token(sub=None)),
    ("that says nobody readable", lambda one: one.token(sub="ada\n")),
    ("with something cut off", lambda one: one.token()[:-5]),
    ("that is none", lambda one: "a.b.c"),
    ("that is long", lambda one: one.token(more="x" * 20_000)),
]


@pytest.mark.parametrize(("note", "make"), DON_T_COUNT, ids=[note for note, _ in DON_T_COUNT])
def test_a_token_that_does_not_count(note: str, make: Callable[[Issuer], str], run: Run) -> None:
    async def main() -> None:
        async with opened() as (issuer, tokens):
            assert tokens.caller(make(issuer)) is None, note

    run(main())


COUNT: list[tuple[str, Callable[[Issuer], str], str]] = [
    ("signed by RSA", lambda one: one.token(), "oauth:ada"),
    ("signed by a curve", lambda one: one.token(CURVE, "two", "ES256"), "oauth:ada"),
    ("for several", lambda one: one.token(aud=["https://other.example", RESOURCE]), "oauth:ada"),
    ("with scopes as a list", lambda one: one.token(scope=None, scp=["mcp:use"]), "oauth:ada"),
]


@pytest.mark.parametrize(("note", "make", "who"), COUNT, ids=[row[0] for row in COUNT])
def test_a_token_that_counts(note: str, make: Callable[[Issuer], str], who: str, run: Run) -> None:
    async def main() -> None:
        async with opened() as (issuer, tokens):
            token = make(issuer)
            for _ in range(2):
                caller = tokens.caller(token)
                assert caller is not None, note
                assert (caller.role, caller.name, caller.anonymous) == ("agent", who, False)

    run(main())


def test_a_token_without_the_scope_is_told_which(run: Run) -> None:
    async def main() -> None:
        async with opened() as (issuer, tokens):
            with pytest.raises(Refusal) as caught:
                tokens.caller(issuer.token(scope="other"))
            assert caught.value.status == 403
            assert 'error="insufficient_scope", scope="mcp:use"' in dict(caught.value.headers)["WWW-Authenticate"]

    run(main())


def test_a_key_that_is_new_is_read_and_one_that_is_gone_counts_no_more(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.peers.issuers import jwk

    async def main() -> None:
        monkeypatch.setattr("interpose.doors.mcp.clients.client_tokens.SOON", -1.0)
        async with opened() as (issuer, tokens):
            old = issuer.token()
            assert tokens.caller(old) is not None
            issuer.keys = [jwk(OTHER, "new")]
            with pytest.raises(Refusal, match="being read") as caught:
                tokens.caller(issuer.token(OTHER, "new"))
            assert caught.value.status == 503
            await until(lambda: "new" in tokens._keys)
            assert tokens.caller(issuer.token(OTHER, "new")) is not None
            with pytest.raises(Refusal):
                tokens.caller(old)

    run(main())


def test_while_there_are_no_keys_nobody_gets_in(run: Run) -> None:
    async def main() -> None:
        async with listening(Issuer()) as issuer:
            assert isinstance(issuer, Issuer)
            issuer.more = {"issuer": "https://evil.example"}
            tokens = ClientTokens(GatewayOAuth(issuer=issuer.issuer, resource=RESOURCE))
            tokens.start()
            await until(lambda: tokens._read_at)
            with pytest.raises(Refusal, match="being read"):
                tokens.caller(issuer.token())
            await tokens.close()

    run(main())


def test_an_issuer_can_t_send_us_into_the_private_network_for_its_keys(run: Run) -> None:
    async def main() -> None:
        async with listening(Issuer()) as issuer, listening(Issuer()) as inner:
            assert isinstance(issuer, Issuer)
            issuer.more = {"jwks_uri": f"http://localhost:{inner.port}/keys"}
            tokens = ClientTokens(GatewayOAuth(issuer=issuer.issuer, resource=RESOURCE))
            tokens.start()
            await until(lambda: tokens._read_at)
            assert not tokens._loaded
            assert inner.asked == []
            await tokens.close()

    run(main())
