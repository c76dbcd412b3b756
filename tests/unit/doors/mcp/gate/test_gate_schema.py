"""Whether a value fits a schema: what is understood, and that nothing takes long or leaves the machine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.doors.mcp.gate.gate_schema import misfit

NEXT = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "integer"}}}
NODE = {"$defs": {"node": NEXT}, "$ref": "#/$defs/node"}

CASES: list[tuple[str, Any, Any, str]] = [
    ("no schema", None, 1, ""),
    ("an empty one", {}, 1, ""),
    ("a type", {"type": "string"}, "x", ""),
    ("another type", {"type": "string"}, 1, "$"),
    ("true is no integer", {"type": "integer"}, True, "$"),
    ("1.0 is one", {"type": "integer"}, 1.0, ""),
    ("one of several types", {"type": ["string", "null"]}, None, ""),
    ("a type that nobody knows", {"type": "money"}, 1, ""),
    ("a member", {"properties": {"a": {"type": "string"}}}, {"a": 1}, "$.a"),
    ("a member of an item", {"items": {"properties": {"a": {"type": "string"}}}}, [{}, {"a": 1}], "$[1].a"),
    ("what is missing", {"required": ["a"]}, {}, "$.a"),
    ("what is too much", {"properties": {"a": {}}, "additionalProperties": False}, {"b": 1}, "$.b"),
    ("patterns of names are not tried", {"patternProperties": {"^b": {}}, "additionalProperties": False}, {"b": 1}, ""),
    ("the first items", {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, ["x", 1], ""),
    ("the rest of them", {"prefixItems": [{"type": "string"}], "items": False}, ["x", 1], "$[1]"),
    ("a word of a list", {"enum": ["a", 1]}, "a", ""),
    ("none of a list", {"enum": ["a", 1]}, True, "$"),
    ("const", {"const": {"a": [1]}}, {"a": [1]}, ""),
    ("const of another type", {"const": 1}, True, "$"),
    ("too short", {"minLength": 2}, "x", "$"),
    ("too long", {"maxLength": 2}, "xyz", "$"),
    ("lengths are of texts", {"maxLength": 2}, 12345, ""),
    ("too small", {"minimum": 2}, 1, "$"),
    ("exactly at the end", {"exclusiveMaximum": 2}, 2, "$"),
    ("too many", {"maxItems": 1}, [1, 2], "$"),
    ("a bound that is none", {"maxItems": "many"}, [1, 2], ""),
    ("a pattern", {"pattern": "^a+$"}, "aaa", ""),
    ("not the pattern", {"pattern": "^a+$"}, "b", "$"),
    ("a pattern that can't be tried", {"pattern": "(?=a)b"}, "c", ""),
    ("a pattern that would take for ever elsewhere", {"pattern": "^(a+)+$"}, "a" * 5000 + "b", "$"),
    ("all of", {"allOf": [{"type": "string"}, {"minLength": 2}]}, "x", "$"),
    ("any of", {"anyOf": [{"type": "string"}, {"type": "null"}]}, None, ""),
    ("none of any", {"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "$"),
    ("exactly one", {"oneOf": [{"type": "integer"}, {"type": "number"}]}, 1, "$"),
    ("not", {"not": {"type": "string"}}, "x", "$"),
    ("a reference", {"$defs": {"t": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/t"}}}, {"a": 1}, "$.a"),
    ("a reference with slashes", {"$defs": {"a/b": {"type": "string"}}, "$ref": "#/$defs/a~1b"}, 1, "$"),
    ("a reference to itself, which ends with the value", NODE, {"next": {"next": {"v": "x"}}}, "$.next.next.v"),
    ("a reference to nothing", {"$ref": "#/$defs/none"}, 1, ""),
    ("a reference elsewhere is never looked up", {"$ref": "http://127.0.0.1:9/schema.json"}, 1, ""),
    ("nor is a file", {"$ref": "file:///etc/passwd"}, 1, ""),
    (
        "keywords of the wrong kind",
        {"type": 5, "properties": [], "required": "a", "items": 3, "anyOf": "x"},
        {"a": 1},
        "",
    ),
]


@pytest.mark.parametrize(("note", "schema", "value", "place"), CASES)
def test_places(note: str, schema: Any, value: Any, place: str) -> None:
    assert misfit(schema, value) == place


def doubling(depth: int) -> dict[str, Any]:
    """Each definition refers to the next one twice: a walk of them all would not end in our lifetime."""
    made = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(depth)}
    return {"$defs": {**made, f"d{depth}": {}}, "$ref": "#/$defs/d0"}


ENDLESS: list[tuple[str, Any]] = [
    ("a circle", {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
    ("itself", {"$ref": "#"}),
    ("a circle in allOf", {"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}),
    ("doubling", doubling(28)),
    ("deep", {"allOf": [doubling(20)] * 3}),
]


@pytest.mark.parametrize(("note", "schema"), ENDLESS)
def test_a_schema_without_end_ends(note: str, schema: Any) -> None:
    assert misfit(schema, {"a": 1}) in ("", "$ (the schema of the tool is too large to be checked)")


WORDS = st.sampled_from(
    ["type", "properties", "items", "$ref", "anyOf", "allOf", "oneOf", "not", "enum", "const", "required", "pattern",
     "maxLength", "minItems", "prefixItems", "additionalProperties", "$defs"]
)  # fmt: skip
ANY: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["string", "#", "#/$defs/a", "a", "("]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)


@given(schema=ANY, value=ANY)
def test_no_schema_breaks_it(schema: Any, value: Any) -> None:
    assert isinstance(misfit(schema, value), str)
