"""Comparisons over a state file: what holds, what can't be known, and that a text is an expression or an error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interpose.rules.governance.chains.state_conditions import Undetermined, holds
from interpose.rules.governance.chains.state_expressions import LONGEST, StateExpressionError, parsed

STATE = {
    "phase": "complete",
    "count": 3,
    "done": True,
    "nothing": None,
    "tags": ["a", "b"],
    "last-check": {"by": "me", "scores": [1, 2.5]},
    "in": "word",
}

UNKNOWN = "unknown"

CASES = [
    ("phase == 'complete'", True),
    ('phase == "complete"', True),
    ("phase != 'complete'", False),
    ("phase == 'other'", False),
    ("count == 3", True),
    ("count == 3.0", True),
    ("count == '3'", False),
    ("count == true", False),
    ("done == 1", False),
    ("done", True),
    ("not done", False),
    ("done == true", True),
    ("nothing == null", True),
    ("nothing != null", False),
    ("count > 2 and count <= 3", True),
    ("count < -1", False),
    ("phase < 'd'", True),
    ("'a' in tags", True),
    ("'c' in tags", False),
    ("phase in ['open', 'complete']", True),
    ("phase not in ['open']", True),
    ("phase in []", False),
    ("tags == ['a', 'b']", True),
    ("tags[0] == 'a'", True),
    ("tags[-1] == 'b'", True),
    ("last-check.by == 'me'", True),
    ("last-check['scores'][1] == 2.5", True),
    ("last-check.in == 1", UNKNOWN),
    ("(phase == 'x' or count == 3) and done", True),
    ("phase == 'x' or count == 3 and done", True),
    ("not (phase == 'x') and not (count == 4)", True),
    ("not not done", True),
    (r"phase == 'it\'s'", False),
    # What can't be known makes nothing true, and hides nothing that is known.
    ("missing == 1", UNKNOWN),
    ("missing != 1", UNKNOWN),
    ("not (missing == 1)", UNKNOWN),
    ("missing == null", UNKNOWN),
    ("missing == 1 or done", True),
    ("missing == 1 and not done", False),
    ("missing == 1 and done", UNKNOWN),
    ("missing == 1 or not done", UNKNOWN),
    ("phase.deeper == 1", UNKNOWN),
    ("tags[9] == 1", UNKNOWN),
    ("tags['a'] == 1", UNKNOWN),
    ("phase < 3", UNKNOWN),
    ("done < true", UNKNOWN),
    ("'a' in phase", UNKNOWN),
    ("phase", UNKNOWN),
    ("count", UNKNOWN),
]


@pytest.mark.parametrize(("text", "want"), CASES, ids=[case[0] for case in CASES])
def test_what_holds(text: str, want: Any) -> None:
    found = holds(text, STATE)
    assert (UNKNOWN if isinstance(found, Undetermined) else found) == want


WRONG = [
    ("", "it ends where a key or a value was expected"),
    ("phase ==", "it ends where"),
    ("phase = 'x'", "equal is =="),
    ("== 'x'", "a key or a value was expected"),
    ("phase == 'x", "does not end"),
    ("(phase == 'x'", "')' was expected"),
    ("phase == 'x')", "was not expected"),
    ("phase == 'x' phase", "was not expected"),
    ("phase not 'x'", "'in' was expected"),
    ("phase in [a]", "a list has values in it and no keys"),
    ("phase in ['a'", "',' was expected"),
    ("phase.", "a key was expected behind the point"),
    ("phase[1.5] == 1", "a text or a whole number"),
    ("phase[x] == 1", "a text or a whole number"),
    ("a + b", "means nothing here"),
    ("f(x)", "was not expected"),
    ("__import__('os')", "was not expected"),
    ("a == 1.2.3", "is no number"),
    ("a == 1234567890123456789", "is no number"),
    (r"a == 'x\n'", "a backslash"),
    ("a == 1 and", "it ends where"),
    ("not", "it ends where"),
    ("(" * 200 + "a" + ")" * 200, "nested deeper"),
    ("not " * 100 + "a", "nested deeper"),
    ("a in " + "[" * 100 + "]" * 100, "nested deeper"),
    ("a" + ".a" * 110, "deeper than 100 levels"),
    ("a" * (LONGEST + 1), "longer than"),
    ("a ; b", "means nothing here"),
    ("a == \x00", "means nothing here"),
]


@pytest.mark.parametrize(("text", "why"), WRONG, ids=[repr(case[0])[:40] for case in WRONG])
def test_what_is_no_expression(text: str, why: str) -> None:
    with pytest.raises(StateExpressionError, match=r".") as raised:
        parsed(text)
    assert why in str(raised.value)


PIECES = ["phase", "not", "and", "or", "in", "true", "null", "==", "!=", "<", ">=", "(", ")", "[", "]", ",", ".", "'a'",
          '"', "'", "\\", "1", "-", "2.5", "=", " ", "é", "\x00", "\ud800"]  # fmt: skip
STATES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["phase", "a", ""]), inner, max_size=3),
    max_leaves=8,
)


@given(text=st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=40).map("".join), state=STATES)
@example(text="phase == 'a'", state=[])
def test_a_text_is_an_expression_or_an_error(text: str, state: Any) -> None:
    try:
        found = holds(text, state)
    except StateExpressionError:
        return
    assert found is True or found is False or isinstance(found, Undetermined)


@given(state=STATES, text=st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join))
def test_not_never_makes_the_unknown_known(state: Any, text: str) -> None:
    try:
        plain, opposite = holds(f"({text})", state), holds(f"not ({text})", state)
    except StateExpressionError:
        return
    if isinstance(plain, Undetermined):
        assert isinstance(opposite, Undetermined)
    else:
        assert opposite is not plain
