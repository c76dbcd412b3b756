"""Walking through nested values: the same shape comes back, and untouched parts are the same objects.

A value is asked nothing about itself: what it is, is read off its type, past a metaclass that could say anything.
"""

from __future__ import annotations

import io
import sys
from abc import ABCMeta
from collections import ChainMap, UserDict, UserList, UserString, deque
from collections.abc import Callable, Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from itertools import islice
from types import FunctionType, MappingProxyType, SimpleNamespace
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import force_setattr

from interpose.core.types import FrozenDict, FrozenList

MAX_DEPTH = 100
MAX_OBJECTS = 100_000
"""Containers and objects that are looked into. A graph that leads back to itself would have no end."""
MAX_ITEMS = 1_000_000
"""Items of a container that is not one of Python's own: it may compute them, and have no end."""

_LINEAGE, _NAMESPACE = type.__dict__["__mro__"], type.__dict__["__dict__"]
_CO_COROUTINE = 0x80  # as in `inspect`, without importing it
_SEALED = "_secret_value"
_DICT_ITEMS: Any = dict.items


# --- streams ---------------------------------------------------------------------------------------------------------


def is_stream(value: object) -> bool:
    """Whether a value gives what it holds piece by piece, and only once: an iterator, a file, an async reader."""
    return reads_at_once(value) or reads_async(value)


def reads_at_once(value: object) -> bool:
    """Whether it is an iterator or an open file."""
    return _attribute(value, "__next__") is not None or is_file(value)


def reads_async(value: object) -> bool:
    """Whether its pieces must be awaited."""
    if _attribute(value, "__anext__") is not None or has_async_read(value):
        return True
    return _attribute(value, "__aiter__") is not None and _attribute(value, "__iter__") is None


def is_file(value: object) -> bool:
    """Whether it is an open file, one written in C or a temporary one too."""
    return any(base is known for base in _LINEAGE.__get__(type(value)) for known in (_ANY_FILE, *_temporary_files()))


def has_async_read(value: object) -> bool:
    """Whether it has a `read` that must be awaited, as asyncio's readers have."""
    read = _attribute(value, "read")
    return type(read) is FunctionType and bool(read.__code__.co_flags & _CO_COROUTINE)


_ANY_FILE = io.IOBase.__mro__[1]
"""What every file descends from, those written in C too."""


def _attribute(value: object, name: str) -> Any:
    """What a type says of a name; None if it says nothing."""
    for base in _LINEAGE.__get__(type(value)):
        space = _NAMESPACE.__get__(base)
        if name in space:
            return space[name]
    return None


def _temporary_files() -> tuple[type, ...]:
    """The files of `tempfile`, which are no subclasses of files. None exist while nobody has imported it."""
    tempfile: Any = sys.modules.get("tempfile")
    if tempfile is None:
        return ()
    return tempfile.SpooledTemporaryFile, tempfile._TemporaryFileWrapper  # noqa: SLF001 - it has no public name


# --- the walk --------------------------------------------------------------------------------------------------------


