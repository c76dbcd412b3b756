"""What somebody probably meant: near words are offered, far ones are not, and a long one costs nothing."""

from __future__ import annotations

import pytest

from interpose.core.formats.counted import plural
from interpose.doors.cli.explaining.suggestions import did_you_mean, nearest, unknown

VERBS = ["install", "uninstall", "audit", "approvals", "check"]


@pytest.mark.parametrize(
    ("note", "word", "known", "want"),
    [
        ("a letter is missing", "instal", VERBS, "install"),
        ("two letters changed places", "adiut", VERBS, "audit"),
        ("the beginning is enough if only one begins so", "appr", VERBS, "approvals"),
        ("capitals do not matter", "Install", VERBS, "install"),
        ("an option", "--josn", ["--json", "--jsonl", "--help"], "--json"),
        ("a decision", "dney", ["allow", "ask", "deny", "rewrite"], "deny"),
        ("nothing comes near", "frobnicate", VERBS, ""),
        ("no word", "", VERBS, ""),
        ("nothing is known", "install", [], ""),
        ("a word longer than any is not even compared", "install" * 100_000, VERBS, ""),
    ],
)
def test_the_nearest_word(note: str, word: str, known: list[str], want: str) -> None:
    assert nearest(word, known) == want, note


def test_nothing_is_offered_if_nothing_is_near() -> None:
    assert did_you_mean("frobnicate", VERBS) == ""
    assert did_you_mean("instal", VERBS) == " Did you mean install?"


def test_one_line_says_what_is_wrong_and_what_is_known() -> None:
    said = unknown("decision", "dney", ["allow", "deny"])
    assert said == "there is no decision 'dney'. Did you mean deny? Known are allow, deny."
    assert unknown("decision", "x", ["allow"]) == "there is no decision 'x'. Known is allow."


def test_a_hostile_word_is_shown_harmless_and_short() -> None:
    said = unknown("agent", "\x1b[2J\n" + "a" * 10_000, ["claude-code"])
    assert "\x1b" not in said
    assert "\n" not in said
    assert len(said) < 200


@pytest.mark.parametrize(
    ("count", "words", "want"),
    [
        (0, ("rule",), "0 rules"),
        (1, ("rule",), "1 rule"),
        (2, ("rule",), "2 rules"),
        (1, ("entry", "entries"), "1 entry"),
        (12_000, ("entry", "entries"), "12,000 entries"),
    ],
)
def test_a_count_has_the_word_that_fits(count: int, words: tuple[str, ...], want: str) -> None:
    assert plural(count, *words) == want
