"""Tokens of an issuer, for clients of the gateway: we are a resource server (RFC 9728), and no issuer.

A token counts if the issuer signed it with one of its keys, for us (`aud`), for now (`exp`), and with the scopes that
are asked for. The keys are read ahead, so that nobody waits for them; while there are none, nobody gets in.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from time import time
from typing import Any
from urllib.parse import urlsplit

import jwt

from interpose.core.config.gateway_oauth import GatewayOAuth
from interpose.doors.http_client.addresses import NotReachedError
from interpose.doors.http_server.messages import Caller, Headers, Refusal, Request, Response, Route, json_response
from interpose.doors.mcp.servers.oauth_http import fetched, issuer_metadata, named_by

log = logging.getLogger("interpose.gateway")

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""INVARIANT: none that is signed with a secret, and not `none`: a public key is no secret."""
REFRESH, SOON = 300.0, 10.0
"""Seconds after which keys are read again; and how soon at most, if a key is not known."""
LEEWAY = 30
LONGEST = 16 * 1024
MOST_KEYS, MOST_REMEMBERED = 100, 2000
WELL_KNOWN = "/.well-known/oauth-protected-resource"


class ClientTokens:
    """See the module."""

    def __init__(self, settings: GatewayOAuth) -> None:
        self._settings = settings
        self._keys: dict[str, jwt.PyJWK] = {}
        self._loaded = False
        self._remembered: dict[bytes, tuple[Caller, float]] = {}
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._read_at = 0.0
        resource = urlsplit(settings.resource)
        self._metadata = f"{resource.scheme}://{resource.netloc}{WELL_KNOWN}{resource.path.rstrip('/')}"

    @property
    def challenge(self) -> Headers:
        """What those hear who have no token, or one that does not count."""
        return (("WWW-Authenticate", f'Bearer resource_metadata="{self._metadata}"'),)

    def routes(self, path: str) -> tuple[Route, ...]:
        """Where clients learn whom to ask for a token."""
        return tuple(
            Route("GET", place, self._described, "public", "Who issues tokens for this gateway")
            for place in (WELL_KNOWN, WELL_KNOWN + path)
        )

    async def _described(self, _request: Request) -> Response:
        said: dict[str, Any] = {
            "resource": self._settings.resource, "authorization_servers": [self._settings.issuer],
            "bearer_methods_supported": ["header"], "resource_name": "Interpose gateway",
        }  # fmt: skip
        if self._settings.scopes:
            said["scopes_supported"] = list(self._settings.scopes)
        return json_response(said)

    def start(self) -> None:
        """Read the keys, now and again and again."""
        self._task = asyncio.get_running_loop().create_task(self._reading())

    async def close(self) -> None:
        """Nobody comes any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def caller(self, token: str) -> Caller | None:
        """Whose token this is; None if it does not count. Raises Refusal to say more."""
        if len(token) > LONGEST or token.count(".") != 2:
            return None
        digest = hashlib.sha256(token.encode("latin-1", "replace")).digest()
        known = self._remembered.get(digest)
        if known is not None:
            if known[1] > time():
                return known[0]
            del self._remembered[digest]
        claims = self._claims(token)
        if claims is None:
            return None
        self._require_scopes(claims)
        who = claims.get(self._settings.principal)
        if not isinstance(who, str) or not who or len(who) > 256 or not who.isprintable():
            return None
        session = claims.get("sid")
        # The prefix keeps an issuer's names apart from those of the tokens file.
        caller = Caller("agent", f"oauth:{who}", session=session[:128] if isinstance(session, str) else "")
        if len(self._remembered) >= MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[digest] = (caller, float(claims["exp"]))
        return caller

    def _claims(self, token: str) -> Mapping[str, Any] | None:
        try:
            head = jwt.get_unverified_header(token)
            key = self._key(head)
            if key is None:
                return None
            found: Mapping[str, Any] = jwt.decode(
                token, key.key, algorithms=[head["alg"]], audience=self._settings.resource,
                issuer=self._settings.issuer, leeway=LEEWAY, options={"require": ["exp", "iss", "aud"]},
            )  # fmt: skip
        except (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError):
            return None
        return found

    def _key(self, head: Mapping[str, Any]) -> jwt.PyJWK | None:
        algorithm, id = head.get("alg"), head.get("kid", "")
        if algorithm not in ALGORITHMS or not isinstance(id, str):
            return None
        key = self._keys.get(id)
        if key is None and not id and len(self._keys) == 1:
            key = next(iter(self._keys.values()))
        if key is None:
            if not self._loaded or time() - self._read_at > SOON:
                self._wanted.set()
                raise Refusal(503, "keys_not_read", "the issuer's keys are being read", (("Retry-After", "1"),))
            return None
        return key if key.algorithm_name == algorithm or _same_kind(key.algorithm_name, algorithm) else None

    def _require_scopes(self, claims: Mapping[str, Any]) -> None:
        said = claims.get("scope", claims.get("scp", ""))
        given = said.split() if isinstance(said, str) else said if isinstance(said, list) else ()
        if missing := [scope for scope in self._settings.scopes if scope not in given]:
            wanted = " ".join(self._settings.scopes)
            challenge = f'Bearer error="insufficient_scope", scope="{wanted}", resource_metadata="{self._metadata}"'
            what = f"the token has no scope {' '.join(missing)}"
            raise Refusal(403, "insufficient_scope", what, (("WWW-Authenticate", challenge),))

    async def _reading(self) -> None:
        while True:
            self._wanted.clear()
            try:
                await self._read()
            except NotReachedError as error:
                log.error("the issuer's keys can't be read", extra={"issuer": self._settings.issuer, "why": str(error)})
            self._read_at = time()
            try:
                async with asyncio.timeout(REFRESH if self._loaded else SOON):
                    await self._wanted.wait()
            except TimeoutError:
                pass

    async def _read(self) -> None:
        settings = self._settings
        address, reach = settings.jwks_url, None
        if not address:
            metadata = await issuer_metadata(settings.issuer, private=settings.private)
            address, reach = named_by(settings.issuer, metadata, "jwks_uri", private=settings.private)
        found = await fetched(address, private=settings.private, reach=reach)
        keys = _keys_in(found)
        if not keys:
            raise NotReachedError(f"{address}: there is no key that we can use")
        self._remembered.clear()  # what a key that is gone has signed counts no more
        self._keys, self._loaded = keys, True


def _keys_in(found: Mapping[str, Any]) -> dict[str, jwt.PyJWK]:
    listed = found.get("keys")
    keys: dict[str, jwt.PyJWK] = {}
    for one in listed[:MOST_KEYS] if isinstance(listed, list) else ():
        if not isinstance(one, dict) or one.get("use", "sig") != "sig" or one.get("kty") not in ("RSA", "EC", "OKP"):
            continue
        try:
            keys[str(one.get("kid", ""))[:256]] = jwt.PyJWK(one)
        except (jwt.PyJWTError, ValueError, TypeError, KeyError):
            continue
    return keys


def _same_kind(one: str, other: str) -> bool:
    """Keys of RSA that name no algorithm serve all of RSA."""
    return one[:2] in ("RS", "PS") and other[:2] in ("RS", "PS")
