"""Redacting a stream: nothing is lost, nothing leaks over the edge of a part, and finished lines go out at once."""

from __future__ import annotations

import base64
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.reading.secrets import Redactor, stream
from interpose.reading.secrets.stream import StreamRedactor
from tests.unit.reading.secrets.templates import filled
from tests.unit.reading.secrets.test_multiline import BODY, pem

REDACTOR = Redactor(b"key")
TOKEN = filled("ghp_{alnum:36}")
PASSWORD = filled("{alnum:12}")
TEXT = (
    f"start\nTOKEN={TOKEN}\n{pem('RSA PRIVATE KEY')}\nmiddle é\n"
    f"{base64.encodebytes(b'#' * 90 + TOKEN.encode() + b'#' * 60).decode()}"
    f"curl -s \\\n -u 'bob:{PASSWORD}' \\\n https://acme.io\nend"
).encode()


def passed(parts: list[bytes], *, hurry: bool) -> bytes:
    redacting = StreamRedactor(REDACTOR)
    return b"".join([*(redacting.feed(part, hurry=hurry) for part in parts), redacting.close()])


@given(st.lists(st.integers(0, len(TEXT)), max_size=12), st.booleans())
def test_however_the_stream_is_cut_the_result_is_that_of_the_whole(cuts: list[int], hurry: bool) -> None:
    edges = [0, *sorted(cuts), len(TEXT)]
    parts = [TEXT[a:b] for a, b in pairwise(edges)]
    assert passed(parts, hurry=hurry) == REDACTOR.redact_bytes(TEXT)[0]


def test_byte_by_byte() -> None:
    assert passed([bytes([byte]) for byte in TEXT], hurry=True) == REDACTOR.redact_bytes(TEXT)[0]


def test_finished_lines_go_out_when_nothing_more_is_waiting() -> None:
    redacting = StreamRedactor(REDACTOR)
    assert redacting.feed(b"one\ntwo\nthr", hurry=True) == b"one\ntwo\n"
    assert redacting.feed(b"ee\n", hurry=True) == b"three\n"
    assert redacting.close() == b""


def test_a_key_waits_for_its_end_and_prose_about_keys_does_not() -> None:
    redacting = StreamRedactor(REDACTOR)
    assert redacting.feed(f"x\n-----BEGIN PRIVATE KEY-----\n{BODY[:65]}".encode(), hurry=True) == b"x\n"
    assert redacting.feed(f"{BODY[65:]}\n-----END PRIVATE KEY-----\ny\n".encode(), hurry=True).endswith(b"]\ny\n")
    prose = b"a file with -----BEGIN PRIVATE KEY----- in it (see above).\n"
    assert redacting.feed(prose, hurry=True) == prose


def test_what_went_out_before_still_tells_what_follows() -> None:
    redacting = StreamRedactor(REDACTOR)
    assert redacting.feed(b"kind: Secret\ndata:\n", hurry=True) == b"kind: Secret\ndata:\n"
    assert redacting.feed(b"  x: aHVudGVyMg==\n", hurry=True).startswith(b"  x: [redacted:kubernetes-secret:")


def test_a_line_without_end_is_not_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_HELD", 1000)
    line = b" ".join([b"word"] * 150 + [TOKEN.encode()] + [b"word"] * 150)
    redacting = StreamRedactor(REDACTOR)
    first = redacting.feed(line, hurry=True)
    assert len(first) > 500
    assert first + redacting.close() == REDACTOR.redact_bytes(line)[0]


def test_a_line_without_any_gap_goes_out_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_HELD", 1000)
    redacting = StreamRedactor(REDACTOR)
    assert redacting.feed(b"a" * 2000, hurry=True) == b"a" * 2000


def test_a_key_without_end_is_not_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MAX_HELD", 1000)
    redacting = StreamRedactor(REDACTOR)
    assert not redacting.feed(b"-----BEGIN RSA PRIVATE KEY-----\n" + b"A" * 900, hurry=True)
    given = redacting.feed(b" A" * 1000, hurry=True)
    assert given.startswith(b"[redacted:rsa-private-key:")
    assert len(given) > 1000


@pytest.mark.parametrize("text", [b"-----BEGIN", b"-----BEGIN RSA PRIVATE KEY-----\n", BODY.encode() + b"\n"])
@pytest.mark.parametrize("first", [b"", b"-----BEGIN RSA PRIVATE KEY-----\n"])
def test_small_parts_do_not_make_everything_be_looked_at_again(
    monkeypatch: pytest.MonkeyPatch, first: bytes, text: bytes
) -> None:
    looked = 0
    safe_end = StreamRedactor._safe_end

    def counted(redacting: StreamRedactor) -> int:
        nonlocal looked
        looked += len(redacting._held)
        return safe_end(redacting)

    monkeypatch.setattr(StreamRedactor, "_safe_end", counted)
    whole = first + text * (200_000 // len(text))
    redacting = StreamRedactor(REDACTOR)
    for at in range(0, len(whole), 32):
        redacting.feed(whole[at : at + 32], hurry=True)
    assert looked < 60 * len(whole)