class NestedWalk:
    """One walk. Subclasses say what becomes of the leaves. It keeps count of what it has seen, so it is used once."""

    def __init__(self) -> None:
        self._above: set[int] = set()
        self._objects = MAX_OBJECTS
        self._circles, self._withholds_circles = 0, False

    def text(self, text: str, _name: str) -> Any:
        """A text, and the name it stands under."""
        return text

    def data(self, data: bytes) -> bytes:
        """Bytes."""
        return data

    def stream(self, stream: Any) -> Any:
        """An iterator or a file. Nothing of it has been read."""
        return stream

    def sealed(self, content: Any) -> Any:
        """The content of an object whose class says that it is a secret."""
        return content

    def other(self, value: Any) -> Any:
        """Anything else."""
        return value

    def withhold(self, value: Any, kind: str) -> Any:
        """What stands in the place of something that can't be looked into, or not be changed."""
        raise NotImplementedError

    def begin_again(self) -> None:
        """Forget what was counted: the walk begins once more."""

    def replaced(self, value: Any) -> Any:
        """The value with everything in it replaced that is to be."""
        new = self.walk(value, "", 0)
        if new is value or not self._circles:
            return new
        # INVARIANT: no way back leads to the original. A graph in which nothing changed may keep its ways back.
        self._withholds_circles, self._objects = True, MAX_OBJECTS
        self.begin_again()
        return self.walk(value, "", 0)

    def walk(self, value: Any, name: str, depth: int) -> Any:
        """One value in its place."""
        kind = type(value)
        if kind is str:
            return self.text(value, name)
        if kind is int or kind is float or kind is bool or value is None:
            return value
        if kind is FrozenDict or kind is dict:
            return self._mapping(value, name, depth)
        if kind is FrozenList or kind is list:
            return self._list(value, name, depth)
        for base in _LINEAGE.__get__(kind):
            for known, shape in self._SHAPES:
                if base is known:
                    return shape(self, value, name, depth)
        if is_stream(value):
            return self.stream(value)
        if names := fields_of(value):
            return self._inside(value, lambda: self._object(value, names, depth), depth)
        if _SEALED in _own(value):
            return self._object(value, (_SEALED,), depth)
        for abstract, shape in self._ABSTRACT:
            if _counts_as(kind, abstract):
                return shape(self, value, name, depth)
        return self.other(value)

    def _inside(self, value: Any, walk: Callable[[], Any], depth: int) -> Any:
        """Look into something that holds others, once on each way down: what leads back to itself was seen above."""
        if id(value) in self._above:
            self._circles += 1
            return self.withhold(value, "too-deep") if self._withholds_circles else value
        self._objects -= 1
        if depth >= MAX_DEPTH or self._objects < 0:
            return self.withhold(value, "too-deep" if depth >= MAX_DEPTH else "too-large")
        self._above.add(id(value))
        try:
            return walk()
        finally:
            self._above.discard(id(value))

    def _plain_text(self, value: Any, name: str, _depth: int) -> Any:
        """A text of a class of its own, read as the text that it is."""
        plain = str.__str__(value)
        new = self.text(plain, name)
        return value if new is plain else new

    def _user_text(self, value: Any, name: str, depth: int) -> Any:
        """A text that keeps another."""
        new = self.walk(value.data, name, depth)
        return value if new is value.data else new

    def _bytes(self, value: Any, _name: str, _depth: int) -> Any:
        data = value if type(value) is bytes else value.tobytes() if type(value) is memoryview else bytes(value)
        new = self.data(data)
        return value if new is data else _of_kind(value, new, bytearray, memoryview)

    def _namespace(self, value: Any, _name: str, depth: int) -> Any:
        return self._inside(value, lambda: self._object(value, tuple(_own(value)), depth), depth)

    def _object(self, value: Any, names: tuple[str, ...], depth: int) -> Any:
        """A copy with other fields, made without its class being asked: it may be frozen, and may check what it is."""
        changed: dict[str, Any] = {}
        for name in names:
            old = _field(value, name)
            new = self.sealed(old) if name == _SEALED else self.walk(old, name, depth + 1)
            if new is not old:
                changed[name] = new
        if not changed:
            return value
        other = copy(value)
        if other is value:  # a class that says it copies: what the tool keeps is not ours to change
            return self.withhold(value, "unsearched")
        for name, new in changed.items():
            if isinstance(other, Struct):
                force_setattr(other, name, new)
            else:
                object.__setattr__(other, name, new)
        return other

    def _mapping(self, value: Any, _name: str, depth: int) -> Any:
        plain = value if type(value) is dict or type(value) is FrozenDict else dict(_DICT_ITEMS(value))
        return self._inside(value, lambda: self._pairs(value, plain, depth), depth)

    def _pairs(self, value: Any, old: dict[Any, Any], depth: int) -> Any:
        new = self.items_of(old, depth)
        if new is old:
            return value
        return FrozenDict(new) if isinstance(value, FrozenDict) else _of_kind(value, new, MappingProxyType)

    def items_of(self, mapping: dict[Any, Any], depth: int) -> dict[Any, Any]:
        """What becomes of the items of a mapping: the mapping itself if they stay."""
        changed: dict[Any, Any] = {}
        same = True
        for key, item in mapping.items():
            new = self.walk(item, key if type(key) is str else "", depth + 1)
            same = same and new is item
            changed[key] = new
        return mapping if same else changed

    def _keeper(self, value: Any, _name: str, depth: int) -> Any:
        """A mapping or list that keeps a plain one: it comes back in its own type."""
        return self._inside(value, lambda: self._object(value, ("data",), depth), depth)

    def _chain(self, value: Any, _name: str, depth: int) -> Any:
        return self._inside(value, lambda: self._object(value, ("maps",), depth), depth)

    def _any_mapping(self, value: Any, _name: str, depth: int) -> Any:
        def walk() -> Any:
            pairs = _read(lambda: [(key, value[key]) for key in islice(value, MAX_ITEMS + 1)])
            return self.withhold(value, pairs) if isinstance(pairs, str) else self._pairs(value, dict(pairs), depth)

        return self._inside(value, walk, depth)

    def _list(self, value: Any, name: str, depth: int) -> Any:
        return self._inside(value, lambda: self._items(value, list(value), name, depth), depth)

    def _any_sequence(self, value: Any, name: str, depth: int) -> Any:
        def walk() -> Any:
            items = _read(lambda: list(islice(value, MAX_ITEMS + 1)))
            return self.withhold(value, items) if isinstance(items, str) else self._items(value, items, name, depth)

        return self._inside(value, walk, depth)

    def _items(self, value: Any, old: list[Any], name: str, depth: int) -> Any:
        new = [self.walk(item, name, depth + 1) for item in old]
        if all(one is other for one, other in zip(new, old, strict=True)):
            return value
        match value:
            case FrozenList():
                return FrozenList(new)
            case tuple() if hasattr(value, "_make"):
                return value._make(new)
            case deque():
                return deque(new, value.maxlen)
            case _:
                return _of_kind(value, new, tuple, set, frozenset)

    def _untouched(self, value: Any, _name: str, _depth: int) -> Any:
        return value

    # By the type that a value has, and by what it is registered as.
    _SHAPES: ClassVar[tuple[tuple[type, Callable[[Any, Any, str, int], Any]], ...]] = (
        (dict, _mapping), (list, _list), (str, _plain_text), (tuple, _list), (bytes, _bytes), (bytearray, _bytes),
        (memoryview, _bytes), (set, _list), (frozenset, _list), (deque, _list), (range, _untouched),
        (UserString, _user_text), (UserDict, _keeper), (UserList, _keeper), (ChainMap, _chain),
        (SimpleNamespace, _namespace),
    )  # fmt: skip
    _ABSTRACT: ClassVar[tuple[tuple[Any, Callable[[Any, Any, str, int], Any]], ...]] = (
        (Mapping, _any_mapping), (MappingView, _any_sequence), (AbstractSet, _any_sequence), (Sequence, _any_sequence),
    )  # fmt: skip


