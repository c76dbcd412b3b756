"""The name of a tool taken apart: whose it is, and what it says that it does."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from interpose.core.tool_words import words_of
from interpose.core.tools import mcp_name, namespace_of

_NO_SERVERS = frozenset({"mcp", "functions", "default", "api", "server", "tools", "tool"})


class ToolWords(Struct, frozen=True):
    """The words of a tool's server, and those of its own name."""

    server: tuple[str, ...]
    own: tuple[str, ...]

    @property
    def all(self) -> frozenset[str]:
        """All of them."""
        return frozenset((*self.server, *self.own))

    def has(self, words: frozenset[str]) -> bool:
        """Whether one of these words is among them."""
        return not words.isdisjoint(self.own) or not words.isdisjoint(self.server)


@lru_cache(maxsize=1024)
def tool_words(name: str) -> ToolWords:
    """The words of a tool's name."""
    known = mcp_name(name)
    if known is not None:
        server, own = known.server, known.tool
    else:
        border = len(namespace_of(name))
        server, own = name[:border], name[border:]
    if inner := namespace_of(own):  # `mcp__a__b__delete`
        server, own = f"{server}_{inner}", own[len(inner) :]
    return ToolWords(tuple(word for word in words_of(server) if word not in _NO_SERVERS), words_of(own))
