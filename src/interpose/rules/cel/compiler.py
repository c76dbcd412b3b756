"""Checked CEL syntax to Python closures: compiled once, evaluated without converting what it looks at.

A closure takes the scope: a mapping of variables that computes each when it is first read. The engine that checked the
expression is the oracle of the tests: both must give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter, thread_time
from typing import Any

from interpose.rules.cel.ast import (
    Const,
    FieldSelect,
    Fold,
    FunctionCall,
    Ident,
    MakeList,
    MakeMap,
    Node,
    UnsupportedError,
)
from interpose.rules.cel.conversions import CONVERSIONS
from interpose.rules.cel.functions import FUNCTIONS
from interpose.rules.cel.runtime_values import EvaluationError, MissingKeyError, Optional, TypeName, no_overload
from interpose.rules.cel.text_functions import encoded, pattern

Scope = dict[str, Any]
Closure = Callable[[Scope], Any]

MAX_STEPS = 20_000
"""How often the loops of one expression may turn, all together."""

MAX_SECONDS = 1.0
"""How long they may take: a turn over a long text or a long list costs more than others.

Counted is the time that the processor worked for them, from the first loop on: a busy machine, or the analysis that
makes the values, must not fail a rule."""

STEPS = "@steps"
DEADLINE = "@deadline"

_RESULTS = ("@result", "__result__")
"""What the checker calls the result of a loop."""

_TYPES = {
    "bool", "int", "double", "string", "bytes", "list", "map", "null_type", "type",
    "google.protobuf.Timestamp", "google.protobuf.Duration",
}  # fmt: skip


def close(node: Node, names: dict[str, str] | None = None) -> Closure:
    """The closure of an expression. `names` are the loop variables around it, each with a key of its own."""
    names = names or {}
    match node:
        case Const(value=value):
            return lambda _scope: value
        case Ident():
            return _ident(node, names)
        case FieldSelect():
            return _select(node, names)
        case FunctionCall():
            return _call(node, names)
        case MakeList(items=items):
            closures = [close(item, names) for item in items]
            return lambda scope: [closure(scope) for closure in closures]
        case MakeMap(entries=entries):
            pairs = [(close(key, names), close(value, names)) for key, value in entries]
            return lambda scope: _make_map(pairs, scope)
        case Fold():
            return _fold(node, names)


def _ident(node: Ident, names: dict[str, str]) -> Closure:
    key = names.get(node.name)
    if key is None and node.name in _TYPES:
        named = TypeName(node.name)
        return lambda _scope: named
    key = key or node.name
    return _pending(key) if node.name in _RESULTS else lambda scope: scope[key]


def _pending(key: str) -> Closure:
    def read(scope: Scope) -> Any:
        value = scope[key]
        if type(value) is _Pending:
            raise value.error
        return value

    return read


def _make_map(pairs: list[tuple[Closure, Closure]], scope: Scope) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for key_of, value_of in pairs:
        key = key_of(scope)
        if type(key) not in (str, int, bool):
            raise no_overload("{}", key)
        if key in made:
            raise EvaluationError(f"the key {key!r} is there twice")
        made[key] = value_of(scope)
    return made


def _select(node: FieldSelect, names: dict[str, str]) -> Closure:
    operand, field = close(node.operand, names), node.field

    def has(scope: Scope) -> bool:
        holder = operand(scope)
        if isinstance(holder, dict):
            return field in holder
        raise no_overload("has", holder)

    def select(scope: Scope) -> Any:
        holder = operand(scope)
        if isinstance(holder, dict):
            try:
                return holder[field]
            except KeyError:
                raise MissingKeyError(f"no such key: {field!r}") from None
        raise no_overload(f".{field}", holder)

    return has if node.test else select


def _call(node: FunctionCall, names: dict[str, str]) -> Closure:
    closures = [close(arg, names) for arg in node.args]
    match node.function:
        case "_&&_":
            return _logical(closures[0], closures[1], False)
        case "_||_":
            return _logical(closures[0], closures[1], True)
        case "!_":
            return _not(closures[0])
        case "_?_:_":
            return _ternary(*closures)
        case "orValue" | "or":
            return _fallback(closures[0], closures[1], whole=node.function == "or")
        case "@not_strictly_false":
            return _not_strictly_false(closures[0])
        case "matches" if isinstance(node.args[1], Const) and isinstance(node.args[1].value, str):
            return _constant_match(closures[0], node.args[1])
    function = FUNCTIONS.get(node.function) or CONVERSIONS.get(node.function)
    if function is None:
        raise UnsupportedError(f"the function {node.function} is not supported", node.id)
    return _applied(function, closures)


def _applied(function: Callable[..., Any], closures: list[Closure]) -> Closure:
    if len(closures) == 1:
        only = closures[0]
        return lambda scope: function(only(scope))
    if len(closures) == 2:
        one, other = closures
        return lambda scope: function(one(scope), other(scope))
    return lambda scope: function(*[closure(scope) for closure in closures])


def _constant_match(text_of: Closure, expression: Const) -> Closure:
    try:
        search = pattern(expression.value).search
    except EvaluationError as error:
        raise UnsupportedError(str(error), expression.id) from None

    def match(scope: Scope) -> bool:
        text = text_of(scope)
        if type(text) is not str:
            raise no_overload("matches", text, "")
        return search(encoded(text)) is not None

    return match


def _logical(one: Closure, other: Closure, decisive: bool) -> Closure:
    """`&&` and `||`: the decisive value on either side decides, even where the other side is an error."""

    def apply(scope: Scope) -> bool:
        try:
            first: object = one(scope)
            if first is decisive:
                return decisive
            error = None if type(first) is bool else no_overload("&& or ||", first)
        except EvaluationError as caught:
            error = caught
        second: object = other(scope)
        if second is decisive:
            return decisive
        if error is not None:
            raise error
        if type(second) is not bool:
            raise no_overload("&& or ||", second)
        return not decisive

    return apply


def _not(operand: Closure) -> Closure:
    def apply(scope: Scope) -> bool:
        value = operand(scope)
        if type(value) is not bool:
            raise no_overload("!", value)
        return not value

    return apply


def _ternary(condition: Closure, then: Closure, otherwise: Closure) -> Closure:
    def apply(scope: Scope) -> Any:
        chosen = condition(scope)
        if type(chosen) is not bool:
            raise no_overload("? :", chosen)
        return then(scope) if chosen else otherwise(scope)

    return apply


def _fallback(optional: Closure, otherwise: Closure, *, whole: bool) -> Closure:
    """`orValue` and `or`: the other side is only looked at if there is no value."""

    def apply(scope: Scope) -> Any:
        first = optional(scope)
        if not isinstance(first, Optional):
            raise no_overload("orValue", first)
        if not first.there:
            return otherwise(scope)
        return first if whole else first.value

    return apply


def _not_strictly_false(operand: Closure) -> Closure:
    def apply(scope: Scope) -> bool:
        try:
            return operand(scope) is not False
        except EvaluationError:
            return True

    return apply


class _Pending:
    """An error that a loop has met: `exists` and `all` go on, and only fail if nothing else decides."""

    __slots__ = ("error",)

    def __init__(self, error: EvaluationError) -> None:
        self.error = error


def _fold(node: Fold, names: dict[str, str]) -> Closure:
    # INVARIANT: every loop has keys of its own, so that loops in loops, and later rules, never see each other's values.
    item_key, result_key = f"{node.variable}#{node.id}", f"{node.result_name}#{node.id}"
    inside = {**names, node.variable: item_key, node.result_name: result_key}
    over, start = close(node.over, names), close(node.start, names)
    go_on, result = close(node.go_on, inside), close(node.result, {**names, node.result_name: result_key})
    always = isinstance(node.go_on, Const) and node.go_on.value is True
    element = appended(node)
    keep = close(element[0], inside) if element and element[0] is not None else None
    step = close(element[1] if element else node.step, inside)

    def collect(scope: Scope) -> Any:
        made: list[Any] = []
        for item in _turns(over(scope), scope):
            scope[item_key] = item
            if keep is not None:
                kept = keep(scope)
                if type(kept) is not bool:
                    raise no_overload("filter", kept)
                if not kept:
                    continue
            made.append(step(scope))
        scope[result_key] = made
        return result(scope)

    def loop(scope: Scope) -> Any:
        scope[result_key] = start(scope)
        for item in _turns(over(scope), scope):
            if not always and go_on(scope) is not True:
                break
            scope[item_key] = item
            try:
                scope[result_key] = step(scope)
            except EvaluationError as error:
                if always:
                    raise
                scope[result_key] = _Pending(error)
        return result(scope)

    return collect if element else loop


def _turns(items: Any, scope: Scope) -> Iterator[Any]:
    if not isinstance(items, list | tuple | dict):
        raise no_overload("a loop", items)
    left = scope[STEPS] - len(items)
    if left < 0:
        raise EvaluationError(f"the loops turn more than {MAX_STEPS} times")
    scope[STEPS] = left
    if scope[DEADLINE] is None:
        scope[DEADLINE] = (perf_counter() + MAX_SECONDS, thread_time() + MAX_SECONDS)
    passed, worked = scope[DEADLINE]
    for item in items:
        # Nobody works longer than time has passed, and the clock that all share costs a tenth of the other one.
        if perf_counter() > passed and thread_time() > worked:
            raise EvaluationError(f"the loops take more than {MAX_SECONDS:g} seconds")
        yield item


def appended(node: Fold) -> tuple[Node | None, Node] | None:
    """The condition and the element, if the loop only appends to a list (`map`, `filter`): that needs no copies."""
    if not isinstance(node.start, MakeList) or node.start.items:
        return None
    step: Node = node.step
    condition: Node | None = None
    match step:
        case FunctionCall(function="_?_:_", args=(kept, then, Ident(name=name))) if name == node.result_name:
            condition, step = kept, then
    match step:
        case FunctionCall(function="_+_", args=(Ident(name=name), MakeList(items=(item,)))) if name == node.result_name:
            return condition, item
    return None
