"""The scanner: what it remembers."""

from __future__ import annotations

from interpose.reading.secrets.scanner import Scanner


def test_what_was_clean_stays_so_and_what_was_not_is_found_again() -> None:
    """Short texts without secrets are remembered. One with a secret never is, and there is an end to remembering."""
    one, key = Scanner(), b"key " + b"AKIA" + b"Z7QLDN3XVB5MPT2K"
    for _ in range(2):
        assert one.find(b"plain") == []
        assert [hit.kind for hit in one.find(key)] == ["aws-access-key-id"]
    for number in range(10_000):
        one.find(b"plain %d" % number)
    one.find(b"x" * 10_000)
    assert 0 < len(one._clean) <= 4096
    assert key not in one._clean
    assert max(map(len, one._clean)) < 100
