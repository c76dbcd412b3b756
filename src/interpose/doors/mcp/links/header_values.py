"""What the modern era says in HTTP headers beside the body: `Mcp-Method`, `Mcp-Name`, `Mcp-Param-*`.

Whoever stands between decides by the headers, and whoever runs the call reads the body. So both must say the same, for
what we send and for what we are sent.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

from interpose.doors.mcp.links.eras import map_of

NAMED: Mapping[str, str] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods that have a `Mcp-Name`, and the parameter that it repeats."""
PARAM = "mcp-param-"
ANNOTATION = "x-mcp-header"

_WRAPPED = re.compile(r"=\?base64\?([A-Za-z0-9+/=]*)\?=")
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_DECIMAL = re.compile(r"(-?[0-9]{1,64})(?:\.0{1,64})?")
_TYPES = frozenset({"string", "integer", "boolean"})

MOST_POSITIONS = 10_000
"""Places of a schema that are looked at."""
MOST_PARAMS = 32
LONGEST_VALUE = 8192

# Where else schemas stand in a schema. An annotation there is invalid: no argument can be found for it.
_ONE = ("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else", "contentSchema",
        "unevaluatedItems", "unevaluatedProperties")  # fmt: skip
_SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("patternProperties", "dependentSchemas", "$defs", "definitions")


def encoded(text: str) -> str:
    """A text as the value of a header: as it is, or in base64 if a header could not carry it."""
    if (not text or _PLAIN.fullmatch(text)) and not _WRAPPED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode('ascii')}?="


def decoded(value: str | None) -> str | None:
    """The text that a header carries; None if it carries none."""
    found = _WRAPPED.fullmatch(value) if value is not None else None
    if found is None:
        return value
    try:
        raw = base64.b64decode(found[1], validate=True)
        # One text has one spelling: others could be read differently by whoever stands between.
        return raw.decode("utf-8") if base64.b64encode(raw).decode("ascii") == found[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def annotated(schema: Mapping[str, Any]) -> Mapping[tuple[str, ...], str] | None:
    """Which arguments go into which header, by their path; None if the schema says it wrongly: then none does."""
    found: dict[tuple[str, ...], str] = {}
    seen: set[str] = set()
    for path, one in _positions(schema):
        if path == _TOO_MANY:
            return None
        if ANNOTATION not in one:
            continue
        name, kind = one[ANNOTATION], one.get("type")
        if not path or not isinstance(name, str) or not _TOKEN.fullmatch(name):
            return None
        if not isinstance(kind, str) or kind not in _TYPES or name.lower() in seen or len(found) >= MOST_PARAMS:
            return None
        seen.add(name.lower())
        found[path] = name
    return found


_TOO_MANY = ("", "", "")


def _positions(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...] | None, Mapping[str, Any]]]:
    """Every schema in a schema, with its path of properties, or None if it is not behind properties alone.

    `$ref` is not followed, and nothing is looked at twice: the work is bounded by the schema's size, and by ours.
    """
    waiting: list[tuple[tuple[str, ...] | None, Any]] = [((), schema)]
    count = 0
    while waiting:
        path, one = waiting.pop()
        if not isinstance(one, dict):
            continue
        count += 1
        if count > MOST_POSITIONS:
            yield _TOO_MANY, {}
            return
        yield path, one
        for name, sub in map_of(one.get("properties")).items():
            waiting.append(((*path, name) if path is not None and len(path) < 32 else None, sub))
        waiting.extend((None, one[word]) for word in _ONE if word in one)
        waiting.extend((None, sub) for word in _SEVERAL if isinstance(one.get(word), list) for sub in one[word])
        waiting.extend((None, sub) for word in _NAMED for sub in map_of(one.get(word)).values())


def params_of(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, str]:
    """The `Mcp-Param-*` headers of a call. What is too long for a header is left out."""
    made = {}
    for path, name in (annotated(schema) or {}).items():
        text = _rendered(_at(arguments, path))
        if text is not None and len(value := encoded(text)) <= LONGEST_VALUE:
            made[f"Mcp-Param-{name}"] = value
    return made


def wrong_params(schema: Mapping[str, Any], arguments: Mapping[str, Any], headers: Mapping[str, str]) -> str:
    """What is different between the headers and the arguments of a call; empty if nothing is."""
    for path, name in (annotated(schema) or {}).items():
        said, value = headers.get(PARAM + name.lower()), _at(arguments, path)
        text = _rendered(value)
        if (said is None) != (text is None):
            return f"Mcp-Param-{name} and the argument {'.'.join(path)!r} must be there together"
        if said is not None and not _same(decoded(said), text, value):
            return f"Mcp-Param-{name} does not match the argument {'.'.join(path)!r}"
    return ""


def _same(said: str | None, text: str | None, value: Any) -> bool:
    if said is None or said == text:
        return said is not None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        return False
    number = _DECIMAL.fullmatch(said)  # 42.0 is 42
    return number is not None and int(number[1]) == int(value)


def _rendered(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        try:
            return str(value)
        except ValueError:
            return None
    return None


def _at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = arguments
    for name in path:
        found = map_of(found).get(name)
    return found
