"""Strict JSON: what is accepted means the same to every reader, and the rest is refused with a reason."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from interpose.core.formats.strict_json import StrictJsonError, decode, decode_as
from interpose.core.types import MAX_DEPTH
from tests.support.timing.growth import grows_linearly
from tests.support.timing.timing import cpu_seconds

REFUSED = [
    ("nothing", b"", "empty"),
    ("blanks", b" \n", "empty"),
    ("a byte order mark", b"\xef\xbb\xbf{}", "byte order mark"),
    ("UTF-16", b"\xff\xfe{\x00}\x00", "not JSON"),
    ("not a number", b'{"a": NaN}', "not JSON"),
    ("infinity", b"[Infinity]", "not JSON"),
    ("minus infinity", b"[-Infinity]", "not JSON"),
    ("a number beyond all", b"[1e999]", "out of range"),
    ("a whole number of 65 bits", b'{"a":[18446744073709551616]}', "64 bits"),
    ("a negative one of 65 bits", b"-9223372036854775809", "64 bits"),
    ("a number of 5000 digits", b"9" * 5000, "out of range"),
    ("a number with a plus", b"+1", "not JSON"),
    ("a number with a zero in front", b"01", "not JSON"),
    ("a number without its end", b"1.", "not JSON"),
    ("a stray byte", b'{"a":"\xff"}', "not UTF-8 at byte 6"),
    ("an overlong slash", b'"\xc0\xaf"', "not UTF-8"),
    ("a raw surrogate", b'"\xed\xa0\x80"', "not UTF-8"),
    ("a character beyond Unicode", b'"\xf4\x90\x80\x80"', "not UTF-8"),
    ("a stray byte between values", b"[1,\xff]", "not JSON"),
    ("the first half of a pair", b'{"a":"x\\ud800y"}', "half of a surrogate pair"),
    ("the second half of a pair", b'"\\udc00"', "half of a surrogate pair"),
    ("two first halves", b'"\\ud800\\ud800"', "half of a surrogate pair"),
    ("half a pair in a key", b'{"\\ud800":1}', "half of a surrogate pair"),
    ("half a pair at the end", b'["\\ud800"]', "half of a surrogate pair"),
    ("a control character", b'"\x01"', "not JSON"),
    ("a zero byte", b'{"a":1}\x00', "not JSON"),
    ("two values", b"{} {}", "not JSON"),
    ("something behind the value", b"1 x", "not JSON"),
    ("a comma too many", b"[1,]", "not JSON"),
    ("an end that is missing", b'{"a":', "not JSON"),
    ("single quotes", b"{'a':1}", "not JSON"),
    ("a comment", b"{} // x", "not JSON"),
    ("an unknown escape", b'"\\x41"', "not JSON"),
    ("a key twice", b'{"a":1,"a":2}', "the key 'a' stands twice"),
    ("a key twice with the same value", b'{"a":1,"a":1}', "the key 'a' stands twice"),
    ("a key twice, once escaped", b'{"a":1,"\\u0061":2}', "the key 'a' stands twice"),
    ("a key twice with blanks", b'{"a" : 1 , "a"\n:2}', "the key 'a' stands twice"),
    ("a key twice deep inside", b'[[{"x":{"b":1,"c":[],"b":2}}]]', "the key 'b' stands twice"),
    ("a key twice beside colons", b'{"u":"http://x:1/","t":"::","u":""}', "the key 'u' stands twice"),
    ("a key twice in a dropped object", b'{"a":{"b":1,"b":2},"a":1}', "stands twice"),
    ("a long key twice", b'{"%b":1,"%b":2}' % (b"k" * 500, b"k" * 500), "k...'"),
    ("nesting one too deep", b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), f"deeper than {MAX_DEPTH}"),
    ("objects one too deep", b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1), f"deeper than {MAX_DEPTH}"),
    ("a million brackets", b"[" * 1_000_000, "nested deeper"),
    ("a million brackets, closed", b"[" * 1_000_000 + b"]" * 1_000_000, "nested deeper"),
    ("a million objects", b'{"a":' * 1_000_000, "nested deeper"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), [pytest.param(*case[1:], id=case[0]) for case in REFUSED])
def test_refused_with_a_reason(text: bytes, why: str) -> None:
    with pytest.raises(StrictJsonError, match=f".*{why.replace('...', '[.]{3}')}") as refused:
        decode(text)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    "text",
    [
        b"null", b"-0", b" [1, 2] \n", b'{"a":{"a":{"a":1}}}', b'[{"a":1},{"a":1}]', b'"a:b"', b'{"a:":":"}',
        b'{"":0}', '{"ключ":"\U0001f600"}'.encode(), b'"\\ud83d\\ude00"', b'{"a\\"":1,"a":2}',
        b"18446744073709551615", b"-9223372036854775808", b"[1e-999]", b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
    ],
)  # fmt: skip
def test_accepted(text: bytes) -> None:
    assert decode(text) == json.loads(text)


@pytest.mark.parametrize("piece", [b"[", b'{"a":', b"[0,", b'[{"a":'])
def test_a_million_levels_cost_no_more_than_a_flat_text_of_their_length(piece: bytes) -> None:
    deep = piece * 1_000_000
    flat = b"[" + b"0," * (len(deep) // 2) + b"0]"

    def refused() -> None:
        with pytest.raises(StrictJsonError):
            decode(deep)

    assert min(cpu_seconds(refused) for _ in range(3)) < min(cpu_seconds(lambda: decode(flat)) for _ in range(3))


def test_no_hidden_depth_is_anything_but_refused() -> None:
    for depth in range(1, 1100):
        with pytest.raises(StrictJsonError):
            decode(b'{"a":' + b"[" * depth + b"]" * depth + b',"a":1}')


@pytest.mark.parametrize(
    ("note", "start", "piece", "end"),
    [("one string", '{"a":"', ":", '"}'), ("many strings", "[", '":",', '""]'), ("many keys", "[", '{"a":1},', "1]")],
)
def test_time_grows_with_the_text_only(note: str, start: str, piece: str, end: str) -> None:
    assert grows_linearly(lambda size: decode((start + piece * (size // len(piece)) + end).encode()), 200_000), note


def strictly(text: str) -> Any:
    """The slow and simple reader that the fast one is held against."""

    def whole(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError
        return dict(pairs)

    def no_constant(_word: str) -> NoReturn:
        raise ValueError

    value = json.loads(text, object_pairs_hook=whole, parse_constant=no_constant)
    json.dumps(value, ensure_ascii=False).encode()
    for number in numbers(value):
        if isinstance(number, int) and not -(2**63) <= number < 2**64:
            raise ValueError
        if isinstance(number, float) and math.isinf(number):
            raise ValueError
    return value


def numbers(value: Any) -> list[int | float]:
    if isinstance(value, dict):
        return [number for child in value.values() for number in numbers(child)]
    if isinstance(value, list):
        return [number for child in value for number in numbers(child)]
    return [value] if isinstance(value, int | float) else []


KEYS = st.sampled_from(["a", "b", ":", 'a"', "\\", "\\u0061", "ü", ""])
LEAVES = st.none() | st.booleans() | st.integers(-(2**66), 2**66) | st.floats(allow_nan=True) | st.text(max_size=5)
TEXTS = st.recursive(
    LEAVES.map(json.dumps),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: f"[{' , '.join(items)}]")
        | st.lists(st.tuples(KEYS.map(json.dumps), st.sampled_from([":", " :", "\n: "]), inner), max_size=4).map(
            lambda members: "{" + ",".join(map("".join, members)) + "}"
        )
    ),
    max_leaves=12,
)
MANGLED = st.text(alphabet='{}[]":,\\ud8a01.-eE\ntrufalsn', max_size=12)


@given(TEXTS | MANGLED | st.tuples(TEXTS, MANGLED).map("".join))
def test_it_accepts_what_the_simple_reader_accepts_and_reads_the_same(text: str) -> None:
    try:
        want = strictly(text)
    except ValueError:
        with pytest.raises(StrictJsonError):
            decode(text.encode("utf-8", "surrogatepass"))
    else:
        assert decode(text.encode()) == want


@given(st.binary(max_size=40))
def test_bytes_are_read_or_refused(text: bytes) -> None:
    try:
        found = decode(text)
    except StrictJsonError:
        return
    assert found == strictly(text.decode("utf-8"))


class Point(Struct, forbid_unknown_fields=True):
    x: int
    y: int = 0


def test_values_of_a_type() -> None:
    assert decode_as(b'{"x":1}', Point) == Point(1)
    for text, why in [(b'{"x":"1"}', r"Expected `int`.*\$\.x"), (b'{"z":1}', "unknown"), (b'{"x":1,"x":2}', "twice")]:
        with pytest.raises(StrictJsonError, match=why):
            decode_as(text, Point)
