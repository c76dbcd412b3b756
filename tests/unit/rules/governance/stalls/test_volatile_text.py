"""What is taken out of texts, and what stays."""

from __future__ import annotations

import pytest

from interpose.rules.governance.stalls.volatile_text import unnumbered, untimed

UNTIMED = [
    ("done in 0.12s", "done in ~"), ("took 12 ms", "took ~"), ("at 2026-11-17T22:00:01.5Z now", "at ~ now"),
    ("at 2026-11-17 22:00 now", "at ~ now"), ("22:00:01,123 INFO", "~ INFO"), ("since 1794952801", "since ~"),
    ("since 1794952801123", "since ~"), ("at 0x7f9c1a2b3c", "at ~"), ("in /tmp/tmpk3j9xab1/a", "in /tmp/~/a"),
    ("id 0b007181-29e0-4e8d-a51c-0825b3d38c7a end", "id ~ end"), ("Chunk ID: 459baa\nok", "~\nok"),
    ("/tmp/pytest-of-u/pytest-12/x", "/tmp/pytest-of-u/~/x"), ("Wall time: 0.5 seconds", "~ seconds"),
]  # fmt: skip
STAYS = [
    "5 of 7 jobs", "web-0  0/1  Pending  0  10s", "percent 40", "template", "tmp_path", "temporary", "v1.2.3", "12%",
    "commit 459baa1f03cd", "line 12:5", "a-b-c-d-e", "x0b007181-29e0-4e8d-a51c-0825b3d38c7az",
]  # fmt: skip


@pytest.mark.parametrize(("text", "want"), UNTIMED)
def test_times_ids_and_temporary_names_go(text: str, want: str) -> None:
    assert untimed(text) == want


@pytest.mark.parametrize("text", STAYS)
def test_everything_else_stays(text: str) -> None:
    assert untimed(text) == text


@pytest.mark.parametrize(
    ("text", "want"),
    [("try 12 of 40", "try # of #"), ("commit 459baa1f03cd", "commit ~"), ("deadbeefdeadbeef", "deadbeefdeadbeef")],
)
def test_numbers_and_hashes_go_from_shapes(text: str, want: str) -> None:
    assert unnumbered(text) == want
