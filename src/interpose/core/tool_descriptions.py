"""What servers say about their tools: hints and schemas, as MCP's `tools/list` gives them.

A server's word is the word of a stranger. INVARIANT: it only ever tightens: `destructiveHint` makes a question,
`readOnlyHint` answers none, and what is said later takes nothing back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

from msgspec import Struct

from interpose.effects.late_patterns import late

_MOST_TOOLS, _MOST_KEYS = 10_000, 500
_LONGEST_TEXT = 2_000


class ToolDescription(Struct, frozen=True):
    """What is known of one tool. `arguments` are its arguments with what their schema says about them."""

    destructive: bool = False
    open_world: bool = False
    arguments: tuple[tuple[str, str], ...] = ()


_NOTHING_SAID = ToolDescription()
_SERVER = late(r"__|[.:/]")
_lock = Lock()
_described: dict[str, ToolDescription] = {}


def describe_tools(definitions: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Keep what definitions of tools say (`name`, `annotations`, `inputSchema`), and return their names."""
    names: list[str] = []
    for definition in definitions:
        name = definition.get("name")
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"a definition of a tool has a name, and this one has {name!r}")
        names.append(name)
        with _lock:
            key = _key(name)
            if key in _described or len(_described) < _MOST_TOOLS:
                _described[key] = _joined(_described.get(key, _NOTHING_SAID), _read(definition))
    return tuple(names)


def description_of(*names: str) -> ToolDescription:
    """What was said of a tool under any of its names: as the agent says it, and as its server does."""
    found = _NOTHING_SAID
    if not _described:
        return found
    keys = [_key(name) for name in names]
    for key in dict.fromkeys((*keys, *(_SERVER.split(key)[-1] for key in keys))):
        found = _joined(found, _described.get(key, _NOTHING_SAID))
    return found


def forget_descriptions() -> None:
    """Forget all of it. For tests."""
    with _lock:
        _described.clear()


def _joined(one: ToolDescription, other: ToolDescription) -> ToolDescription:
    return ToolDescription(
        one.destructive or other.destructive,
        one.open_world or other.open_world,
        tuple(dict.fromkeys((*one.arguments, *other.arguments)))[:_MOST_KEYS],
    )


def _read(definition: Mapping[str, Any]) -> ToolDescription:
    hints = definition.get("annotations")
    schema = definition.get("inputSchema") or definition.get("input_schema") or definition.get("parameters")
    hints = hints if isinstance(hints, Mapping) else {}
    return ToolDescription(
        hints.get("destructiveHint") is True, hints.get("openWorldHint") is True, tuple(_arguments(schema))
    )


def _arguments(schema: object) -> list[tuple[str, str]]:
    """Each property of a schema, at whatever depth, with its title, description, format and media type."""
    found: list[tuple[str, str]] = []
    pending = [schema]
    while pending and len(found) < _MOST_KEYS:
        part = pending.pop()
        if isinstance(part, list | tuple):
            pending.extend(part)
        elif isinstance(part, Mapping):
            properties = part.get("properties")
            for name, about in properties.items() if isinstance(properties, Mapping) else ():
                if isinstance(about, Mapping):
                    said = (about.get(key) for key in ("title", "description", "format", "contentMediaType"))
                    found.append((str(name), " ".join(text for text in said if isinstance(text, str))[:_LONGEST_TEXT]))
            pending.extend(
                value for key, value in part.items() if key != "properties" and isinstance(value, list | dict)
            )
            pending.extend(properties.values() if isinstance(properties, Mapping) else ())
    return found


def _key(name: str) -> str:
    return name.strip().lower().replace("-", "_")
