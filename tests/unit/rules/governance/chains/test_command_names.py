"""Patterns of commands: exact or glob, with or without a slash; generous for what refuses, exact for what allows."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.rules.governance.chains.command_names import command_fits, command_fits_any, could_be_command
from interpose.rules.governance.roles.name_patterns import LONGEST

NAMES = st.text(alphabet="ab:-*?/ A", max_size=8)


def reference(pattern: str, name: str) -> bool:
    """A glob the long way: each `*` any text, each `?` one letter, everything else itself."""
    parts = (".*" if letter == "*" else "." if letter == "?" else re.escape(letter) for letter in pattern)
    return re.fullmatch("".join(parts), name, re.DOTALL) is not None


def plain(text: str) -> str:
    return text.strip().lstrip("/ ")


@given(pattern=NAMES, name=NAMES)
def test_a_pattern_fits_as_a_glob_does(pattern: str, name: str) -> None:
    assert command_fits(pattern, name) is reference(plain(pattern), plain(name))


@given(pattern=NAMES, name=NAMES)
def test_a_slash_before_either_makes_no_difference(pattern: str, name: str) -> None:
    pattern, name = plain(pattern), plain(name)
    assert command_fits(f"/{pattern}", name) is command_fits(pattern, f"/{name}") is command_fits(pattern, name)


@given(pattern=NAMES, name=NAMES)
def test_what_refuses_fits_wherever_what_allows_fits(pattern: str, name: str) -> None:
    if command_fits(pattern, name):
        assert could_be_command(pattern, name)


@given(name=st.text(alphabet="abcé", min_size=1, max_size=6))
def test_case_is_no_way_around_a_rule_and_no_way_into_an_exception(name: str) -> None:
    assert could_be_command(name, name.upper())
    assert command_fits(name, name.upper()) is (name == name.upper())


ORIGINS = [
    ("deploy", "tools:deploy", True, "a plugin's command by its whole name"),
    ("deploy", "Project:team:DEPLOY", True, "and deeper"),
    ("deploy*", "tools:deploy-now", True, "by a glob"),
    ("deploy", "tools:deployment", False, "another name"),
    ("deploy", "deploy:help", False, "another name behind it"),
    ("tools:deploy", "deploy", True, "by its short name"),
    ("/tools:deploy", "/Deploy", True, "with slashes"),
    ("tools:deploy", "other:deploy", False, "of another plugin"),
    ("tools:*", "deploy", False, "a glob of all of one plugin says nothing of others"),
    ("tools:d*", "deploy", False, "nor does a part of it"),
]


@pytest.mark.parametrize(("pattern", "name", "want", "note"), ORIGINS, ids=[row[3] for row in ORIGINS])
def test_where_a_command_comes_from_is_no_way_around_a_rule(pattern: str, name: str, want: bool, note: str) -> None:
    assert could_be_command(pattern, name) is want, note
    assert not command_fits(pattern, name) or pattern.lstrip("/") == name.lstrip("/"), "what allows is read exactly"


def test_none_of_several() -> None:
    assert not command_fits_any((), "x")
    assert command_fits_any(("a", "/x"), "x")


@pytest.mark.parametrize("pattern", ["*a*a*a*a*a*a*a*a*b", "?" * 100])
def test_a_name_that_is_too_long_fits_nothing_but_a_lone_star(pattern: str) -> None:
    assert not could_be_command(pattern, "a" * (LONGEST + 1))
    assert could_be_command("*", "a" * (LONGEST + 1))
