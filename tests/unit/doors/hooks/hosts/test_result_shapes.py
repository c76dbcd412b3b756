"""Results keep the shape that the tool gave them, whatever takes their place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.doors.hooks.hosts.result_shapes import fitted, plain_text, texts_in, with_text

WHY = "not for you"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9" * 2
BASH = {"stdout": "a", "stderr": "b", "interrupted": False, "isImage": False}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["stdout", "content", "x", "type", "n"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("note", "shape", "want"),
    [
        ("text", "abc", WHY),
        ("nothing", None, WHY),
        ("an empty list has no place for it", [], WHY),
        ("a shell", BASH, BASH | {"stdout": WHY, "stderr": ""}),
        ("parts", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
         [{"type": "text", "text": WHY}, {"type": "text", "text": ""}]),
        ("a picture", {"type": "image", "source": {"media_type": "image/png", "data": "iVBOR"}},
         {"type": "image", "source": {"media_type": "image/png", "data": WHY}}),
        ("what it says comes before what was shown", {"returnDisplay": "x", "llmContent": "y"},
         {"returnDisplay": "", "llmContent": WHY}),
        ("a word of its own kind that is a whole text is none", {"type": "a b c", "text": "x"},
         {"type": "", "text": WHY}),
        ("numbers are results too", {"balance": 1234.5, "id": 7, "ok": True}, {"balance": 0.0, "id": 0, "ok": True}),
        ("an unknown field", {"rows": [["a", 1]]}, {"rows": [[WHY, 0]]}),
        ("a key that is a secret", {"text": "a", TOKEN: "b"}, {"text": WHY, "withheld": ""}),
        ("a key that is no word", {"text": "a", "ann@corp.example": "b"}, {"text": WHY, "withheld": ""}),
        ("a kind that is a secret", {"text": "a", "status": TOKEN}, {"text": WHY, "status": ""}),
    ],
)  # fmt: skip
def test_a_text_takes_the_place_of_a_result(note: str, shape: Any, want: Any) -> None:
    assert with_text(shape, WHY) == want, note


def test_the_agents_own_words_may_stay() -> None:
    shape = {"file": {"filePath": "/w/a", "content": "x"}}
    assert with_text(shape, WHY, frozenset({"/w/a"})) == {"file": {"filePath": "/w/a", "content": WHY}}


def outline(value: Any) -> Any:
    """The shape alone."""
    if isinstance(value, dict):
        return {key: outline(item) for key, item in value.items()}
    return [outline(item) for item in value] if isinstance(value, list) else type(value)


@given(VALUES.filter(lambda value: isinstance(value, list | dict) and value))
def test_the_shape_stays_and_the_texts_go(shape: Any) -> None:
    changed = with_text(shape, WHY)
    assert outline(changed) == outline(shape)
    kept = {text for text in texts_in(changed) if text not in ("", WHY)}
    assert all(text.isidentifier() or text[0].isalpha() for text in kept)  # kinds of things, one word each


@given(VALUES)
def test_what_has_the_shape_is_taken_as_it_is(value: Any) -> None:
    assert fitted(value, value) == value


@pytest.mark.parametrize(
    ("shape", "new", "want"),
    [
        (BASH, "just text", BASH | {"stdout": "just text", "stderr": ""}),
        (BASH, {"stdout": "only"}, BASH | {"stdout": "only", "stderr": ""}),
        ([{"type": "text", "text": "a"}], "b", [{"type": "text", "text": "b"}]),
        ("a", {"content": [{"type": "text", "text": "b"}]}, "b"),
        ("a", {"n": 1}, '{"n":1}'),
    ],
)
def test_what_has_another_shape_is_put_into_the_tools(shape: Any, new: Any, want: Any) -> None:
    assert fitted(shape, new) == want


@pytest.mark.parametrize(
    ("value", "want"),
    [
        ("a", "a"),
        ({"llmContent": [{"text": "a"}, {"text": "b"}], "returnDisplay": "c"}, "a\nb"),
        ({"stdout": "a", "stderr": "b"}, "a\nb"),
        ({"stdout": "a", "stderr": ""}, "a"),
        ([{"type": "image", "data": "x"}], '[{"type":"image","data":"x"}]'),
        (None, "null"),
    ],
)
def test_a_result_as_one_text(value: Any, want: str) -> None:
    assert plain_text(value) == want
