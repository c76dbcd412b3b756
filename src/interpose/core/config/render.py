"""The configuration for people, editors and programs: every value, the JSON Schema, a file to begin with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from interpose.core.config.checked_values import expected
from interpose.core.config.keys import Group, Key, interceptor_group, tree
from interpose.core.config.settings import BUILTIN_INTERCEPTORS, Config

HIDDEN = "***"

_SUBSTITUTED = {"type": "string", "pattern": r"\$\{", "description": "made from variables"}
_HEAD = """\
# Configuration of Interpose. Every key is here with its default: take away the `#` in front of what you set,
# and in front of the groups that it is in. `interpose config check` reads this file for mistakes.
# Texts may contain ${VARIABLES}; `$${` is the text itself. The environment sets keys too: INTERPOSE_SERVER_PORT.
"""


def all_values(config: Config) -> Iterator[tuple[Key, Any]]:
    """Every key of a configuration and what it is set to, secrets hidden."""
    for key in tree().all_keys():
        yield key, _shown(key, _value(config, key))
    for id in config.interceptors:
        if id not in BUILTIN_INTERCEPTORS:
            for key in interceptor_group(id).all_keys():
                yield key, _shown(key, _value(config, key))


def _value(config: Config, key: Key) -> Any:
    found: Any = config
    for step in key.path:
        found = found[step] if isinstance(found, dict) else getattr(found, step)
    return found


def _shown(key: Key, value: Any) -> Any:
    if not key.secret or not value:
        return value
    return dict.fromkeys(value, HIDDEN) if isinstance(value, dict) else HIDDEN


def nested(config: Config) -> dict[str, Any]:
    """All values as a file would have them, secrets hidden."""
    whole: dict[str, Any] = {}
    for key, value in all_values(config):
        at = whole
        for step in key.path[:-1]:
            at = at.setdefault(step, {})
        at[key.path[-1]] = value
    return whole


def json_schema() -> dict[str, Any]:
    """The JSON Schema of `interpose.yaml`, for editors."""
    schema = msgspec.json.schema(Config)
    for form in schema["$defs"].values():
        form["properties"] = {name: _or_substituted(each) for name, each in form["properties"].items()}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Interpose configuration"} | schema


def _or_substituted(form: dict[str, Any]) -> dict[str, Any]:
    """A value that is no text may be a text that variables become that value in."""
    if "$ref" in form:
        return {"$ref": form["$ref"]}
    if "additionalProperties" in form:
        return form
    about = {name: form[name] for name in ("description", "default") if name in form}
    plain = {name: value for name, value in form.items() if name not in about}
    return {"anyOf": [plain, _SUBSTITUTED]} | about


def template() -> str:
    """A file that changes nothing, with all that could be changed."""
    return _HEAD + "".join(_lines(tree()))


def _lines(group: Group) -> Iterator[str]:
    indent = "  " * len(group.path)
    for name, member in group.members.items():
        if member.path == ("lock",):
            continue  # a user's file can't lock
        if not group.path:
            yield "\n"
        if isinstance(member, Key):
            yield f"#{indent}# {member.description} ({expected(member.type)})\n"
            yield f"#{indent}{name}: {msgspec.json.encode(member.default).decode()}\n"
        else:
            yield f"#{indent}{name}:  # {member.doc}\n"
            yield from _lines(member)


def table() -> str:
    """Every key as a Markdown table, for the docs."""
    rows = ["| key | default | what it is |\n|---|---|---|\n"]
    for key in tree().all_keys():
        value = msgspec.json.encode(key.default).decode()
        default = f"`{value}`" if len(value) <= _LONGEST_DEFAULT else "see `interpose config show`"
        rows.append(f"| `{key.name}` | {default} | {key.description} ({expected(key.type)}) |\n")
    return "".join(rows)


_LONGEST_DEFAULT = 60
