"""JSON-like data that nothing can change: arguments are frozen deeply when a call is made."""

from __future__ import annotations

from typing import Any, NoReturn

MAX_DEPTH = 128
"""How deep arguments may nest. Deeper input is refused, not analysed: recursion on hostile input must be bounded."""


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise TypeError(f"{type(self).__name__} is read-only: return Transform(...) or change `output` instead")


class FrozenDict(dict[str, Any]):
    """A dict that refuses to change. Still a dict for `json`, `isinstance` and `==`."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset((k, v if v.__hash__ else repr(v)) for k, v in self.items()))


class FrozenList(list[Any]):
    """A list that refuses to change."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenList, (list(self),))

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(v if v.__hash__ else repr(v) for v in self))


def freeze(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A deep read-only copy of JSON-like data. Values of other types are passed on as they are."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None or kind is float:
        return value
    if issubclass(kind, dict):  # not isinstance: it would ask a value of a hostile class what it is
        if kind is FrozenDict:
            return value
        if depth <= 0:
            raise ValueError(f"arguments are nested deeper than {MAX_DEPTH} levels")
        return FrozenDict({k: freeze(v, depth - 1) for k, v in value.items()})
    if kind is FrozenList:
        return value
    if issubclass(kind, list) or kind is tuple:
        if depth <= 0:
            raise ValueError(f"arguments are nested deeper than {MAX_DEPTH} levels")
        items = [freeze(v, depth - 1) for v in value]
        return tuple(items) if kind is tuple else FrozenList(items)
    return value


def thaw(value: Any) -> Any:
    """A deep copy that may be changed, of what `freeze` made."""
    kind = type(value)
    if issubclass(kind, dict):
        return {k: thaw(v) for k, v in value.items()}
    if kind is FrozenList or kind is list:
        return [thaw(v) for v in value]
    if kind is tuple:
        return tuple(thaw(v) for v in value)
    return value


def same(one: Any, other: Any, depth: int = MAX_DEPTH) -> bool:
    """Whether two values are the same JSON-like data. Objects of other types are compared by identity, never asked:
    an array has no truth, and a class of somebody's own may say anything."""
    if one is other:
        return True
    kind, others = type(one), type(other)
    if kind in _SCALARS or others in _SCALARS:
        return kind is others and bool(one == other)
    if depth <= 0:
        return False
    if issubclass(kind, dict) and issubclass(others, dict):
        return dict.__len__(one) == dict.__len__(other) and all(
            key in other and same(value, other[key], depth - 1) for key, value in dict.items(one)
        )
    for sequence in (list, tuple):
        if issubclass(kind, sequence) and issubclass(others, sequence):
            return len(one) == len(other) and all(map(same, one, other, [depth - 1] * len(one)))
    return False


_SCALARS = frozenset({str, int, float, bool, bytes, complex, type(None)})

EMPTY: FrozenDict = FrozenDict()


def words(text: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(text.split())
