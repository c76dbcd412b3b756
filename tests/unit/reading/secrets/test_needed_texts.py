"""What a pattern needs is in every match of it: else a secret would go unseen before anybody looks for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpose.reading.secrets.patterns import Gate, Pattern
from interpose.reading.secrets.scanner import Scanner, scanner
from tests.unit.reading.secrets.needed_texts import needed_in, written

GATES = [finder.gate for _, finders in vars(Scanner())["_rooms"] for finder in finders]

READ = [
    ("letters at the beginning", r"\b(?P<secret>sk-ant-api[0-9]{2}-)", (b"sk-ant-api",)),
    ("escaped letters are letters", r"ya29\.[0-9]{30}", (b"ya29.",)),
    ("an escape that stands for many is none", r"ab\d+cde", (b"cde",)),
    ("the end of a word is no letter", r"\bNRAL\b", (b"nral",)),
    ("the longest run", r"[0-9]ab[0-9]cdef[0-9]gh", (b"cdef",)),
    ("what may be missing is not needed", r"abc?[0-9]", (b"ab",)),
    ("nor what may be there no times", r"a[0-9]b*", (b"a",)),
    ("nor a group that may be missing", r"a[0-9](?:bcd)?", (b"a",)),
    ("what is repeated is there as often as it must", r"[0-9]A{19,}", (b"a" * 19,)),
    ("after a repetition a new run begins", r"xA+bcd", (b"bcd",)),
    ("one of a choice", r"(?:AKIA|ASIA)[0-9]", (b"akia", b"asia")),
    ("a choice of which one has no letters", r"(?:AKIA|[0-9])x", (b"x",)),
    ("alternatives of the whole", r"abc[0-9]|def", (b"abc", b"def")),
    ("an alternative without letters", r"abc|[0-9]", ()),
    ("alternatives after letters that look like a beginning", r"\b(?P<secret>abc[0-9]|[0-9])", ()),
    ("a bar in a class is a letter", r"(?P<secret>abc[|][0-9])", (b"abc",)),
    ("a bracket in a class", r"[)\]|(]abc", (b"abc",)),
    ("case does not matter", r"(?i)abC[0-9]", (b"abc",)),
    ("nor in a part", r"(?i:nrak-[0-9a-z]{27})", (b"nrak-",)),
    ("any letter is none", r"..[0-9]", ()),
    ("a group that may be missing at the beginning", r"(?P<secret>abc[0-9])?x", (b"x",)),
]


@pytest.mark.parametrize(("pattern", "want"), [(p, w) for _, p, w in READ], ids=[note for note, _, _ in READ])
def test_what_is_needed(pattern: str, want: tuple[bytes, ...]) -> None:
    assert needed_in(pattern) == want


@pytest.mark.parametrize("gate", GATES)
def test_every_match_has_what_it_needs(gate: str) -> None:
    needed = needed_in(gate)
    python = re.compile(gate.replace(r"\z", r"\Z").encode("latin-1"))

    @settings(max_examples=5, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(python))
    def holds(text: bytes) -> None:
        found = Pattern(gate).first(text, 0)
        if found is not None and needed:  # the engines differ in what a word is, and a match is what ours says
            match = text[slice(*found)].lower()
            assert any(one in match for one in needed), (needed, match)

    holds()


def test_the_table_is_what_the_patterns_say() -> None:
    """After a change to the patterns: python -m tests.unit.reading.secrets.needed_texts"""
    from interpose.reading.secrets.kinds import needed

    assert Path(needed.__file__).read_text(encoding="utf-8") == written()


def test_most_gates_need_something() -> None:
    """Else nothing is gained."""
    assert sum(not needed_in(gate) for gate in GATES) <= 3


TEXTS = [
    b"git status && npm test -- --watch=false",
    b"export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzkey1",
    b"curl -u admin:hunter2 https://user:pw@example.org/?token=abcdefgh",
    b"-----BEGIN RSA PRIVATE KEY-----",
    b"ghp_" + b"a1B2" * 9 + b" AKIA" + b"A1B2C3D4" * 2,
    bytes(range(256)),
    b"",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_gate_that_looks_says_what_one_that_is_compiled_says(text: bytes) -> None:
    needed = [needed_in(gate) for gate in GATES]
    looking, compiled = Gate(GATES, needed), Gate(GATES, needed)
    compiled.hits(b"x" * (1 << 17))
    assert vars(compiled)["_set"] is not None
    assert list(looking.hits(text)) == list(compiled.hits(text))


def test_a_short_text_compiles_no_gate() -> None:
    made = Scanner()
    assert made.find(TEXTS[0]) == []
    assert all(vars(gate)["_set"] is None for gate, _ in vars(made)["_rooms"])
    assert scanner() is scanner()
