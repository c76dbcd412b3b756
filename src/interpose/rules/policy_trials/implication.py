"""What can be said about conditions without a call: whether one can hold at all, and whether one implies another.

Both are careful: what can't be shown is not claimed. `possible` may take an impossible condition for possible, and
`implies` may miss an implication; neither errs the other way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from interpose.core.types import Certainty, EffectKind
from interpose.rules.cel.ast import Const, FieldSelect, Fold, FunctionCall, Ident, MakeList, MakeMap, Node
from interpose.rules.cel.read_checks import Path, path_of

Known = Mapping[Path, frozenset[Any]]
"""The values that are left for a path."""

_DOMAINS: dict[tuple[str, str], frozenset[Any]] = {
    ("effects", "kind"): frozenset(get_args(EffectKind)),
    ("effects", "certainty"): frozenset(get_args(Certainty)),
}
_TESTS = {"startsWith": str.startswith, "endsWith": str.endswith, "contains": str.__contains__}


def canonical(node: Node, names: Mapping[str, str] | None = None) -> Node:
    """The same condition for everybody who wrote it: without places, and with loop variables named by their depth."""
    names = names or {}
    match node:
        case Const(value=value):
            return Const(value)
        case Ident(name=name):
            return Ident(names.get(name, name))
        case FieldSelect(operand=operand, field=field, test=test):
            return FieldSelect(canonical(operand, names), field, test)
        case FunctionCall(function=function, args=args):
            return FunctionCall(function, tuple(canonical(arg, names) for arg in args))
        case MakeList(items=items):
            return MakeList(tuple(canonical(item, names) for item in items))
        case MakeMap(entries=entries):
            return MakeMap(tuple((canonical(key, names), canonical(value, names)) for key, value in entries))
        case Fold():
            variable, result = f"#{len(names)}", f"@{len(names)}"
            inside = {**names, node.variable: variable, node.result_name: result}
            go_on, step, last = (canonical(part, inside) for part in (node.go_on, node.step, node.result))
            return Fold(
                variable, canonical(node.over, names), result, canonical(node.start, names), go_on, step, last
            )  # fmt: skip


def exists(node: Node) -> tuple[Node, str, Node] | None:
    """List, variable and condition, if the node says that a list has something for which a condition holds."""
    match node:
        case Fold(start=Const(value=False), step=FunctionCall(function="_||_", args=(Ident(), inner))):
            return node.over, node.variable, inner
        case _:
            return None


class Implication:
    """Whether one canonical condition implies another; remembers what it has compared."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], bool] = {}

    def holds(self, stronger: Node, weaker: Node) -> bool:
        """Whether `weaker` is true whenever `stronger` is."""
        key = (id(stronger), id(weaker))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._compare(stronger, weaker)
        return known

    def _compare(self, stronger: Node, weaker: Node) -> bool:
        if weaker in (stronger, _TRUE) or stronger == _FALSE:
            return True
        any_of, all_of = _parts(stronger, "_||_"), _parts(weaker, "_&&_")
        if any_of:
            return all(self.holds(part, weaker) for part in any_of)
        if all_of:
            return all(self.holds(stronger, part) for part in all_of)
        if any(self.holds(part, weaker) for part in _parts(stronger, "_&&_")):
            return True
        if any(self.holds(stronger, part) for part in _parts(weaker, "_||_")):
            return True
        inner, outer = exists(stronger), exists(weaker)
        if inner and outer and inner[:2] == outer[:2]:
            return self.holds(inner[2], outer[2])
        some, more = _values(stronger), _values(weaker)
        return some is not None and more is not None and some[0] == more[0] and some[1] <= more[1]


_TRUE, _FALSE = Const(True), Const(False)


def _parts(node: Node, function: str) -> tuple[Node, ...]:
    return node.args if isinstance(node, FunctionCall) and node.function == function else ()


def _values(node: Node) -> tuple[Path, frozenset[Any]] | None:
    """A path and the constants that a node allows for it: `e.kind == "a"`, `e.kind in ["a", "b"]`."""
    match node:
        case FunctionCall(function="_==_", args=(left, Const(value=value)) | (Const(value=value), left)):
            path = path_of(left)
            return (path, frozenset({value})) if path else None
        case FunctionCall(function="@in", args=(left, MakeList(items=items))) if all(
            isinstance(i, Const) for i in items
        ):
            path = path_of(left)
            return (path, frozenset(item.value for item in items if isinstance(item, Const))) if path else None
        case _:
            return None


def possible(node: Node, known: Known) -> Known | None:
    """What is left for each path if the condition holds; None if it never can."""
    match node:
        case Const(value=False):
            return None
        case FunctionCall(function="_&&_", args=(one, other)):
            left = possible(one, known)
            return None if left is None else possible(other, left)
        case FunctionCall(function="_||_", args=(one, other)):
            return _either(possible(one, known), possible(other, known))
        case FunctionCall(function=function, args=(left, Const(value=str() as text))) if function in _TESTS:
            path = path_of(left)
            return known if path is None else _narrowed(known, path, lambda value: _TESTS[function](value, text))
        case _:
            return _possible_value(node, known)


def _possible_value(node: Node, known: Known) -> Known | None:
    allowed = _values(node)
    if allowed is not None:
        path, values = allowed
        left = known.get(path, values) & values
        return {**known, path: left} if left else None
    listed = exists(node)
    if listed is not None and isinstance(listed[0], Ident):
        over, variable, condition = listed[0].name, listed[1], listed[2]
        inside = {path: values for path, values in known.items() if path[0] != variable}
        inside |= {(variable, field): values for (name, field), values in _DOMAINS.items() if name == over}
        return None if possible(condition, inside) is None else known
    return known


def _either(one: Known | None, other: Known | None) -> Known | None:
    if one is None or other is None:
        return other if one is None else one
    return {path: values | other[path] for path, values in one.items() if path in other}


def _narrowed(known: Known, path: Path, test: Any) -> Known | None:
    values = known.get(path)
    if values is None:
        return known
    left = frozenset(value for value in values if isinstance(value, str) and test(value))
    return {**known, path: left} if left else None
