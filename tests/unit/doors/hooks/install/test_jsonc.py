"""JSON with comments: the same values as plain JSON, in their places, and nothing looser."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.doors.hooks.install.jsonc import JsoncError, Value, parse
from tests.support.timing.growth import grows_linearly
from tests.unit.doors.hooks.install.settings_texts import commented, values


@settings(max_examples=60, deadline=None)
@given(values)
def test_plain_json_means_the_same(data: Any) -> None:
    assert parse(json.dumps(data)).data == data


@settings(max_examples=60, deadline=None)
@given(values, st.randoms(use_true_random=False))
def test_comments_and_trailing_commas_change_nothing(data: Any, random: Any) -> None:
    text = commented(data, random)
    root = parse(text)
    assert root.data == data
    _in_its_place(text, root)


def _in_its_place(text: str, value: Value) -> None:
    assert parse(text[value.start : value.end]).data == value.data
    for member in value.members:
        assert text[: member.before] == "" or not text[member.before - 1].isspace() or member.after_line_comment
        assert not text[member.before : member.start].strip()
        assert member.comma < 0 or text[member.comma] == ","
        _in_its_place(text, member.value)


@pytest.mark.parametrize(
    ("note", "text", "said"),
    [
        ("nothing", "", "line 1, column 1: expected a value, got the end"),
        ("an unfinished object", '{\n  "a": 1', "line 2, column 9: expected ',' or '}', got the end"),
        ("two values", "{} {}", "line 1, column 4: expected the end, got '{}'"),
        ("a missing comma", '{\n "a": 1\n "b": 2}', "line 3, column 2: expected ',' or '}', got '\"b\": 2}'"),
        ("a missing colon", '{"a" 1}', "column 6: expected ':', got '1}'"),
        ("two commas", "[1,,2]", "column 4: expected a value, got ',2]'"),
        ("a comma alone", "[,]", "column 2: expected a value"),
        ("the same key twice", '{"a": 1,\n"a": 2}', "line 2, column 1: the key 'a' stands twice in one object"),
        ("the same key, written otherwise", '{"a": 1, "\\u0061": 2}', "the key 'a' stands twice"),
        ("single quotes", "{'a': 1}", "expected a text in double quotes"),
        ("a key without quotes", "{a: 1}", "expected a text in double quotes"),
        ("a raw line break in a text", '["a\nb"]', "expected a text in double quotes"),
        ("an unknown escape", '["\\x41"]', "expected a text in double quotes"),
        ("a number of YAML", "[01]", "expected a value, got '01]'"),
        ("a number that goes on", "[1.]", "expected a value, got '1.]'"),
        ("a hexadecimal number", "[0x1]", "expected a value"),
        ("no number", "[NaN]", "expected a value, got 'NaN]'"),
        ("a word that goes on", "[truely]", "expected a value, got 'truely]'"),
        ("a comment that does not end", "[1 /* ]", "column 4: a comment that does not end"),
        ("a lone slash", "[1 / 2]", "column 4: a lone slash"),
        ("a comment of another language", "[1] # no", "expected the end"),
        ("a second byte order mark", "\ufeff\ufeff{}", "expected a value"),
        ("very deep", "[" * 200 + "]" * 200, "nested deeper than 128 levels"),
        ("very many digits", "[" + "9" * 10_000 + "]", "a number that is too long"),
    ],
)  # fmt: skip
def test_what_is_refused(note: str, text: str, said: str) -> None:
    with pytest.raises(JsoncError) as caught:
        parse(text)
    assert said in str(caught.value), note


@pytest.mark.parametrize(
    ("note", "start", "piece", "end"),
    [
        ("elements", "[", "1,", "]"),
        ("comments that do not end", "", "/*", ""),
        ("slashes", "", "//", ""),
        ("backslashes", '"', "\\\\", "\\"),
        ("comments", "[", "/**/", ""),
        ("blanks", "", " ", ""),
        ("open lists", "", "[", ""),
        ("strings", "[", '"a",', "]"),
    ],
)
def test_time_grows_with_the_text_only(note: str, start: str, piece: str, end: str) -> None:
    def read(size: int) -> None:
        with suppress(JsoncError):
            parse(start + piece * (size // len(piece)) + end)

    assert grows_linearly(read, 60_000), note
