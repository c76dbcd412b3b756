"""Our own tokens for a server behind OAuth: by client credentials, or by refresh tokens that were given to us.

INVARIANT: credentials go to the token address of the configuration, or of the issuer that it names, and nowhere else:
a server can't say where. A token of one principal is never used for another's call.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Mapping
from time import monotonic
from typing import Any
from urllib.parse import quote_plus

from interpose.core.config.gateway_oauth import ServerOAuth
from interpose.core.errors import ConfigError
from interpose.doors.http_client.addresses import NotReachedError
from interpose.doors.mcp.servers.oauth_http import issuer_metadata, named_by, posted

log = logging.getLogger("interpose.gateway")

KEYRING = "keyring:"
EARLY = 30.0
"""Seconds before its end that a token is replaced."""
UNSAID = 3600.0
"""How long a token lasts whose issuer does not say."""
AGAIN = 5.0
"""Seconds in which a token that was just got and is refused is not got again."""


def open_tokens(name: str, url: str, settings: ServerOAuth) -> OAuthTokens:
    """The tokens for a server. Raises ConfigError for a secret that is not there."""
    where = f"gateway.servers.{name}.oauth"
    secret = _Secret(settings.client_secret, f"{where}.client_secret")
    users = {who: _Secret(text, f"{where}.users.{who}") for who, text in settings.users.items()}
    return OAuthTokens(name, url, settings, secret, _Secret(settings.refresh_token, f"{where}.refresh_token"), users)


class _Secret:
    """A secret of the environment, or of the keyring."""

    def __init__(self, text: str, where: str) -> None:
        self._place = tuple(text.removeprefix(KEYRING).split("/", 1)) if text.startswith(KEYRING) else ()
        self.value = text
        if self._place:
            found = _keyring(where).get_password(*self._place)
            if not found:
                raise ConfigError((f"{where}: the keyring has nothing under {'/'.join(self._place)}",))
            self.value = found

    def replace(self, value: str, server: str) -> None:
        """The issuer gave a new one: the old one may not count any more."""
        self.value = value
        if self._place:
            _keyring("").set_password(*self._place, value)
        else:
            log.warning("the refresh token was replaced; the one in the variable may not count after a restart",
                        extra={"server": server})  # fmt: skip


def _keyring(where: str) -> Any:
    try:
        import keyring  # type: ignore[import-not-found,unused-ignore] # not everybody has it
    except ImportError:
        raise ConfigError((f"{where}: for the keyring, install it: pip install keyring",)) from None
    return keyring


class OAuthTokens:
    """The `ServerTokens` of one server."""

    def __init__(
        self,
        name: str,
        url: str,
        settings: ServerOAuth,
        secret: _Secret,
        refresh: _Secret,
        users: Mapping[str, _Secret],
    ) -> None:
        self._name, self._url, self._settings, self._secret = name, url, settings, secret
        self._grants = {"": _Grant(refresh), **{who: _Grant(one) for who, one in users.items()}}
        self._endpoint: tuple[str, Any] | None = None

    def whose(self, principal: str) -> str:
        """Under whose name a principal's calls go to the server: its own if it has a token, else ours."""
        return principal if principal in self._grants else ""

    def current(self, whose: str = "") -> str:
        """The token; empty if a new one is needed."""
        grant = self._grants[whose]
        return grant.token if monotonic() < grant.until else ""

    def refused(self, whose: str, /) -> bool:
        """The server does not take it. Whether there may be a better one."""
        grant = self._grants[whose]
        grant.until = 0.0
        return monotonic() - grant.since > AGAIN

    async def ready(self, whose: str = "") -> None:
        """Have a token. Raises NotReachedError."""
        grant = self._grants[whose]
        async with grant.lock:
            if not self.current(whose):
                await self._get(grant)

    async def _get(self, grant: _Grant) -> None:
        settings = self._settings
        form = {"grant_type": "client_credentials", "resource": settings.resource or self._url}
        if grant.refresh.value:
            form |= {"grant_type": "refresh_token", "refresh_token": grant.refresh.value}
        if settings.scopes:
            form["scope"] = " ".join(settings.scopes)
        headers = {}
        if not self._secret.value:
            form["client_id"] = settings.client_id
        elif settings.auth == "post":
            form |= {"client_id": settings.client_id, "client_secret": self._secret.value}
        else:
            pair = f"{quote_plus(settings.client_id)}:{quote_plus(self._secret.value)}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"
        address, reach = await self._where()
        status, said = await posted(address, form, headers, private=settings.private, reach=reach)
        token = said.get("access_token")
        if status != 200 or not isinstance(token, str) or not _usable(token):
            why = said.get("error")
            raise NotReachedError(
                f"its issuer gave no token: {why[:100] if isinstance(why, str) else f'HTTP {status}'}"
            )
        if str(said.get("token_type", "bearer")).lower() != "bearer":
            raise NotReachedError("its issuer gave a token that is no bearer token")
        lasts = said.get("expires_in")
        seconds = float(lasts) if isinstance(lasts, int | float) and 0 < lasts < 1e9 else UNSAID
        grant.token, grant.since = token, monotonic()
        grant.until = grant.since + seconds - min(EARLY, seconds / 2)
        new = said.get("refresh_token")
        if isinstance(new, str) and new and new != grant.refresh.value and grant.refresh.value:
            grant.refresh.replace(new, self._name)

    async def _where(self) -> tuple[str, Any]:
        if self._endpoint is None:
            settings = self._settings
            if settings.token_url:
                self._endpoint = settings.token_url, None
            else:
                metadata = await issuer_metadata(settings.issuer, private=settings.private)
                self._endpoint = named_by(settings.issuer, metadata, "token_endpoint", private=settings.private)
        return self._endpoint


class _Grant:
    """One who has a token."""

    def __init__(self, refresh: _Secret) -> None:
        self.refresh = refresh
        self.token = ""
        self.since = self.until = 0.0
        self.lock = asyncio.Lock()


def _usable(token: str) -> bool:
    return 0 < len(token) <= 16384 and token.isascii() and token.isprintable() and " " not in token
