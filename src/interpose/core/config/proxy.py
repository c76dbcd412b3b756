"""The proxy in front of models: where it listens, where models are, and whose calls go through it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from interpose.core.types import EMPTY, FrozenDict
from interpose.effects.late_patterns import late

_NAME = late(r"[a-z0-9][a-z0-9-]{0,31}")
_ADDRESS = late(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?")


class ProxySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`interpose proxy`: a proxy in front of model APIs, for agents without hooks."""

    port: Annotated[int, Meta(ge=0, le=65535, description="loopback port to listen on; 0 takes any free one")] = 8092
    upstreams: Annotated[
        dict[str, str],
        Meta(
            description="where models are, by name: `openai: https://openrouter.ai/api/v1`. Beside or instead of "
            "anthropic, openai and gemini"
        ),
    ] = EMPTY
    wait: Annotated[
        float,
        Meta(ge=0, le=3600, description="seconds that an answer waits for a person who is asked; 0 is not at all"),
    ] = 30.0
    timeout: Annotated[
        float, Meta(gt=0, le=86400, description="seconds without a byte after which a model's server is given up")
    ] = 600.0
    session: Annotated[
        str, Meta(description="one session for all calls; empty: one for each command, or as a header says")
    ] = ""
    agent: Annotated[str, Meta(description="the agent behind this proxy, for rules and the ledger")] = ""
    role: Annotated[str, Meta(description="its role, for rules and the ledger")] = ""

    def __post_init__(self) -> None:
        force_setattr(self, "upstreams", FrozenDict(self.upstreams))
        if why := wrong_upstreams(self.upstreams):
            raise ValueError(f"proxy.upstreams: {why}")


def wrong_upstreams(upstreams: Mapping[str, str]) -> str:
    """What is wrong with these addresses; empty if nothing is. A key may stand in one, so none is shown."""
    for name, address in upstreams.items():
        if not _NAME.fullmatch(name):
            return f"{name[:80]!r}: a name has small letters, digits and `-`, and 32 of them at most"
        if not _ADDRESS.fullmatch(address):
            return f"{name}: an address starts with http:// or https:// and a host, and has no user, `?` or `#`"
    return ""
