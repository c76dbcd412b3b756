"""Whether a value fits a JSON Schema, as far as that can be told cheaply.

Schemas are written by servers. INVARIANT: the work is bounded, and a `$ref` is looked up in the schema itself or not at
all: nothing is ever fetched. What is not understood is no objection; whoever gets the value checks it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from interpose.core.types import same
from interpose.rules.cel.runtime_values import EvaluationError
from interpose.rules.cel.text_functions import encoded, pattern

MOST_STEPS = 20_000
MOST_REFS = 64
"""Schemas that refer to schemas that refer to schemas."""
_LONGEST_PATTERN = 1_000
_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list | tuple),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
}


class SchemaSteps:
    """How much work is left for one check, or for several together."""

    def __init__(self, left: int = MOST_STEPS) -> None:
        self.left = left

    def take(self, steps: int = 1) -> None:
        """Raises _TooMuchError when there is none left."""
        self.left -= steps
        if self.left < 0:
            raise _TooMuchError


def misfit(schema: object, value: Any, steps: SchemaSteps | None = None) -> str:
    """Where a value does not fit its schema, such as `$.rows[2].name`; empty if it fits, or if nobody can say."""
    if not isinstance(schema, Mapping):
        return ""
    try:
        return _SchemaWalk(schema, steps or SchemaSteps()).misfit(schema, value, "$", 0)
    except _TooMuchError:
        return "$ (the schema of the tool is too large to be checked)"


class _TooMuchError(Exception):
    """A schema that takes too long."""


class _SchemaWalk:
    """One value and its schema. Each method says where it does not fit."""

    def __init__(self, root: Mapping[str, Any], steps: SchemaSteps) -> None:
        self._root, self._steps = root, steps

    def misfit(self, schema: object, value: Any, at: str, refs: int) -> str:
        listed = schema.get("enum") if isinstance(schema, Mapping) else None
        self._steps.take(1 + (len(listed) if isinstance(listed, list | tuple) else 0))
        if refs > MOST_REFS:
            raise _TooMuchError
        if schema is False:
            return at
        if not isinstance(schema, Mapping):
            return ""
        if not _of_type(schema.get("type"), value) or not _is_listed(schema, value) or not _in_bounds(schema, value):
            return at
        return (
            self._referred(schema, value, at, refs)
            or self._members(schema, value, at, refs)
            or self._items(schema, value, at, refs)
            or self._combined(schema, value, at, refs)
        )

    def _referred(self, schema: Mapping[str, Any], value: Any, at: str, refs: int) -> str:
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return ""
        found: Any = self._root
        for part in reference[1:].split("/")[1:]:
            self._steps.take()
            word = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or word not in found:
                return ""
            found = found[word]
        return self.misfit(found, value, at, refs + 1)

    def _members(self, schema: Mapping[str, Any], value: Any, at: str, refs: int) -> str:
        if not isinstance(value, Mapping):
            return ""
        known = schema.get("properties")
        known = known if isinstance(known, Mapping) else {}
        required = schema.get("required")
        for name in required if isinstance(required, list | tuple) else ():
            self._steps.take()
            if isinstance(name, str) and name not in value:
                return f"{at}.{name}"
        others: object = True if "patternProperties" in schema else schema.get("additionalProperties", True)
        for name, member in value.items():
            if where := self.misfit(known.get(name, others), member, f"{at}.{name}", refs):
                return where
        return ""

    def _items(self, schema: Mapping[str, Any], value: Any, at: str, refs: int) -> str:
        if not isinstance(value, list | tuple):
            return ""
        first = schema.get("prefixItems")
        first = first if isinstance(first, list | tuple) else ()
        rest = schema.get("items", True)
        for place, item in enumerate(value):
            inner = first[place] if place < len(first) else rest
            if where := self.misfit(inner, item, f"{at}[{place}]", refs):
                return where
        return ""

    def _combined(self, schema: Mapping[str, Any], value: Any, at: str, refs: int) -> str:
        for part in _schemas(schema, "allOf"):
            if where := self.misfit(part, value, at, refs + 1):
                return where
        for word, wanted in (("anyOf", 0), ("oneOf", 1)):
            if parts := _schemas(schema, word):
                found = [self.misfit(part, value, at, refs + 1) for part in parts]
                if found.count("") == 0 or (wanted and found.count("") != wanted):
                    return max(found, key=len) or at
        refused = schema.get("not")
        if refused is not None and not self.misfit(refused, value, at, refs + 1):
            return at
        return ""


def _schemas(schema: Mapping[str, Any], word: str) -> tuple[object, ...]:
    parts = schema.get(word)
    return tuple(parts) if isinstance(parts, list | tuple) else ()


def _of_type(named: object, value: Any) -> bool:
    names = [named] if isinstance(named, str) else named
    if not isinstance(names, list | tuple):
        return True
    known = [_TYPES[name] for name in names if isinstance(name, str) and name in _TYPES]
    return not known or any(is_one(value) for is_one in known)


def _is_listed(schema: Mapping[str, Any], value: Any) -> bool:
    if "const" in schema and not same(schema["const"], value):
        return False
    listed = schema.get("enum")
    return not isinstance(listed, list | tuple) or any(same(one, value) for one in listed)


_BOUNDS: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("minLength", "string", lambda value, bound: len(value) >= bound),
    ("maxLength", "string", lambda value, bound: len(value) <= bound),
    ("minimum", "number", lambda value, bound: value >= bound),
    ("maximum", "number", lambda value, bound: value <= bound),
    ("exclusiveMinimum", "number", lambda value, bound: value > bound),
    ("exclusiveMaximum", "number", lambda value, bound: value < bound),
    ("minItems", "array", lambda value, bound: len(value) >= bound),
    ("maxItems", "array", lambda value, bound: len(value) <= bound),
    ("minProperties", "object", lambda value, bound: len(value) >= bound),
    ("maxProperties", "object", lambda value, bound: len(value) <= bound),
)


def _in_bounds(schema: Mapping[str, Any], value: Any) -> bool:
    for word, kind, holds in _BOUNDS:
        bound = schema.get(word)
        if bound is not None and _TYPES["number"](bound) and _TYPES[kind](value) and not holds(value, bound):
            return False
    wanted = schema.get("pattern")
    if isinstance(wanted, str) and isinstance(value, str) and len(wanted) <= _LONGEST_PATTERN:
        try:
            return pattern(wanted).search(encoded(value)) is not None
        except EvaluationError:  # not one that can be tried in bounded time
            return True
    return True
