"""Comparisons over a state file as CEL: they mean what they meant before, and are what Google's checker reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from interpose.core.types import freeze
from interpose.rules.cel.ast import Const, FieldSelect, Fold, FunctionCall, Ident, MakeList, MakeMap, Node
from interpose.rules.cel.checker import check
from interpose.rules.governance.chains.state_conditions import STATE, Undetermined, holds, translated
from tests.support.governance.state_oracle import expected

KEYS = ["a", "b", "c-d", "é", "in"]
SCALARS = st.sampled_from([None, True, False, 0, 1, 2, -1, 1.0, 2.5, 0.0, "", "a", "b", 10**30])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip
STATES = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)


def _spelled(value: Any) -> str:
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return f"'{value}'"
        case list():
            return f"[{', '.join(map(_spelled, value))}]"
        case _:
            return repr(value)


SPELLED = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 2, -1, 1.0, 2.5, "", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3), max_leaves=6,
).map(_spelled)  # fmt: skip
PATHS = st.builds(
    "{}{}".format,
    st.sampled_from(["a", "b", "c-d", "é"]),
    st.lists(st.sampled_from([".a", ".b", ".in", "['c-d']", "[0]", "[1]", "[-1]", "[-2]"]), max_size=2).map("".join),
)
SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"])
COMPARED = st.builds("{} {} {}".format, PATHS, SIGNS, SPELLED)
ANY = st.builds("{} {} {}".format, PATHS | SPELLED, SIGNS, PATHS | SPELLED) | PATHS | SPELLED


def _joined(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        part,
        lambda inner: (
            st.builds("not ({})".format, inner)
            | st.builds("({}) {} ({})".format, inner, st.sampled_from(["and", "or"]), inner)
        ),
        max_leaves=4,
    )


def _said(held: Any) -> Any:
    return "unknown" if isinstance(held, Undetermined) else held


@given(text=_joined(COMPARED | PATHS), state=STATES)
def test_a_comparison_with_what_is_written_means_what_it_meant(text: str, state: Any) -> None:
    assert _said(holds(text, state)) == _said(expected(text, state))


@given(text=_joined(ANY), state=STATES)
def test_any_comparison_means_what_it_meant(text: str, state: Any) -> None:
    # Two values of the file that have values in them compare as JSON does: 1 is no `true` there.
    assume(not _has_truths(state))
    assert _said(holds(text, state)) == _said(expected(text, state))


def _has_truths(value: Any) -> bool:
    match value:
        case dict():
            return any(map(_has_truths, value.values()))
        case list():
            return any(map(_has_truths, value))
        case _:
            return isinstance(value, bool)


@pytest.mark.parametrize(
    ("text", "state", "want"),
    [
        ("a == [1, 'x']", {"a": [True, "x"]}, True),
        ("a == [[true]]", {"a": [[1.0]]}, True),
        ("a in [[1], 2]", {"a": [True]}, True),
        ("a in [1]", {"a": True}, False),
        ("[true] in a", {"a": [0, [1]]}, True),
        ("[1] in a", {"a": {"k": 1}}, "unknown"),
        ("a in b", {"a": "k", "b": {"k": 1}}, "unknown"),
        ("a < b", {"a": False, "b": True}, "unknown"),
        ("a[-1][-1] == 2", {"a": [1, [0, 2]]}, True),
        ("a[-3] == 1", {"a": [1, 2]}, "unknown"),
        ("a == ['x']", freeze({"a": ["x"]}), True),  # as a tool that changes the state hands it over
    ],
)
def test_what_cel_takes_otherwise_is_written_out(text: str, state: Any, want: Any) -> None:
    assert _said(holds(text, state)) == want


@given(text=_joined(ANY))
def test_a_translation_is_what_the_checker_reads(text: str) -> None:
    made = translated(text).root
    assert made is not None
    cel = _cel(made)
    assert _bare(check(cel, {STATE: "dyn"}).syntax.root) == _bare(made), cel


def test_reading_deeper_again_and_again_costs_no_more_each_time() -> None:
    state: Any = 1
    for _ in range(90):
        state = [state]
    assert holds(f"a{'[-1]' * 90} == 1", {"a": state}) is True


_OPERATORS = {
    "_&&_": "&&", "_||_": "||", "_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=",
    "_+_": "+", "_-_": "-", "_/_": "/", "@in": "in",
}  # fmt: skip


def _cel(node: Node) -> str:
    """The text of a CEL expression, with parentheses around everything."""
    match node:
        case Const(value=value):
            return f"({_spelled(value)})"
        case Ident(name=name):
            return name
        case MakeList(items=items):
            return f"[{', '.join(map(_cel, items))}]"
        case FunctionCall(function="!_", args=(one,)):
            return f"!({_cel(one)})"
        case FunctionCall(function="_[_]", args=(one, other)):
            return f"{_cel(one)}[{_cel(other)}]"
        case FunctionCall(function="_?_:_", args=(one, two, three)):
            return f"(({_cel(one)}) ? ({_cel(two)}) : ({_cel(three)}))"
        case FunctionCall(function=function, args=(one, other)):
            return f"({_cel(one)} {_OPERATORS[function]} {_cel(other)})"
        case FunctionCall(function=function, args=(one,)):
            return f"{function}({_cel(one)})"
        case Fold(variable=variable, over=over, step=FunctionCall(function="_||_", args=(_, item))):
            return f"{_cel(over)}.exists({variable}, {_cel(item)})"
        case Fold(variable=variable, over=over, step=FunctionCall(args=(_, MakeList(items=(item,))))):
            return f"{_cel(over)}.map({variable}, {_cel(item)})"
        case _:
            raise AssertionError(node)


def _bare(node: Node) -> Node:
    """A syntax without its places in the text."""
    match node:
        case FieldSelect(operand=operand):
            return replace(node, operand=_bare(operand), id=0)
        case FunctionCall(args=args):
            return replace(node, args=tuple(map(_bare, args)), id=0)
        case MakeList(items=items):
            return replace(node, items=tuple(map(_bare, items)), id=0)
        case Fold():
            parts = {name: _bare(getattr(node, name)) for name in ("over", "start", "go_on", "step", "result")}
            return replace(node, **parts, id=0)
        case Const() | Ident() | MakeMap():
            return replace(node, id=0)
