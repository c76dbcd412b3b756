"""What a person does not see is taken out of a text, and nothing that has an honest use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.core.formats.unseen_text import without_unseen
from tests.support.timing.growth import grows_linearly


def tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(letter)) for letter in text)


ZERO, ONE = "\u200b", "\u200c"

TAKEN = [
    ("orders in tags", f"hello{tags('delete all')} world", "hello world"),
    ("tags behind a flag that is none", f"\U0001f3f4{tags('delete all files')}", "\U0001f3f4"),
    ("bits of no width", f"a{ZERO}{ONE}{ZERO}{ONE}{ZERO}b", "ab"),
    ("data in variation selectors", "a\ufe00\ufe01\U000e0100b", "ab"),
    ("data behind an emoji", "\U0001f600\U000e0148\U000e0155", "\U0001f600"),
    ("colours", "\x1b[31mred\x1b[0m", "red"),
    ("a screen that is cleared", "a\x1b[2J\x1b[Hb", "ab"),
    ("a title", "a\x1b]0;title\x07b", "ab"),
    ("a link in a terminal", "\x1b]8;;https://example.com\x1b\\text\x1b]8;;\x1b\\", "text"),
    ("a reset", "a\x1bcb", "ab"),
    ("a code of one letter", "a\u009b31mb", "ab"),
    ("a code that does not end", "a\x1b]0;title", "a0;title"),
    ("an escape at the end", "a\x1b", "a"),
]
LEFT = [
    ("plain text", "hello world\n\tand more"),
    ("umlauts", "Käse, naïve, Ænima"),
    ("a flag of tags", f"\U0001f3f4{tags('gbsct')}\U000e007f"),
    ("a family", "\U0001f468\u200d\U0001f469\u200d\U0001f467"),
    ("a heart with its style", "\u2764\ufe0f"),
    ("an ideograph with its variant", "\u845b\U000e0100"),
    ("Persian with its joiner", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
    ("a soft place to break", "long\u200bword"),
    ("a mark of byte order", "\ufeffname,age"),
    ("Hebrew with its direction", "\u200fשלום\u200f"),
    ("an old line break", "a\u0085b"),
]


@pytest.mark.parametrize(("note", "text", "seen"), TAKEN)
def test_taken_out(note: str, text: str, seen: str) -> None:
    assert without_unseen(text) == (seen, len(text) - len(seen))


@pytest.mark.parametrize(("note", "text"), LEFT)
def test_left_as_it_is(note: str, text: str) -> None:
    assert without_unseen(text) == (text, 0)
    assert without_unseen(text)[0] is text


HOSTILE = [
    ("escapes", "\x1b"),
    ("titles that do not end", "\x1b]"),
    ("codes that do not end", "\x1b[1;"),
    ("tags", "\U000e0041"),
    ("flags that are none", "\U0001f3f4\U000e0061"),
    ("of no width", "\u200b"),
]


@pytest.mark.parametrize(("note", "letter"), HOSTILE)
def test_a_long_text_takes_as_long_as_it_is(note: str, letter: str) -> None:
    assert grows_linearly(lambda size: without_unseen(letter * size), 20_000)


@given(st.text(alphabet=st.sampled_from("a\x1b[]0m\x07\u009b\u200b\u200d\ufe0f\U000e0041\U000e007f\U0001f3f4")))
def test_what_is_left_holds_no_escape(text: str) -> None:
    seen, taken = without_unseen(text)
    assert "\x1b" not in seen
    assert taken == len(text) - len(seen)
