"""Our own token for one server. INVARIANT: a client's token never comes here: each server gets what is its own."""

from __future__ import annotations

from typing import Protocol


class ServerTokens(Protocol):
    """Who has the token for a server."""

    @property
    def current(self) -> str:
        """The token; empty if a new one is needed."""
        ...

    async def ready(self) -> None:
        """Have a token. Raises UnreachableError."""
        ...

    def refused(self, challenge: str, /) -> bool:
        """The server does not take it. Whether there may be a better one."""
        ...