def _of_kind(value: Any, new: Any, *kinds: Any) -> Any:
    """What was made new in the type that it had, if that is one of these; else as the plain thing that it is."""
    return next((kind(new) for kind in kinds if isinstance(value, kind)), new)


def _counts_as(kind: type, abstract: Any) -> bool:
    """Whether a type is registered as a mapping or a sequence. Only asked of types that can't answer for themselves."""
    if type(kind) is not type and type(kind) is not ABCMeta:
        return any(base is abstract for base in _LINEAGE.__get__(kind))
    return issubclass(kind, abstract) and not _is_array(kind)


def _is_array(kind: type) -> bool:
    """Arrays of numbers say that they are sequences, and are long."""
    module: Any = sys.modules.get("array")
    return module is not None and issubclass(kind, module.array)


def _read(read: Callable[[], list[Any]]) -> list[Any] | str:
    """What a container gives when it is read, or why that can't be searched."""
    try:
        found = read()
    except Exception:  # noqa: BLE001 - it is a class of somebody's own
        return "unsearched"
    return found if len(found) <= MAX_ITEMS else "too-large"


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
    return tuple(dict.fromkeys((*names, *_own(value), *more)))


def _own(value: object) -> dict[str, Any]:
    """What an object keeps in its `__dict__`."""
    try:
        kept = object.__getattribute__(value, "__dict__")
    except BaseException:  # noqa: BLE001 - what can't be read shows nothing
        return {}
    return kept if type(kept) is dict else {}


def _field(value: object, name: str) -> Any:
    try:
        return getattr(value, name)
    except Exception:  # noqa: BLE001 - what can't be read shows nothing
        return None
