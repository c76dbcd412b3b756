"""Patch texts: every file is named, with what goes in and out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.effects.patches import Patched, patched
from tests.support.timing.growth import grows_linearly

CASES = [
    (
        "the envelope",
        "*** Begin Patch\n*** Add File: a.py\n+x\n+y\n*** Update File: b.py\n@@\n-old\n+new\n*** Delete File: c.py\n",
        [
            Patched("a.py", "write", "x\ny"),
            Patched("b.py", "edit", "new", "old"),
            Patched("c.py", "delete"),
        ],
    ),
    (
        "a file that moves is both names",
        "*** Update File: a\n*** Move to: .git/hooks/pre-commit\n@@\n+x",
        [Patched("a", "edit", "x"), Patched(".git/hooks/pre-commit", "write", "x")],
    ),
    ("blanks before a head hide nothing", "  \t*** Add File: .env\n+K=1", [Patched(".env", "write", "K=1")]),
    ("nor does a missing blank behind it", "*** Add File:.env\n+K=1", [Patched(".env", "write", "K=1")]),
    ("lines that end as on Windows", "*** Add File: .env\r\n+K=1\r\n", [Patched(".env", "write", "K=1\r")]),
    ("a vertical tab is part of a name", "*** Add File: a\v/../.env\n+x", [Patched("a\v/../.env", "write", "x")]),
    (
        "a unified diff",
        "--- a/x.py\t2024-01-01\n+++ b/x.py\t2024-01-01\n@@ -1 +1 @@\n-1\n+2\n",
        [Patched("x.py", "edit", "2", "1"), Patched("x.py", "edit", "2", "1")],
    ),
    ("a new file", "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+1", [Patched("x", "edit", "1")]),
    ("a file that goes", "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-1", [Patched("x", "delete", "", "1")]),
    (
        "a rename by git",
        "diff --git a/x b/y\nrename from x\nrename to .git/hooks/y\n",
        [Patched("x", "edit"), Patched(".git/hooks/y", "write")],
    ),
    ("a copy by git", "copy from x\ncopy to .env", [Patched("x", "edit"), Patched(".env", "write")]),
    ("a quoted name", '+++ "b/.git/hooks/\\160re-\\303\\251"\n+1', [Patched(".git/hooks/pre-é", "edit", "1")]),
    ("no patch", "hello\nworld", []),
    ("a head without a name", "*** Add File:\n+x", []),
]


@pytest.mark.parametrize(("note", "text", "want"), CASES, ids=[note for note, _, _ in CASES])
def test_patched(note: str, text: str, want: list[Patched]) -> None:
    assert list(patched(text)) == want, note


@given(st.text())
def test_nothing_raises(text: str) -> None:
    patched(text)
    patched(f'+++ "{text}"')
    patched(f"*** Add File: {text}")


@pytest.mark.parametrize("piece", ["+++ a\n", "*** Add File: a\n", "+\n", '+++ "\\1', "\n", "*** Add File: a\n+x\n"])
def test_time_grows_with_the_text_only(piece: str) -> None:
    assert grows_linearly(lambda size: patched(piece * (size // len(piece))), 30_000)
