"""What of many tools a client sees: those that it may use at all, or two tools with which it looks for the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from math import log
from typing import Any

import msgspec
from msgspec import Struct

from interpose.core.errors import InvalidCallError, text_of

SEARCH, CALL_TOOL = "search_tools", "call_tool"
MOST_FOUND = 10
_DEFAULT_FOUND = 5
_MOST_LETTERS = 24_000
_LONGEST_QUERY = 500
_LONGEST_TEXT = 2_000
_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W\d_a-zA-Z]+")


class ToolFilter(Struct, frozen=True):
    """Globs of `server__tool`: those that are there, none for all, and those that are not."""

    show: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()

    def why_not(self, server: str, name: str) -> str:
        """Why a tool is not there; empty if it is. Case does not matter."""
        whole = f"{server}__{name}".lower()
        if any(fnmatchcase(whole, glob.lower()) for glob in self.hide):
            return f"Tool '{name}' of server '{server}' is hidden here (gateway.hide)"
        if self.show and not any(fnmatchcase(whole, glob.lower()) for glob in self.show):
            return f"Tool '{name}' of server '{server}' is not among those that are shown here (gateway.show)"
        return ""


def definition_key(definition: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A server's definition of a tool under the name that rules and guards know."""
    return {**definition, "name": name}


SEARCH_TOOLS: tuple[Mapping[str, Any], ...] = (
    {
        "name": SEARCH,
        "title": "Find tools",
        "description": "Find the tools that are available here by what they do. Gives their names, descriptions and "
        "input schemas. Use them with call_tool.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "what the tool should do, in a few words"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FOUND, "default": _DEFAULT_FOUND},
            },
            "required": ["query"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {
        "name": CALL_TOOL,
        "title": "Call a tool",
        "description": "Call a tool that search_tools has found, by its name and with arguments of its input schema.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "the name as search_tools gives it"},
                "arguments": {"type": "object", "description": "the arguments of that tool"},
            },
            "required": ["name"],
        },
    },
)
"""What a client sees instead of everything (`gateway.search`)."""


def carried(params: Mapping[str, Any]) -> dict[str, Any]:
    """The `tools/call` that a call of `call_tool` carries. It goes the way of every other. Raises InvalidCallError."""
    given = params.get("arguments")
    name = given.get("name") if isinstance(given, dict) else None
    inner = given.get("arguments", {}) if isinstance(given, dict) else None
    if not isinstance(name, str) or not name.strip():
        raise InvalidCallError(f'{CALL_TOOL} needs the name of a tool in "name"; {SEARCH} finds it')
    if name in (SEARCH, CALL_TOOL):
        raise InvalidCallError(f"{CALL_TOOL} calls the tools that {SEARCH} finds, not {name}")
    if not isinstance(inner, dict):
        raise InvalidCallError(f'{CALL_TOOL} takes an object in "arguments", not {type(inner).__name__}')
    return {**params, "name": name, "arguments": inner}


def searched(params: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The result of `search_tools` over tools that this client may see, under the names that it knows."""
    given = params.get("arguments")
    query = given.get("query") if isinstance(given, dict) else None
    if not isinstance(query, str) or not query.strip():
        raise InvalidCallError(f'{SEARCH} needs a text in "query"')
    limit = given.get("limit", _DEFAULT_FOUND) if isinstance(given, dict) else _DEFAULT_FOUND
    most = min(max(limit, 1), MOST_FOUND) if type(limit) is int else _DEFAULT_FOUND
    found: list[dict[str, Any]] = []
    letters = 0
    for tool in ranked(query[:_LONGEST_QUERY], tools)[:most]:
        short = {key: tool[key] for key in ("name", "title", "description", "inputSchema") if key in tool}
        letters += len(msgspec.json.encode(short, enc_hook=text_of))
        if found and letters > _MOST_LETTERS:
            break
        found.append(short)
    text = msgspec.json.encode(found, enc_hook=text_of).decode() if found else f"No tool is about {query[:200]!r}"
    return {"content": [{"type": "text", "text": text}], "isError": False}


def ranked(query: str, tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The tools that have words of a query, the best first: rare words and words of names count more."""
    wanted = set(_words(query))
    known = [(tool, Counter(_words(_said(tool))), set(_words(str(tool.get("name", ""))))) for tool in tools]
    seen = Counter(word for _, words, _ in known for word in words)
    scored = []
    for tool, words, names in known:
        rare = {word: log(1 + len(known) / seen[word]) for word in wanted & words.keys()}
        score = sum(weight * (1 + (2 if word in names else 0)) for word, weight in rare.items())
        if score:
            scored.append((-score, str(tool.get("name", "")), tool))
    scored.sort(key=lambda one: one[:2])
    return [tool for _, _, tool in scored]


def _said(tool: Mapping[str, Any]) -> str:
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    arguments = " ".join(map(str, properties)) if isinstance(properties, Mapping) else ""
    texts = (str(tool.get(key, ""))[:_LONGEST_TEXT] for key in ("name", "title", "description"))
    return f"{' '.join(texts)} {arguments[:_LONGEST_TEXT]}"


def _words(text: str) -> list[str]:
    """Words without case and without the `s` of a plural: `createIssues` is `create` and `issue`."""
    found = (word.lower() for word in _WORD.findall(text))
    return [word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in found]
