"""Redacting nested data: the same shape comes back."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from interpose.formats import nested_values
from interpose.secrets import Redactor, nested
from interpose.types import FrozenDict, FrozenList, freeze
from tests.unit.secrets.templates import filled

TOKEN = filled("ghp_{alnum:36}")
PASSWORD = filled("{alnum:14}")
REDACTOR = Redactor(b"key")
MARK = REDACTOR.redact(TOKEN).text


class Point(NamedTuple):
    name: str
    x: int


@pytest.mark.parametrize(
    ("note", "value", "want"),
    [
        ("text", TOKEN, MARK),
        ("a mapping; keys and order stay", {"b": 1, "a": TOKEN}, {"b": 1, "a": MARK}),
        ("lists in mappings", {"a": [{"b": [TOKEN, None, 1.5]}]}, {"a": [{"b": [MARK, None, 1.5]}]}),
        ("a tuple", ("x", TOKEN), ("x", MARK)),
        ("a named tuple", Point(TOKEN, 1), Point(MARK, 1)),
        ("a set", {TOKEN, "x"}, {MARK, "x"}),
        ("a frozen set", frozenset({TOKEN}), frozenset({MARK})),
        ("bytes", TOKEN.encode(), MARK.encode()),
        ("a byte array", bytearray(TOKEN.encode()), bytearray(MARK.encode())),
        ("a key that is itself a secret", {TOKEN: 1}, {MARK: 1}),
        ("keys that are no text", {1: TOKEN, None: "x"}, {1: MARK, None: "x"}),
        ("content of MCP", [{"type": "text", "text": f"a {TOKEN}"}], [{"type": "text", "text": f"a {MARK}"}]),
    ],
)
def test_the_shape_stays(note: str, value: Any, want: Any) -> None:
    clean, found = REDACTOR.redact_value(value)
    assert clean == want, note
    assert type(clean) is type(value)
    assert [one.kind for one in found] == ["github-personal-token"]


def test_frozen_data_stays_frozen() -> None:
    clean, _ = REDACTOR.redact_value(freeze({"a": [TOKEN]}))
    assert type(clean) is FrozenDict
    assert type(clean["a"]) is FrozenList


def test_untouched_parts_are_the_same_objects() -> None:
    quiet = {"x": ["y"]}
    value = {"a": quiet, "b": [TOKEN]}
    clean, _ = REDACTOR.redact_value(value)
    assert clean["a"] is quiet
    assert REDACTOR.redact_value(quiet) == (quiet, ())
    assert REDACTOR.redact_value(quiet)[0] is quiet
    assert value == {"a": quiet, "b": [TOKEN]}, "what was given is not changed"


@pytest.mark.parametrize(
    ("note", "value", "kind"),
    [
        ("a field's name", {"password": PASSWORD}, "generic-password"),
        ("a vendor's name", {"snyk_token": filled("{hex:8}-{hex:4}-{hex:4}-{hex:4}-{hex:12}")}, "snyk-api-token"),
        ("name and value", {"name": "DB_PASSWORD", "value": PASSWORD}, "generic-password"),
        ("name and value, capitalised", {"Name": "API_TOKEN", "Value": filled("{alnum:32}")}, "generic-api-key"),
        ("a header", {"headers": {"Authorization": f"Bearer {filled('{alnum:32}')}"}}, "bearer-token"),
        ("a list of headers' values", {"Set-Cookie": [f"sid={filled('{lowernum:32}')}; Path=/"]}, "cookie"),
        ("a Kubernetes Secret", {"kind": "Secret", "data": {"x": PASSWORD}}, "kubernetes-secret"),
    ],
)
def test_names_tell_what_values_do_not(note: str, value: Any, kind: str) -> None:
    clean, found = REDACTOR.redact_value(value)
    assert [one.kind for one in found] == [kind], note
    assert clean.keys() == value.keys()


@pytest.mark.parametrize(
    ("note", "value"),
    [
        ("a placeholder", {"password": "changeme"}),
        ("a name that tells nothing", {"title": PASSWORD}),
        ("a name of a secret", {"secret_name": "prod-db-2"}),
        ("numbers", {"token": 123456789, "max_tokens": 4096}),
        ("an object that is none of ours", {"a": object()}),
        ("a list of a Kubernetes kind", {"kind": "SecretList", "data": {"x": TOKEN[4:9]}}),
    ],
)
def test_ordinary_data_is_left_alone(note: str, value: Any) -> None:
    assert REDACTOR.redact_value(value)[0] is value, note


def test_what_is_nested_too_deep_is_withheld() -> None:
    value: Any = TOKEN
    for _ in range(nested_values.MAX_DEPTH + 50):
        value = [value]
    clean, found = REDACTOR.redact_value(value)
    assert [one.kind for one in found] == ["too-deep"]
    assert TOKEN not in repr(clean)


def test_a_circle_ends() -> None:
    value: dict[str, Any] = {"t": TOKEN}
    value["self"] = value
    clean, found = REDACTOR.redact_value(value)
    assert clean["t"] == MARK
    assert found[-1].kind == "too-deep"


def test_what_is_too_large_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested, "MAX_BYTES", 100)
    clean, found = REDACTOR.redact_value(["x" * 90, "y" * 20, b"z" * 20])
    assert clean[0] == "x" * 90
    assert "y" not in clean[1].removeprefix("[redacted:").replace("key", "")
    assert [one.kind for one in found] == ["too-large", "too-large"]
    assert type(clean[2]) is bytes
