"""Redacting nested data: the same shape comes back."""

from __future__ import annotations

from array import array
from collections import ChainMap, OrderedDict, UserDict, UserList, UserString, deque
from collections.abc import Iterator, Sequence
from itertools import count
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import pydantic
import pytest

from interpose.core.formats import nested_values
from interpose.core.types import FrozenDict, FrozenList, freeze
from interpose.reading.secrets import Redactor, nested
from tests.support.hostile import GARBAGE
from tests.unit.reading.secrets.templates import filled

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


class Numbers(Sequence[Any]):
    """A sequence of somebody's own."""

    def __init__(self, *items: Any) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]


class Endless(Numbers):
    def __iter__(self) -> Iterator[Any]:
        return count()


class Unreadable(Numbers):
    def __iter__(self) -> Iterator[Any]:
        raise OSError("gone")


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("note", "value", "want"),
    [
        ("a deque", deque(["x", TOKEN], 5), deque(["x", MARK], 5)),
        ("a read-only mapping", MappingProxyType({"a": TOKEN}), MappingProxyType({"a": MARK})),
        ("a mapping that keeps another", UserDict({"a": TOKEN}), UserDict({"a": MARK})),
        ("a list that keeps another", UserList([TOKEN]), UserList([MARK])),
        ("a chain of mappings", ChainMap({"a": TOKEN}, {"b": "x"}), ChainMap({"a": MARK}, {"b": "x"})),
        ("a namespace", SimpleNamespace(a=TOKEN, b=1), SimpleNamespace(a=MARK, b=1)),
        ("memory", memoryview(TOKEN.encode()), memoryview(MARK.encode())),
        ("a deque in a mapping in a deque", deque([{"a": deque([TOKEN])}]), deque([{"a": deque([MARK])}])),
    ],
)
def test_other_containers_come_back_in_their_own_type(note: str, value: Any, want: Any) -> None:
    clean, found = REDACTOR.redact_value(value)
    assert clean == want, note
    assert type(clean) is type(value)
    assert getattr(clean, "maxlen", 0) == getattr(value, "maxlen", 0)
    assert [one.kind for one in found] == ["github-personal-token"]
    assert TOKEN in repr(value) or isinstance(value, memoryview), "what was given is not changed"


@pytest.mark.parametrize(
    ("note", "value", "want"),
    [
        ("values", {"a": TOKEN}.values(), [MARK]),
        ("keys", {TOKEN: 1}.keys(), [MARK]),
        ("items", {"a": TOKEN}.items(), [("a", MARK)]),
        ("a sequence of somebody's own", Numbers("x", TOKEN), ["x", MARK]),
        ("a text that keeps another", UserString(TOKEN), MARK),
        ("a text of a class of its own", Text(TOKEN), MARK),
        ("values of an ordered mapping", OrderedDict(a=TOKEN).values(), [MARK]),
    ],
)
def test_what_cannot_be_made_in_kind_comes_back_plain(note: str, value: Any, want: Any) -> None:
    assert REDACTOR.redact_value(value)[0] == want, note
    assert type(REDACTOR.redact_value(value)[0]) is type(want)


@pytest.mark.parametrize(
    "value",
    [
        deque(["x"]), MappingProxyType({"a": "x"}), UserDict(a="x"), UserList(["x"]), ChainMap({"a": "x"}),
        SimpleNamespace(a="x"), memoryview(b"x"), {"a": "x"}.values(), Numbers("x"), UserString("x"), Text("x"),
        range(10**15), array("d", [1.0] * 10), iter([TOKEN]),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_other_values_without_secrets_are_the_same_objects(value: Any) -> None:
    assert REDACTOR.redact_value(value)[0] is value


@pytest.mark.parametrize(("value", "kind"), [(Endless(1), "too-large"), (Unreadable(1), "unsearched")])
def test_a_container_that_cannot_be_read_is_withheld(value: Any, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested_values, "MAX_ITEMS", 1000)
    clean, found = REDACTOR.redact_value({"a": value})
    assert clean["a"].startswith(f"[redacted:{kind}:")
    assert [one.kind for one in found] == [kind]


def test_what_its_class_calls_a_secret_is_hidden_whatever_it_is() -> None:
    class Login(pydantic.BaseModel):
        user: str
        password: pydantic.SecretStr
        key: pydantic.SecretBytes
        empty: pydantic.SecretStr = pydantic.SecretStr("")

    given = Login(user="bob", password=pydantic.SecretStr("monday"), key=pydantic.SecretBytes(b"tuesday"))
    clean, found = REDACTOR.redact_value({"login": given})
    login = clean["login"]
    assert type(login) is Login
    assert login.password.get_secret_value().startswith("[redacted:secret-value:")
    assert login.key.get_secret_value().startswith(b"[redacted:secret-value:")
    assert login.empty is given.empty
    assert (login.user, given.password.get_secret_value()) == ("bob", "monday")
    assert len(found) == 2


@pytest.mark.parametrize("name", [name for name in GARBAGE if "class" in name or "eq" in name or "text" in name])
def test_values_that_fight_back_are_left_alone(name: str) -> None:
    value = GARBAGE[name]()
    assert REDACTOR.redact_value(value)[0] is value
    assert REDACTOR.redact_value([value])[1] == ()


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
