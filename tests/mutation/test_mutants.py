"""What a mutant is: one place changed, each place once, and nothing that only people or type checkers read."""

from __future__ import annotations

import pytest

from tests.mutation.mutants import mutants_of


@pytest.mark.parametrize(
    ("note", "source", "want"),
    [
        ("a comparison", "x = a < b", ["x = a <= b"]),
        ("a join of conditions", "x = a and b", ["x = a or b"]),
        ("a negation", "x = not a", ["x = a"]),
        ("a number", "x = 3", ["x = 4"]),
        ("a truth", "x = True", ["x = False"]),
        ("a sum", "x = a + b", ["x = a - b"]),
        ("a condition", "if a:\n    b()", ["if True:\n    b()", "if False:\n    b()"]),
        ("a return", "def f():\n    return a", ["def f():\n    return None"]),
        ("two places", "x = 1\ny = 2", ["x = 2\ny = 2", "x = 1\ny = 3"]),
        ("texts are for people", "x = 'text'", []),
        ("types are for the checker", "def f(a: int | None=None) -> 'X':\n    pass", []),
        ("alternatives of classes", "x = isinstance(a, str | bytes)", []),
    ],
)
def test_mutants(note: str, source: str, want: list[str]) -> None:
    assert [mutant.source for mutant in mutants_of(source)] == want
