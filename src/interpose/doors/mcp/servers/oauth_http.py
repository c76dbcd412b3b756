"""Talking to issuers of tokens: JSON from addresses that the configuration names, or that an issuer of it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus, urlsplit

import msgspec

from interpose.core.types import EMPTY
from interpose.doors.http_client.addresses import HttpUrl, NotReachedError, Reach, parse_url
from interpose.doors.http_client.client import HttpClient

LARGEST = 1 << 20
SECONDS = 10.0


def reach_of(url: HttpUrl, *, private: bool) -> Reach:
    """Where an address of the configuration may lead."""
    return "named" if url.named else "private" if private else "public"


async def issuer_metadata(issuer: str, *, private: bool) -> Mapping[str, Any]:
    """What an issuer says of itself. Raises NotReachedError."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    places = [f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{path}"]
    places.append(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    why = ""
    for place in places:
        try:
            found = await fetched(place, private=private)
        except NotReachedError as error:
            why = str(error)
            continue
        # INVARIANT: who speaks for an issuer is that issuer.
        if found.get("issuer") != issuer:
            raise NotReachedError(f"{issuer}: its metadata is of another issuer: {str(found.get('issuer'))[:200]!r}")
        return found
    raise NotReachedError(f"{issuer}: its metadata can't be read: {why}")


def named_by(issuer: str, metadata: Mapping[str, Any], key: str, *, private: bool) -> tuple[str, Reach]:
    """An address that an issuer names. Only its own host may be where the issuer may be. Raises NotReachedError."""
    text = metadata.get(key)
    try:
        url, own = parse_url(text if isinstance(text, str) else ""), parse_url(issuer)
    except ValueError as error:
        raise NotReachedError(f"{issuer}: its {key} can't be used: {error}") from None
    if own.scheme == "https" and url.scheme != "https":
        raise NotReachedError(f"{issuer}: its {key} is not https")
    return url.text, reach_of(own, private=private) if url.host == own.host else "public"


async def fetched(address: str, *, private: bool = False, reach: Reach | None = None) -> Mapping[str, Any]:
    """A JSON object. Raises NotReachedError."""
    status, found = await _asked("GET", address, {}, b"", private=private, reach=reach)
    if status != 200:
        raise NotReachedError(f"{address} answered with HTTP {status}")
    return found


async def posted(
    address: str,
    form: Mapping[str, str],
    headers: Mapping[str, str],
    *,
    private: bool = False,
    reach: Reach | None = None,
) -> tuple[int, Mapping[str, Any]]:
    """The status and JSON object that a form gets. Raises NotReachedError."""
    body = "&".join(f"{quote_plus(name)}={quote_plus(value)}" for name, value in form.items()).encode("ascii")
    more = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    return await _asked("POST", address, more, body, private=private, reach=reach)


async def _asked(
    method: str, address: str, headers: Mapping[str, str], body: bytes, *, private: bool, reach: Reach | None
) -> tuple[int, Mapping[str, Any]]:
    try:
        url = parse_url(address)
    except ValueError as error:
        raise NotReachedError(f"{address[:200]}: {error}") from None
    client = HttpClient(url, reach or reach_of(url, private=private))
    try:
        answer = await client.ask(
            method, url.target, {"Accept": "application/json", **headers}, body, limit=LARGEST, seconds=SECONDS
        )
    finally:
        await client.close()
    try:
        found = msgspec.json.decode(answer.body) if answer.body else {}
    except (msgspec.DecodeError, RecursionError):
        found = {}
    return answer.head.status, found if isinstance(found, dict) else EMPTY
