"""What a server says of a tool, a prompt or itself, in one exact form: equal texts mean equal definitions.

INVARIANT: every field is part of it, also those that nobody knows yet. Nothing that reaches a model can change unseen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

Kind = Literal["connection", "instructions", "tools", "prompts", "resourceTemplates"]
KINDS: tuple[Kind, ...] = ("connection", "instructions", "tools", "prompts", "resourceTemplates")
WHOLE: tuple[Kind, ...] = ("connection", "instructions")
"""What a server has one of. Their names are empty."""

MOST_BYTES = 256 << 10
MOST_DEPTH = 64
MOST_ITEMS = 2000
LONGEST_NAME = 256
_TELLING_VARIABLES = frozenset({
    "BASH_ENV", "DYLD_INSERT_LIBRARIES", "ENV", "GIT_SSH_COMMAND", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_PRELOAD",
    "NODE_OPTIONS", "PATH", "PERL5LIB", "PERL5OPT", "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "RUBYLIB", "RUBYOPT",
})  # fmt: skip
"""Variables that decide which code runs. Of others the value may be a secret, and only the name is kept."""


class Definition(Struct, frozen=True):
    """One thing that a server shows. `problem` is why it can't be compared, and so never counts."""

    kind: Kind
    name: str
    text: str
    problem: str = ""


def definitions_of(kind: Kind, items: Iterable[Mapping[str, Any]]) -> list[Definition]:
    """The definitions of a listing, with what is wrong with them as a whole."""
    found: list[Definition] = []
    places: dict[str, int] = {}
    for number, item in enumerate(items):
        if number >= MOST_ITEMS:
            break
        one = _definition(kind, item)
        if one is None:
            continue
        if one.name in places:
            found[places[one.name]] = Definition(kind, one.name, "", "it is listed twice")
            continue
        places[one.name] = len(found)
        found.append(one)
    return found


def _definition(kind: Kind, item: Mapping[str, Any]) -> Definition | None:
    """None if it has no name: nobody could call it."""
    name = name_of(kind, item)
    if not name:
        return None
    if len(name) > LONGEST_NAME:
        return Definition(kind, name[:LONGEST_NAME], "", f"its name has more than {LONGEST_NAME} characters")
    problem = problem_of(item)
    return Definition(kind, name, "" if problem else canonical(item), problem)


def problem_of(item: Mapping[str, Any]) -> str:
    """Why an item can't be compared or read; empty if it can."""
    try:
        large = len(canonical(item)) > MOST_BYTES
    except (TypeError, ValueError, RecursionError):
        return f"its definition can't be compared: it is no JSON, or deeper than {MOST_DEPTH} levels"
    return f"its definition has more than {MOST_BYTES >> 10} KiB" if large else ""


def name_of(kind: str, item: Mapping[str, Any]) -> str:
    """The name by which a listed thing is used; empty if it has none."""
    key = {"resourceTemplates": "uriTemplate", "resources": "uri"}.get(kind, "name")
    name = item.get(key)
    return name if isinstance(name, str) else ""


def instructions_of(text: str) -> Definition:
    """What a server says of itself to the model."""
    if len(text) > MOST_BYTES:
        return Definition("instructions", "", "", f"they have more than {MOST_BYTES >> 10} KiB")
    return Definition("instructions", "", canonical({"instructions": text}))


def connection_of(
    *,
    command: str = "",
    args: Iterable[str] = (),
    env: Mapping[str, str] | None = None,
    cwd: str = "",
    url: str = "",
    headers: Iterable[str] = (),
    transport: str = "",
) -> Definition:
    """Whom the name of a server means: what is started or connected to. Secrets in it are not kept."""
    named = {name: value if name.upper() in _TELLING_VARIABLES else "" for name, value in (env or {}).items()}
    said: dict[str, Any] = {
        "command": [command, *args] if command else "", "cwd": cwd, "env": named, "url": url,
        "headers": sorted(map(str.lower, headers)), "transport": transport,
    }  # fmt: skip
    return Definition("connection", "", canonical({name: value for name, value in said.items() if value}))


def canonical(value: Any) -> str:
    """One text for equal values. ValueError if it is nested too deep."""
    return json.dumps(_plain(value, MOST_DEPTH), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _plain(value: Any, levels: int) -> Any:
    if levels < 0:
        raise ValueError("nested too deep")
    if isinstance(value, Mapping):
        return {str(name): _member(str(name), each, levels) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, levels - 1) for each in value]
    return value


def _member(name: str, value: Any, levels: int) -> Any:
    """`required` is a set: servers that make it from one list it in another order at every start."""
    if name == "required" and isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return sorted(value)
    return _plain(value, levels - 1)


def digest(text: str) -> str:
    """What a definition is told by; empty if there is none."""
    return hashlib.sha256(text.encode()).hexdigest() if text else ""


def item_of(text: str) -> dict[str, Any]:
    """The definition that a text stands for."""
    item: dict[str, Any] = json.loads(text) if text else {}
    return item


def nameless(text: str) -> str:
    """A definition without its names: equal for two that differ in nothing else."""
    item = item_of(text)
    return canonical({key: value for key, value in item.items() if key not in ("name", "title", "uriTemplate")})
