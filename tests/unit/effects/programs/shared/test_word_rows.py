"""How a row of words is read, and that no table says the same program twice."""

from __future__ import annotations

from itertools import chain

import pytest

from interpose.effects.invocation import Invocation, Word
from interpose.effects.programs.shared import reveal_tables
from interpose.effects.programs.shared.word_rows import fitting, table


def _fits(row: str, *args: str, env: tuple[tuple[str, Word], ...] = ()) -> bool:
    inv = Invocation("tool", tuple(Word(arg) for arg in args), env=env)
    return fitting(table({"tool": row})["tool"], inv) is not None


@pytest.mark.parametrize(
    ("row", "args", "wanted"),
    [
        ("item get", ("item", "get", "mail"), True),
        ("item get", ("--account", "me", "item", "get", "mail"), True),
        ("item get", ("item", "--vault", "v", "get", "mail"), True),
        ("item get", ("item", "list"), False),
        ("item get", ("list", "item", "get"), False),
        ("item get", ("item", "get", "--help"), False),
        ("get +--reveal|--otp", ("get", "x", "--otp"), True),
        ("get +--reveal|--otp", ("get", "x"), False),
        ("get +--mode=no", ("get", "--mode", "no"), True),
        ("get +--mode=no", ("get", "--mode=no"), True),
        ("get +--mode=no", ("get", "--mode=yes"), False),
        ("+-d", ("-xd",), True),
        ("show !--masked", ("show", "--masked"), False),
        ("config %token|secret", ("config", "MY_TOKEN"), True),
        ("config %token %global", ("config", "MY_TOKEN"), False),
        ("env .", ("env",), True),
        ("env .", ("env", "--app", "shop"), True),
        ("env .", ("env", "set", "A=b"), False),
        ("show * key", ("show", "wg0", "key"), True),
        ("=+", ("+",), True),
        ("=+", ("+local:x",), False),
        ("", (), True),
        ("a; b c", ("b", "c"), True),
    ],
)
def test_a_row(row: str, args: tuple[str, ...], wanted: bool) -> None:
    assert _fits(row, *args) is wanted


def test_texts_are_looked_for_in_front_of_the_command_too() -> None:
    assert _fits("serve %0.0.0.0", "serve", env=(("HOST", Word("0.0.0.0")),))


def test_the_last_row_counts() -> None:
    rows = table({"tool": "~ get\nget +--plain"})["tool"]
    faint = fitting(rows, Invocation("tool", (Word("get"),)))
    plain = fitting(rows, Invocation("tool", (Word("get"), Word("--plain"))))
    assert faint is not None
    assert faint.faint
    assert plain is not None
    assert not plain.faint


def test_a_program_stands_in_one_table_of_secrets() -> None:
    tables = (reveal_tables.STORES, reveal_tables.CLOUDS, reveal_tables.FORGES)
    names = list(chain.from_iterable(key.split() for rows in tables for key in rows))
    assert sorted(names) == sorted(set(names))
