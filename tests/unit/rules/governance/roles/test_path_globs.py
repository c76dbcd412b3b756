"""Globs of paths, against all names that a small alphabet can make."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.rules.governance.roles.path_globs import DEEP, MOST_PARTS, covers, meets, parts_of

PARTS = st.sampled_from(["a", "b", "ab", "*", "a*", "*b", "?", "a?", DEEP])
PATHS = [tuple(path) for length in range(4) for path in product(("a", "b", "ab", "aab"), repeat=length)]


def matches(glob: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """The same by a regular expression: names are separated, `**` is any number of them."""
    pattern = "".join("(?:[^/]+/)*" if part == DEEP else _name(part) + "/" for part in glob)
    return re.fullmatch(pattern, "".join(f"{name}/" for name in path)) is not None


def _name(part: str) -> str:
    return "".join({"*": "[^/]*", "?": "[^/]"}.get(letter, re.escape(letter)) for letter in part)


@given(st.lists(PARTS, max_size=4).map(tuple))
def test_a_plain_path_fits_as_a_regular_expression_says(glob: tuple[str, ...]) -> None:
    for path in PATHS:
        assert covers(glob, path) == matches(glob, path) == meets(glob, path)


@given(st.lists(PARTS, max_size=4).map(tuple), st.lists(PARTS, max_size=3).map(tuple))
def test_a_set_of_paths_is_judged_by_all_in_it(glob: tuple[str, ...], several: tuple[str, ...]) -> None:
    members = [path for path in PATHS if matches(several, path)]
    if covers(glob, several, is_wild=True):
        assert all(matches(glob, path) for path in members)
    if any(matches(glob, path) for path in members):
        assert meets(glob, several, is_wild=True)


@pytest.mark.parametrize(
    ("note", "glob", "path", "want"),
    [
        ("the directory itself", ".claude/**", ".claude", True),
        ("what is in it", ".claude/**", ".claude/a/b", True),
        ("a slash at the end", ".claude/", ".claude/a/b", True),
        ("a neighbour", ".claude/**", ".claudette/a", False),
        ("in any directory", "**/AGENTS.md", "a/b/AGENTS.md", True),
        ("in none", "**/AGENTS.md", "AGENTS.md", True),
        ("one level", "src/*.py", "src/a.py", True),
        ("not two", "src/*.py", "src/a/b.py", False),
        ("a dot in front", "./src/**", "src/a", True),
        ("brackets", "app/[id]/x", "app/i/x", False),
        ("brackets as they are", "app/[id]/x", "app/[id]/x", True),
        ("case", "src/**", "SRC/a", False),
    ],
)
def test_globs_as_people_write_them(note: str, glob: str, path: str, want: bool) -> None:
    assert covers(parts_of(glob), parts_of(path)) is want, note


def test_a_path_that_is_too_deep_is_in_no_glob_and_could_be_in_each() -> None:
    deep = ("a",) * (MOST_PARTS + 1)
    assert not covers((DEEP,), deep)
    assert meets(("b",), deep)


def test_brackets_of_a_shell_could_be_any_letter() -> None:
    assert meets(("a.py",), ("[ab].py",), is_wild=True)
    assert not covers(("[ab]*",), ("[ab]c.py",), is_wild=True)
