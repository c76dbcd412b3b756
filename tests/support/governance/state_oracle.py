"""What comparisons over a state file mean, evaluated by hand: the oracle of their translation to CEL."""

from __future__ import annotations

from typing import Any

from interpose.rules.governance.chains.state_conditions import Held, Undetermined
from interpose.rules.governance.chains.state_expressions import (
    Joined,
    KeyPath,
    Opposite,
    StateComparison,
    StateConstant,
    StateExpression,
    Truth,
    parsed,
)


def expected(text: str, state: Any) -> Held:
    """Whether an expression holds for the content of a state file. Raises StateExpressionError for one that is none."""
    return _held(parsed(text), state)


def _held(expression: StateExpression, state: Any) -> Held:
    match expression:
        case StateComparison(sign, left, right):
            return _compared(sign, _value(left, state), _value(right, state))
        case Truth(value):
            found = _value(value, state)
            return (
                found
                if isinstance(found, bool | Undetermined)
                else Undetermined(f"{_said(value)} is neither true nor false")
            )
        case Opposite(part):
            held = _held(part, state)
            return held if isinstance(held, Undetermined) else not held
        case Joined(every, parts):
            return _all(every, [_held(part, state) for part in parts])


def _all(every: bool, found: list[Held]) -> Held:
    """`and`, or `or`: what decides it wins over what is not known."""
    if any(one is (not every) for one in found):
        return not every
    return next((one for one in found if isinstance(one, Undetermined)), every)


def _value(value: StateConstant | KeyPath, state: Any) -> Any:
    if isinstance(value, StateConstant):
        return value.value
    for number, step in enumerate(value.steps, 1):
        here = isinstance(state, dict) if isinstance(step, str) else isinstance(state, list)
        if not here or (step not in state if isinstance(step, str) else not -len(state) <= step < len(state)):
            return Undetermined(f"there is no {KeyPath(value.steps[:number])}")
        state = state[step]
    return state


def _said(value: StateConstant | KeyPath) -> str:
    return str(value) if isinstance(value, KeyPath) else repr(value.value)


def _compared(sign: str, left: Any, right: Any) -> Held:
    for one in (left, right):
        if isinstance(one, Undetermined):
            return one
    match sign:
        case "==":
            return _equal(left, right)
        case "!=":
            return not _equal(left, right)
        case "in":
            if not isinstance(right, list):
                return Undetermined("what stands behind `in` is no list")
            return any(_equal(left, item) for item in right)
        case _:
            return _ordered(sign, left, right)


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    return type(left) is type(right) and bool(left == right)


def _ordered(sign: str, left: Any, right: Any) -> Held:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (left, right))
    if not numbers and not (isinstance(left, str) and isinstance(right, str)):
        return Undetermined("there is no order between these values")
    match sign:
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case _:
            return bool(left >= right)
