"""Comparisons over a state file as CEL: translated when a rulebook is loaded, evaluated as rules are.

The texts are read by state_expressions.py; what they mean is said here, by the CEL expression over `state` that they
stand for. CEL has the same three answers: what can't be known is an error, `!` keeps it one, and `&&` and `||` decide
in spite of it where the other side does.

What CEL takes otherwise is written out: an order is one of numbers or of texts, `in` looks into lists alone, an element
counted from the end, and numbers and truths in a list that is compared as a whole are not told apart.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from typing import Any

from msgspec import Struct

from interpose.rules.cel.ast import Const, Fold, FunctionCall, Ident, MakeList, Node
from interpose.rules.cel.expression import Expression, made_of
from interpose.rules.cel.runtime_values import EvaluationError
from interpose.rules.governance.chains.state_expressions import (
    Joined,
    KeyPath,
    Opposite,
    StateComparison,
    StateConstant,
    StateExpression,
    Truth,
    parsed,
    paths_of,
)

STATE = "state"
"""The variable that holds the content of the state file."""

_MOST_KEPT = 1024
_SIGNS = {"==": "_==_", "!=": "_!=_", "<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_"}


class Undetermined(Struct, frozen=True):
    """Why it can't be said whether something holds."""

    why: str


Held = bool | Undetermined


def holds(text: str, state: Any) -> Held:
    """Whether an expression holds for the content of a state file. Raises StateExpressionError for one that is none."""
    try:
        return translated(text).holds({STATE: state})
    except EvaluationError as error:
        lacking = next((there for path in paths_of(parsed(text)) if (there := _lacking(path, state))), "")
        return Undetermined(f"there is no {lacking}" if lacking else str(error))


def _lacking(path: KeyPath, state: Any) -> str:
    """The beginning of a path up to what is not there; empty if all of it is."""
    for number, step in enumerate(path.steps, 1):
        here = isinstance(state, dict) if isinstance(step, str) else isinstance(state, list)
        if not here or (step not in state if isinstance(step, str) else not -len(state) <= step < len(state)):
            return str(KeyPath(path.steps[:number]))
        state = state[step]
    return ""


@lru_cache(maxsize=_MOST_KEPT)
def translated(text: str) -> Expression:
    """The CEL condition that a text stands for. Raises StateExpressionError and nothing else."""
    return made_of(text, _condition(parsed(text)))


def _call(function: str, *args: Node) -> Node:
    return FunctionCall(function, args)


def _constant(value: Any) -> Node:
    return MakeList(tuple(map(_constant, value))) if isinstance(value, list) else Const(value)


_ERROR = _call("_==_", _call("_/_", Const(1), Const(0)), Const(0))
"""What nobody can know."""
_LIST, _BOOL = Ident("list"), Ident("bool")


def _condition(expression: StateExpression) -> Node:
    match expression:
        case StateComparison(sign, left, right):
            return _comparison(sign, left, right)
        case Truth(StateConstant(value)) if not isinstance(value, bool):
            return _ERROR
        case Truth(value):
            return _value(value)
        case Opposite(part):
            return _call("!_", _condition(part))
        case Joined(every, parts):
            joining = "_&&_" if every else "_||_"
            return reduce(lambda one, other: _call(joining, one, other), map(_condition, parts))


def _value(value: StateConstant | KeyPath) -> Node:
    if isinstance(value, StateConstant):
        return _call("dyn", _constant(value.value))  # the checker would find fault with what is only never true
    found: Node = Ident(STATE)
    for step in value.steps:
        from_end = isinstance(step, int) and step < 0
        found = _from_end(found, -step) if from_end and isinstance(step, int) else _call("_[_]", found, Const(step))
    return found


def _from_end(found: Node, count: int) -> Node:
    """`[found].map(it, it[size(it) - count])[0]`: what is looked into stands there once, however often this is done."""
    it, result = Ident("it"), Ident("@result")
    at = _call("_[_]", it, _call("_-_", _call("size", it), Const(count)))
    mapped = Fold(
        variable="it", over=MakeList((found,)), result_name="@result", start=MakeList(()), go_on=Const(value=True),
        step=_call("_+_", result, MakeList((at,))), result=result,
    )  # fmt: skip
    return _call("_[_]", mapped, Const(0))


def _comparison(sign: str, left: StateConstant | KeyPath, right: StateConstant | KeyPath) -> Node:
    match sign:
        case "==":
            return _equal(left, right)
        case "!=":
            return _call("!_", _equal(left, right))
        case "in":
            return _contained(left, right)
        case _:
            return _ordered(_SIGNS[sign], left, right)


def _contained(left: StateConstant | KeyPath, right: StateConstant | KeyPath) -> Node:
    if isinstance(right, StateConstant) and isinstance(right.value, list) and any(map(_is_loose_list, right.value)):
        equal = (_equal(left, StateConstant(item)) for item in right.value)
        return reduce(lambda one, other: _call("_||_", one, other), equal)
    if isinstance(right, StateConstant):
        return _call("@in", _value(left), _constant(right.value)) if isinstance(right.value, list) else _ERROR
    among = _call("_+_", _value(right), MakeList(()))  # only lists can be put together with a list
    if isinstance(left, StateConstant) and _is_loose_list(left.value):
        return _exists(among, left.value)
    return _call("@in", _value(left), among)


def _exists(among: Node, wanted: Any) -> Node:
    """`among.exists(it, it == wanted)`."""
    result = Ident("@result")
    return Fold(
        variable="it", over=among, result_name="@result", start=Const(value=False),
        go_on=_call("@not_strictly_false", _call("!_", result)),
        step=_call("_||_", result, _same(Ident("it"), wanted)), result=result,
    )  # fmt: skip


def _ordered(sign: str, left: StateConstant | KeyPath, right: StateConstant | KeyPath) -> Node:
    known = [one.value for one in (left, right) if isinstance(one, StateConstant)]
    if any(isinstance(value, bool) for value in known):
        return _ERROR
    compared = _call(sign, _value(left), _value(right))
    if known:
        return compared
    return _call("_?_:_", _call("_==_", _call("type", _value(left)), _BOOL), _ERROR, compared)


def _equal(left: StateConstant | KeyPath, right: StateConstant | KeyPath) -> Node:
    if isinstance(left, StateConstant):
        left, right = right, left
    if isinstance(right, StateConstant) and isinstance(right.value, list):
        return _same(_value(left), right.value)
    return _call("_==_", _value(left), _value(right))


def _same(found: Node, wanted: Any) -> Node:
    """Whether an element of a list is this. INVARIANT: 1 is `true` there: no other spelling gets around a rule."""
    if not isinstance(wanted, list):
        either = _call("_==_", found, _call("dyn", Const(wanted)))
        if not _is_loose(wanted):
            return either
        other: Any = int(wanted) if isinstance(wanted, bool) else bool(wanted)
        return _call("_||_", either, _call("_==_", found, _call("dyn", Const(other))))
    if not any(map(_is_loose, wanted)):
        return _call("_==_", found, _constant(wanted))
    parts = [
        _call("_==_", _call("type", found), _LIST),
        _call("_==_", _call("size", found), Const(len(wanted))),
        *(_same(_call("_[_]", found, Const(at)), one) for at, one in enumerate(wanted)),
    ]
    return reduce(lambda one, other: _call("_&&_", one, other), parts)


def _is_loose(wanted: Any) -> bool:
    return _is_loose_list(wanted) or (not isinstance(wanted, list) and wanted in (0, 1))


def _is_loose_list(wanted: Any) -> bool:
    return isinstance(wanted, list) and any(map(_is_loose, wanted))
