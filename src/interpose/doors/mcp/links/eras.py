"""What the two eras of the protocol say differently. Pure: no links, no state.

handshake   2024-11-05 to 2025-11-25: `initialize`, capabilities said once, servers send requests
modern      2026-07-28: version and capabilities in `_meta` of each request, servers answer `input_required`
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from interpose.core.types import EMPTY
from interpose.doors.mcp.gate.contract import Era
from interpose.doors.mcp.links.frames import INVALID_PARAMS, RpcError

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)

RESERVED = "io.modelcontextprotocol/"
PROTOCOL_VERSION = RESERVED + "protocolVersion"
CLIENT_INFO = RESERVED + "clientInfo"
CLIENT_CAPABILITIES = RESERVED + "clientCapabilities"
SERVER_INFO = RESERVED + "serverInfo"
LOG_LEVEL = RESERVED + "logLevel"
SUBSCRIPTION_ID = RESERVED + "subscriptionId"
_ENVELOPE = (PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES, LOG_LEVEL)

TASKS_EXTENSION = RESERVED + "tasks"

CONNECTION_CLOSED, REQUEST_TIMEOUT = -32000, -32001
MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32021, -32022

CACHEABLE = frozenset(
    {"tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read", "server/discover"}
)
ASKABLE = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
"""What a server may ask a client, and the capability that the client must have declared for it."""


class Declared(Struct, frozen=True, kw_only=True):
    """What a client said of itself: once (handshake), or with this request (modern)."""

    era: Era = "handshake"
    version: str = HANDSHAKE_VERSIONS[-1]
    info: Mapping[str, Any] = EMPTY
    capabilities: Mapping[str, Any] = EMPTY
    log_level: str = ""

    def answers(self, method: str, params: Mapping[str, Any]) -> bool:
        """Whether it said that it answers this. INVARIANT: nobody is asked in a way that was not declared."""
        found = self.capabilities.get(ASKABLE.get(method, ""))
        if not isinstance(found, dict):
            return False
        if method != "elicitation/create":
            return True
        mode = params.get("mode", "form")
        # A declaration that names no mode is from before there were two, and means the form.
        return isinstance(mode, str) and (mode in found or (mode == "form" and "url" not in found))


def map_of(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else EMPTY


def text_of(value: Any, longest: int = 200) -> str:
    """The value if it is a text, cut; else an empty one."""
    return value[:longest] if isinstance(value, str) else ""


def is_modern(meta: Mapping[str, Any]) -> bool:
    """Whether a request is of the modern era: the key is reserved, so no older peer has it."""
    return PROTOCOL_VERSION in meta


def declared_in(meta: Mapping[str, Any]) -> Declared:
    """What a modern request says of its client. Raises RpcError."""
    version, capabilities = meta.get(PROTOCOL_VERSION), meta.get(CLIENT_CAPABILITIES)
    if not isinstance(version, str):
        raise RpcError(INVALID_PARAMS, f"_meta: {PROTOCOL_VERSION} must be a text")
    if version not in MODERN_VERSIONS:
        said = {"supported": list(MODERN_VERSIONS), "requested": version[:100]}
        raise RpcError(UNSUPPORTED_VERSION, "Unsupported protocol version", said)
    if not isinstance(capabilities, dict):
        raise RpcError(INVALID_PARAMS, f"_meta: {CLIENT_CAPABILITIES} must be an object")
    return Declared(
        era="modern", version=version, info=map_of(meta.get(CLIENT_INFO)), capabilities=capabilities,
        log_level=text_of(meta.get(LOG_LEVEL)),
    )  # fmt: skip


def meta_for(meta: Mapping[str, Any], declared: Declared, era: Era, version: str) -> dict[str, Any]:
    """`_meta` of a request as a server of this era gets it."""
    kept = {key: value for key, value in meta.items() if key not in _ENVELOPE}
    if era == "modern":
        kept[PROTOCOL_VERSION] = version
        kept[CLIENT_CAPABILITIES] = capabilities_for(declared, era)
        if declared.info:
            kept[CLIENT_INFO] = declared.info
        if declared.log_level:
            kept[LOG_LEVEL] = declared.log_level
    return kept


def capabilities_for(declared: Declared, era: Era) -> dict[str, Any]:
    """What a server of this era is told of the client: what it can answer through us, and what the eras share."""
    said: dict[str, Any] = {name: value for name, value in declared.capabilities.items() if isinstance(value, dict)}
    if declared.era != era:
        # `tasks` is of the last handshake version, `extensions` are modern: neither means anything to the other side.
        said = {name: value for name, value in said.items() if name in (*ASKABLE.values(), "experimental")}
    if era == "modern" and said.get("elicitation") == {}:
        said["elicitation"] = {"form": {}}
    if era == "handshake" and "roots" in said:
        said["roots"] = {"listChanged": True} if said["roots"].get("listChanged") else {}
    return said


def result_for(method: str, result: dict[str, Any], era: Era) -> dict[str, Any]:
    """A result as a client of this era gets it."""
    if era == "modern":
        result.setdefault("resultType", "complete")
        if method in CACHEABLE:
            result.setdefault("ttlMs", 0)
            # INVARIANT: it was judged for this client, so no cache may hand it to another, whatever its server says.
            result["cacheScope"] = "private"
        return result
    for name in ("resultType", "ttlMs", "cacheScope"):
        result.pop(name, None)
    meta = result.get("_meta")
    if isinstance(meta, dict) and SERVER_INFO in meta:
        kept = {key: value for key, value in meta.items() if key != SERVER_INFO}
        if kept:
            result["_meta"] = kept
        else:
            del result["_meta"]
    return result


def handshake_version(asked: Any) -> str:
    """The version that we answer `initialize` with: the client's own if we know it, else the newest."""
    return asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
