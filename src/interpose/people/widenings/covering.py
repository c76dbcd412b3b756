"""Whether a call is of a kind. The answer is a text: empty if it is, else what is outside.

INVARIANT: a call is of a kind only if everything of it is. Its arguments are the same, letter for letter, but for one
place in which nothing can stand that a shell would read as more than a word; and every effect of the call as it would
really run is one that the kind has. What is not proven, or can't be known, is of no kind.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from interpose.core.types import Effect, ToolCall, same
from interpose.people.widenings.effect_words import effect_text
from interpose.people.widenings.kind_values import NEVER, CallKind, EffectBound, fills
from interpose.reading.calls import home_directory, reading_of


def effects_of(call: ToolCall) -> tuple[Effect, ...]:
    """What a call would do, read as guards read it."""
    return reading_of(call, home_directory()).effects


def outside(kind: CallKind, call: ToolCall) -> str:
    """What of a call is not of a kind; empty if all of it is."""
    if (call.name, call.original_name) != (kind.tool, kind.said):
        return f"it is another tool ({call.original_name or call.name})"
    arguments = {name: value for name, value in call.arguments.items() if name not in kind.free}
    # What is free was one text or number, and is one: what nests may be read as something else.
    if nested := [name for name in kind.free if isinstance(call.arguments.get(name), Mapping | list | tuple)]:
        return f"{nested[0]} is not of the same type"
    value = arguments.pop(kind.argument, None)
    if not same(arguments, kind.fixed):
        return f"{_changed(kind.fixed, arguments)} is not the same"
    if why := _outside_hole(kind, value):
        return why
    reading = reading_of(call, home_directory())
    if kind.understood and not reading.understood:
        return "nobody can say what it would do"
    if reading.analysis.problems:
        return "it can't be read to its end"
    return outside_effects(kind.effects, reading.effects, call.context.cwd)


def outside_effects(bounds: Iterable[EffectBound], effects: Iterable[Effect], cwd: str) -> str:
    """The first effect that none of the bounds has; empty if there is none."""
    known = tuple(bounds)
    for effect in effects:
        if effect.kind in NEVER or effect.certainty != "proven":
            return f"{effect_text(effect)}, which is agreed to one by one"
        if not any(has(bound, effect, cwd) for bound in known):
            return effect_text(effect)
    return ""


def has(bound: EffectBound, effect: Effect, cwd: str) -> bool:
    """Whether a bound has an effect."""
    if effect.kind != bound.kind or effect.via != bound.via or not same(told_of(effect), bound.details):
        return False
    resource = effect.resource
    match bound.matching:
        case "is":
            return resource == bound.resource
        case "like":
            middle = resource.removeprefix(bound.resource).removesuffix(bound.rest)
            fits = f"{bound.resource}{middle}{bound.rest}" == resource and fills(bound.hole, middle)
            return fits and (not bound.kind.startswith("fs.") or _is_no_link(resource, bound.lay))
        case "ref":
            remote, _, branch = resource.partition(" ")
            rest = branch.removeprefix(bound.rest)
            return remote == bound.resource and branch == bound.rest + rest and fills("path", rest)
        case "host":
            return origin_of(resource) == bound.resource
        case "in" | "below":
            return _lies(resource, bound, cwd)


def told_of(effect: Effect) -> dict[str, Any]:
    """What an effect's details say of it, as JSON has it. What would be safer is no part of what it does."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in effect.details.items()
        if name != "instead"
    }


def origin_of(address: str) -> str:
    """The scheme, host and port of an address; empty if it is none, or names a user."""
    try:
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return ""
    return f"{parts.scheme}://{parts.hostname}{port}"


def place_of(path: str, cwd: str) -> str:
    """An absolute path without dots, as the words say it; empty where it can't be told."""
    joined = posixpath.join(cwd, path)
    return posixpath.normpath(joined) if joined.startswith("/") and path and "\0" not in joined else ""


def _lies(resource: str, bound: EffectBound, cwd: str) -> bool:
    """INVARIANT: by its words and by its links, and the directory still lies where it lay when it was offered."""
    path = place_of(resource, cwd)
    rest = path.removeprefix(f"{bound.resource}/")
    if not path or f"{bound.resource}/{rest}" != path or not fills("name" if bound.matching == "in" else "path", rest):
        return False
    real = os.path.realpath(path)
    return os.path.realpath(bound.resource) == bound.rest and real == f"{bound.rest}/{rest}"


def _is_no_link(path: str, folder: str) -> bool:
    """INVARIANT: as above, for a file that is told apart by its number."""
    plain = place_of(path, "/")
    return plain == path and bool(folder) and os.path.realpath(plain) == f"{folder}/{posixpath.basename(plain)}"


def _outside_hole(kind: CallKind, value: object) -> str:
    # Exact types only: a text is no number, and True is none either.
    if type(value) is not (int if kind.number else str):
        return f"{kind.argument} is not of the same type"
    text = str(value)
    middle = text[len(kind.before) : len(text) - len(kind.behind)]
    if f"{kind.before}{middle}{kind.behind}" != text:
        return f"{kind.argument} differs in more than the one place"
    return "" if fills(kind.hole, middle) else f"what stands in {kind.argument} is no {_WORDS[kind.hole]}"


_WORDS = {
    "number": "number",
    "hex": "id",
    "name": "plain name",
    "path": "plain path",
    "address": "plain path of an address",
}


def _changed(one: dict[str, Any], other: dict[str, Any]) -> str:
    names = [name for name in {**one, **other} if not (name in one and name in other and same(one[name], other[name]))]
    return " and ".join(sorted(map(str, names))[:3]) or "an argument"
