"""The ways in which some tool could read a path."""

from __future__ import annotations

from contextlib import suppress

import pytest

from interpose.effects.paths.readings import MAX_READINGS, TooManyReadings, is_plain, readings
from tests.support.timing.growth import grows_linearly

HOME = "/home/dev"

CASES = [
    ("a plain path is read in one way", "src/a.py", []),
    ("escapes", "%2e%2e/x", ["../x"]),
    ("escapes of escapes", "%252e", ["%2e", "."]),
    ("a variable", "$HOME/x", ["/home/dev/x"]),
    ("escapes that hide a variable", "%24HOME/x", ["/home/dev/x"]),
    ("a variable of Windows", "%USERPROFILE%\\x", ["/home/dev/x"]),
    ("a file URL with a host", "file://host/etc/x", ["/host/etc/x", "host/etc/x", "/etc/x"]),
    ("a file URL with a drive", "file:///C:/x", ["C:/x"]),
    ("a file URL with a drive as old browsers write it", "file:///C|/x", ["C:/x"]),
    ("backslashes", "..\\x", ["../x"]),
    ("a long path of Windows", "\\\\?\\C:\\x", ["C:/x"]),
    ("a share of a drive", "\\\\host\\d$\\x", ["D:/x"]),
    ("a tail", "a./b. ", ["a/b"]),
    ("a stream", "key::$DATA", ["key"]),
    ("a short name", "C:/SSH~1/x", ["C:/.SSH*/x"]),
    ("braces", "a/{b,c}", ["a/*"]),
    ("zero width", "a\u200bb", ["ab"]),
    ("full width and zero width", "\uff41\u200b", ["a"]),
    ("quotes", "'a'", ["a"]),
    ("a mention", "@a", ["a"]),
    ("an escaped end", "a%00b", ["a"]),
]


@pytest.mark.parametrize(("note", "text", "want"), CASES, ids=[note for note, _, _ in CASES])
def test_readings(note: str, text: str, want: list[str]) -> None:
    found = readings(text, HOME)
    assert found[0] == text
    assert set(want) <= set(found), note
    if not want:
        assert found == (text,)


@pytest.mark.parametrize("text", ["a", "/a/b.c", ".a/.b", "a b/c-d", "src/x.test.ts", "a@2x.png"])
def test_plain_paths_skip_all_that(text: str) -> None:
    assert is_plain(text)
    assert readings(text, HOME) == (text,)


@pytest.mark.parametrize(
    "text", ["", ".", "..", "~", "a/../b", "a//b", "a.", "a ", "a./b", "/proc/self/x", "é", "$a", "a\n"]
)
def test_all_others_do_not(text: str) -> None:
    assert not is_plain(text)


def test_a_text_of_a_hundred_readings_is_given_up() -> None:
    with pytest.raises(TooManyReadings):
        readings(" \"@file://h%2541\\\\x\\..\u200b\uff0f$HOME/{a,b}/SSH~1/c. /%24HOME/d:e' ", HOME)
    assert len(readings("%2e\u200b\uff0f$HOME", HOME)) <= MAX_READINGS


@pytest.mark.parametrize(
    "piece", ["%25", "$HOME", "${A}", "\\", "{", "}", "{a}", "~1", "file:", ". ", "@", "\u200b", "a:", "//", "'"]
)
def test_time_grows_with_the_text_only(piece: str) -> None:
    def read(size: int) -> None:
        with suppress(TooManyReadings):
            readings(piece * (size // len(piece)), HOME)

    assert grows_linearly(read, 8_000)
