"""What is wrong in data is found exactly where msgspec would find it, and all of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.core.errors import GovernanceError, GovernanceProblem
from interpose.rules.governance.files.file_model import GovernanceForm
from interpose.rules.governance.files.form_reading import problems_in, unknown
from interpose.rules.governance.files.load import load_rulebook

KEYS = st.sampled_from([
    "version", "mode", "roles", "agents", "scopes", "tools", "role", "paths", "allow", "deny", "write", "parent",
    "tier", "ceiling", "first_tools", "any_of", "budgets", "per", "calls", "time", "chains", "rules", "id",
    "must_before", "exists", "one_of", "sessions", "idle_after", "x",
])  # fmt: skip
WORDS = st.sampled_from(["a", "", "1", "5m", "watch", "deny", "session"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-5, 2000), st.floats(0, 5), WORDS)
DATA = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)


def takes(data: Any) -> bool:
    try:
        msgspec.convert(data, GovernanceForm, strict=True)
    except msgspec.ValidationError:
        return False
    return True


@given(st.dictionaries(KEYS, DATA, max_size=6).map(lambda data: {"version": 1} | data))
@settings(max_examples=300)
def test_a_problem_is_found_where_and_only_where_there_is_one(data: dict[str, Any]) -> None:
    found = list(problems_in(data, GovernanceForm))
    assert bool(found) is not takes(data), found


@given(DATA)
def test_a_role_is_read_as_strictly(data: Any) -> None:
    whole = {"version": 1, "roles": {"a": data}, "scopes": {"b": {"paths": [data]}}}
    assert bool(list(problems_in(whole, GovernanceForm))) is not takes(whole)


@given(st.text(max_size=200))
def test_any_text_is_a_rulebook_or_a_clear_error(text: str) -> None:
    for made in (text, f"version: 1\nroles: {{a: {text}}}", f"version: 1\ninclude: [{text}]"):
        assert all(problem.line > 0 and problem.message for problem in problems(made))


def problems(text: str) -> tuple[GovernanceProblem, ...]:
    try:
        load_rulebook(text, "g.yaml")
    except GovernanceError as error:
        return error.problems
    return ()


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("reseacher", ["researcher", "worker"], "there is no role 'reseacher', did you mean 'researcher'?"),
        ("META", ["Meta"], "there is no role 'META', did you mean 'Meta'?"),
        ("x", ["abc"], "there is no role 'x'; there are abc"),
        ("x", [], "there is no role 'x'; there are none"),
        ("y" * 500, ["y"], "..."),
    ],
)
def test_what_was_probably_meant_is_said(name: str, known: list[str], said: str) -> None:
    assert said in unknown("role", name, known)
