"""Walking through nested data: the same shape comes back, and untouched parts are the same objects."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import force_setattr

from interpose.secrets.effort import Effort
from interpose.types import FrozenDict, FrozenList

if TYPE_CHECKING:
    from interpose.secrets.redact import FoundSecret, Redaction, Redactor

MAX_DEPTH = 100
MAX_BYTES = 64 * 1024 * 1024
MAX_OBJECTS = 100_000
"""Containers and objects that are looked into. A graph that leads back to itself would have no end."""
_NAMES = ("name", "key", "Name", "Key")
_VALUES = ("value", "Value")
_SECRET_PARTS = ("data", "stringData")

_KEYS, _KEY_LENGTH = 4096, 64
_PLAIN_KEYS: set[str] = set()
"""Keys that are no secrets: those of tools' arguments come with every call."""


def fields_of(value: object) -> tuple[str, ...]:
    """The names of what an object holds, if its class says so: a dataclass, a pydantic model, attrs, a Struct."""
    kind = type(value)
    try:
        for mark in ("__dataclass_fields__", "__pydantic_fields__", "__struct_fields__"):
            found = getattr(kind, mark, None)
            if isinstance(found, dict | tuple):
                return _with_more(value, [name for name in found if isinstance(name, str)])
        found = [one.name for one in getattr(kind, "__attrs_attrs__", ())]
        return _with_more(value, found) if found else ()
    except BaseException:  # noqa: BLE001 - a metaclass can raise anything
        return ()


def _with_more(value: object, names: list[str]) -> tuple[str, ...]:
    """The fields of an object, and what else was put into it: extras, private and cached values."""
    more = [name for name in ("__pydantic_extra__", "__pydantic_private__") if isinstance(_field(value, name), dict)]
    kept = _field(value, "__dict__")
    return tuple(dict.fromkeys((*names, *(kept if isinstance(kept, dict) else ()), *more)))


def _field(value: object, name: str) -> Any:
    try:
        return getattr(value, name)
    except Exception:  # noqa: BLE001 - what can't be read shows nothing
        return None


class Nested:
    """One walk. It keeps count of what it has seen, so it is used once."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._left = MAX_BYTES
        self._effort = Effort()
        self._found: list[FoundSecret] = []
        self._above: set[int] = set()
        self._objects = MAX_OBJECTS
        self._circles, self._withholds_circles = 0, False

    def redacted(self, value: Any) -> tuple[Any, tuple[FoundSecret, ...]]:
        """The value without secrets, and what was found."""
        clean = self._walk(value, "", 0)
        if self._found and self._circles:
            # INVARIANT: no way back leads to the original. A graph without secrets may keep its ways back.
            again = Nested(self._redactor)
            again._withholds_circles = True
            return again._walk(value, "", 0), tuple(again._found)
        return (clean, tuple(self._found)) if self._found else (value, ())

    def _walk(self, value: Any, name: str, depth: int) -> Any:
        match value:
            case str():
                return self._text(value, name)
            case bytes() | bytearray():
                return self._bytes(value)
            case dict() | list() | tuple() | set() | frozenset():
                return self._inside(value, lambda: self._container(value, name, depth), depth)
            case _:
                names = fields_of(value)
                return self._inside(value, lambda: self._object(value, names, depth), depth) if names else value

    def _inside(self, value: Any, walk: Callable[[], Any], depth: int) -> Any:
        """Look into something that holds others, once on each way down: what leads back to itself was seen above."""
        if id(value) in self._above:
            self._circles += 1
            return self._withhold("too-deep") if self._withholds_circles else value
        self._objects -= 1
        if depth >= MAX_DEPTH or self._objects < 0:
            return self._withhold("too-deep" if depth >= MAX_DEPTH else "too-large")
        self._above.add(id(value))
        try:
            return walk()
        finally:
            self._above.discard(id(value))

    def _container(self, value: Any, name: str, depth: int) -> Any:
        return self._mapping(value, depth) if isinstance(value, dict) else self._items(value, name, depth)

    def _object(self, value: Any, names: tuple[str, ...], depth: int) -> Any:
        """A copy with other fields, made without its class being asked: it may be frozen, and may check what it is."""
        changed = {
            name: new for name in names if (new := self._walk(old := _field(value, name), name, depth + 1)) is not old
        }
        if not changed:
            return value
        other = copy(value)
        if other is value:  # a class that says it copies: what the tool keeps is not ours to change
            return self._withhold("unsearched")
        for name, new in changed.items():
            if isinstance(other, Struct):
                force_setattr(other, name, new)
            else:
                object.__setattr__(other, name, new)
        return other

    def _text(self, text: str, name: str) -> str:
        self._left -= len(text)
        if self._left < 0:
            return self._withhold("too-large")
        effort = self._effort
        redaction = self._redactor.redact_named(name, text, effort) if name else self._redactor.redact(text, effort)
        return self._taken(text, redaction)

    def _bytes(self, data: bytes | bytearray) -> Any:
        self._left -= len(data)
        if self._left < 0:
            return type(data)(self._withhold("too-large").encode())
        clean, found = self._redactor.redact_bytes(bytes(data), self._effort)
        self._found += found
        return type(data)(clean) if found else data

    def _mapping(self, value: dict[Any, Any], depth: int) -> Any:
        named = self._name_of_pair(value)
        is_secret = value.get("kind") == "Secret"
        changed: dict[Any, Any] = {}
        same = True
        for key, item in value.items():
            new_key = self._key(key)
            name = key if isinstance(key, str) else ""
            if is_secret and key in _SECRET_PARTS and isinstance(item, dict):
                new = {self._key(entry): self._whole(text, depth + 1) for entry, text in item.items()}
            else:
                new = self._walk(item, named if named and key in _VALUES else name, depth + 1)
            same = same and new is item and new_key is key
            changed[new_key] = new
        if same:
            return value
        return FrozenDict(changed) if isinstance(value, FrozenDict) else changed

    def _key(self, key: Any) -> Any:
        """Keys stay, unless a key is itself a secret."""
        if type(key) is str and key in _PLAIN_KEYS:
            return key
        new = self._text(key, "") if isinstance(key, str) else self._bytes(key) if isinstance(key, bytes) else key
        if new is key and type(key) is str and len(key) <= _KEY_LENGTH and len(_PLAIN_KEYS) < _KEYS:
            _PLAIN_KEYS.add(key)
        return new

    def _name_of_pair(self, value: dict[Any, Any]) -> str:
        """`{"name": "API_KEY", "value": "..."}`: environments and headers are often listed so."""
        if not any(key in value for key in _VALUES):
            return ""
        return next((value[key] for key in _NAMES if isinstance(value.get(key), str)), "")

    def _items(self, value: Any, name: str, depth: int) -> Any:
        items = [self._walk(item, name, depth + 1) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        match value:
            case FrozenList():
                return FrozenList(items)
            case tuple() if hasattr(value, "_make"):
                return value._make(items)
            case tuple():
                return tuple(items)
            case set():
                return set(items)
            case frozenset():
                return frozenset(items)
            case _:
                return items

    def _whole(self, text: Any, depth: int) -> Any:
        if not isinstance(text, str) or not text:
            return self._walk(text, "", depth)
        return self._taken(text, self._redactor.hide(text, "kubernetes-secret"))

    def _taken(self, text: str, redaction: Redaction) -> str:
        self._found += redaction.found
        return redaction.text if redaction.found else text

    def _withhold(self, kind: str) -> str:
        found = self._redactor.withheld(kind)
        self._found.append(found)
        return found.marker
