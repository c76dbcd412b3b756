"""What a judge quoted is taken out, exactly, or nothing is handed on."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.rules.policy.judge.redaction import redacted

CASES: list[tuple[str, Any, list[str], Any]] = [
    ("a text", "my pin is 1234", ["1234"], "my pin is [X]"),
    ("everywhere", {"a": ["1234", {"b": "x1234y1234"}]}, ["1234"], {"a": ["[X]", {"b": "x[X]y[X]"}]}),
    ("several", "Ann and Bob", ["Ann", "Bob"], "[X] and [X]"),
    ("one begins another", "sk-12 sk-123", ["sk-12", "sk-123"], "[X] [X]"),
    ("no pattern", "a.c abc", ["a.c"], "[X] abc"),
    ("copied from the JSON", "line one\nline two", ["one\\nline"], "line [X] two"),
    ("a quotation mark", 'say "hi"', ['\\"hi\\"'], "say [X]"),
    ("a backslash", "C:\\new", ["C:\\new"], "[X]"),
    ("beyond ASCII", "grüße ☕", ["ü", "☕"], "gr[X]ße [X]"),
    ("a tuple stays one", ("1234", 5), ["1234"], ("[X]", 5)),
    ("not there", "my pin is 1234", ["4321"], None),
    ("one of two is not there", "Ann", ["Ann", "Bob"], None),
    ("across two texts", ["12", "34"], ["1234"], None),
    ("in a key", {"1234": "x"}, ["1234"], None),
    ("in a key and a text", {"1234": "1234"}, ["1234"], None),
    ("in a number and a text", {"a": 1234, "b": "1234"}, ["1234"], None),
    ("a number", 1234, ["1234"], None),
    ("no result", None, ["1234"], None),
    ("bytes", b"1234", ["1234"], None),
]


@pytest.mark.parametrize(("note", "result", "quotes", "want"), CASES, ids=[note for note, *_ in CASES])
def test_redacted(note: str, result: Any, quotes: list[str], want: Any) -> None:
    assert redacted(result, dict.fromkeys(quotes, "[X]")) == want, note


def test_what_is_put_in_is_not_looked_at_again() -> None:
    assert redacted("ab", {"a": "b", "b": "c"}) is None, "the b that came in for the a can't be told from the other"
    assert redacted("ab", {"a": "1", "b": "2"}) == "12"
