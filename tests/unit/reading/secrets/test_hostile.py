"""Text made to be slow, to break or to slip through."""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.reading.secrets.kinds import NAMED, SHAPED
from interpose.reading.secrets.scanner import BLOCK, MARGIN, blocks, scanner
from tests.support.timing.timing import cpu_seconds
from tests.unit.reading.secrets.templates import filled

TOKEN = filled("ghp_{alnum:36}").encode()
SMALL = 32_000
GROWTH = 8


@pytest.mark.parametrize(
    "unit",
    [
        b"password=", b'password="', b"token: ", b"-----BEGIN PRIVATE KEY-----\n", b"curl -u a:b ", b"a%41", b"%25",
        b"Cookie: a=b; ", b"Authorization: Basic ", b"kind: Secret\n---\n", b"kind: Secret\ndata:\n a: b\n", b"\\u0041",
        b"\x1b[1m", b"TmV2ZXIg", b"eyJhbGciOi.", b"://a:b@", b"[redacted:", b"mysql ", b'"data": {', b"\\\\\\n",
        b"-----BEGIN PRIVATE KEY-----\n" + b"A" * 24, b"A", b"9" * 40 + b" ",
        b64encode(b'key = "' + TOKEN + b'"   ') + b"zz9zz",
    ],
)  # fmt: skip
def test_time_grows_with_the_text_and_not_faster(unit: bytes) -> None:
    """Eight times the text may take eight times as long, and some: quadratic work would take sixty-four times."""
    scanner().find(unit * (SMALL // len(unit)))
    times = []
    for size in (SMALL, SMALL * GROWTH):
        text = unit * (size // len(unit))
        times.append(cpu_seconds(partial(scanner().find, text)))
    assert times[1] < max(times[0], 0.02) * GROWTH * 4


@pytest.mark.parametrize("size", [BLOCK - 20, BLOCK, BLOCK + 1, 2 * BLOCK - MARGIN - 10, 3 * BLOCK])
@pytest.mark.parametrize("filler", [b"word ", b"line\n", b"x,"])
def test_no_secret_is_lost_at_the_edge_of_a_block(size: int, filler: bytes) -> None:
    before = (filler * size)[: size - len(TOKEN) // 2] + b" "
    (hit,) = scanner().find(before + TOKEN + b" " + filler * 2000)
    assert (hit.start, hit.end) == (len(before), len(before) + len(TOKEN))


@given(st.binary(max_size=3 * MARGIN))
def test_blocks_cover_the_text(data: bytes) -> None:
    data = data * 20
    edges = list(blocks(data))
    assert b"".join(data[start:end] for start, end in edges).startswith(data[:BLOCK])
    assert all(after[0] <= before[1] for before, after in pairwise(edges))
    assert (edges[-1][1] if edges else 0) == len(data)


@given(st.binary(max_size=600))
def test_any_bytes_are_searched_and_hits_are_in_order(data: bytes) -> None:
    text = data + b" " + TOKEN
    hits = scanner().find(text)
    assert hits
    assert all(0 <= hit.start < hit.end <= len(text) for hit in hits)
    assert all(before.end <= after.start for before, after in pairwise(hits))


def test_names_are_unique_and_fit_a_marker() -> None:
    names = [kind.name for kind in SHAPED] + [kind.name for kind in NAMED]
    assert len(names) == len(set(names))
    assert all(name.replace("-", "").isalnum() and name == name.lower() for name in names)
