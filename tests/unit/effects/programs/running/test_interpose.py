"""What an agent may run of our command line: judged from the table of verbs, in the old spelling as in today's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from interpose.effects.ourselves.command_line import OLD, ROWS, VERBS, OwnVerb, spelled_now, verb_of
from interpose.rules.guards.command_safety_guard import CommandSafetyGuard
from tests.support.case_files import read_cases
from tests.support.noted import noted

CWD, HOME = "/workspace/project", "/home/dev"
CASES = read_cases(Path(__file__).parents[4] / "cases" / "shell" / "running" / "interpose.yaml")
_OLD = re.compile(rf"(?<![\w-])interpose ({'|'.join(OLD)})(?![\w-])")
_NEW = {" ".join(now): old for old, now in OLD.items()}
_RESPELLED = re.compile(rf"(?<![\w-])interpose ({'|'.join(_NEW)})(?![\w-])")


@pytest.fixture(scope="module")
def guard() -> CommandSafetyGuard:
    return CommandSafetyGuard(home=HOME)


def decided(guard: CommandSafetyGuard, command: str) -> tuple[str, str, str]:
    judgement = guard.judge(command, CWD, HOME, CWD)
    return judgement.decision, judgement.rule, judgement.reason


def other_spelling(command: str) -> str:
    if _RESPELLED.search(command):
        return _RESPELLED.sub(lambda found: f"interpose {_NEW[found[1]]}", command)
    return _OLD.sub(lambda found: f"interpose {' '.join(OLD[found[1]])}", command)


SPELLED_TWICE = [row for row in CASES if other_spelling(row["command"]) != row["command"]]


@pytest.mark.parametrize("row", noted((row["note"], (row,)) for row in SPELLED_TWICE))
def test_both_spellings_are_judged_alike(row: dict[str, Any], guard: CommandSafetyGuard) -> None:
    assert len(SPELLED_TWICE) > 30
    assert decided(guard, row["command"]) == decided(guard, other_spelling(row["command"]))


SUBCOMMANDS = [(row, word) for row in ROWS for word in sorted(row.for_agents | row.for_people)]


@pytest.mark.parametrize(("row", "word"), SUBCOMMANDS, ids=lambda each: each if isinstance(each, str) else each.name)
def test_a_subcommand_is_judged_as_the_table_says(row: OwnVerb, word: str, guard: CommandSafetyGuard) -> None:
    want = "allow" if word in row.for_agents else "deny"
    for spelling in {row.name, row.old or row.name}:
        assert decided(guard, f"interpose {spelling} {word}")[0] == want


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_no_row_says_is_not_for_agents(row: OwnVerb, guard: CommandSafetyGuard) -> None:
    """INVARIANT: a word that is not known is taken for one that changes something."""
    if row.judged in ("acts", "value", "changes"):
        for spelling in {row.name, row.old or row.name}:
            for rest in ("frobnicate", "$WORD", '"$(cat word)"'):
                assert decided(guard, f"interpose {spelling} {rest}")[0] == "deny"


@pytest.mark.parametrize("row", [row for row in ROWS if row.alone], ids=lambda row: row.name)
def test_alone_is_judged_as_what_it_means(row: OwnVerb, guard: CommandSafetyGuard) -> None:
    alone, spelled_out = (decided(guard, f"interpose {words}")[0] for words in (row.name, f"{row.name} {row.alone}"))
    assert alone == spelled_out


@pytest.mark.parametrize(
    "command",
    [
        "interpose approvals --serv grants list approve K3M9",
        "interpose approvals --serv list pause 10m",
        "interpose mcp --config pins list approve github",
        "interpose 'approvals pause' list 10m",
        "interpose approvals $GROUP list",
        "interpose $VERB list",
        "interpose approvals pause list 10m",
        "interpose mcp pins --serv list approve github",
    ],
)
def test_no_words_between_hide_what_is_run(command: str, guard: CommandSafetyGuard) -> None:
    assert decided(guard, command)[0] == "deny"


@pytest.mark.parametrize(
    ("words", "verb"),
    [
        (["approvals", "grants", "revoke"], "approvals grants"),
        (["grants", "revoke"], "approvals grants"),
        (["approvals", "--json", "grants"], "approvals"),
        (["explain", "ls"], "check"),
        (["approvals grants"], None),
        ([], None),
    ],
)
def test_the_first_two_words_say_which_verb_it_is(words: list[str], verb: str | None) -> None:
    assert verb_of(spelled_now(words)) is (None if verb is None else VERBS[verb])
