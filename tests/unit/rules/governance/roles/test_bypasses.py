"""An operator's word: for which commands, in which session, and until when."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interpose.core.types import Command, Context, ToolCall
from interpose.rules.governance.budgets.durations import NANOSECONDS
from interpose.rules.governance.chains.chains import call_chain_rulings, chain_rulings
from interpose.rules.governance.files.file_model import ChainForm, ChainsForm, PrerequisiteForm
from interpose.rules.governance.files.project_files import WalkedFiles
from interpose.rules.governance.roles.bypasses import MOST_SECONDS, RULE, Bypass, bypassed

NOW = 1_800_000_000 * NANOSECONDS
WORD = Bypass(
    id="b1", command="ops:*", by="ada", reason="the release is late", given_ns=NOW, ends_ns=NOW + 600 * NANOSECONDS
)
CHAINS = ChainsForm(
    rules=(
        ChainForm(id="A", command="ops:*", must_before=(PrerequisiteForm(exists="BUILD"),)),
        ChainForm(id="B", becomes="phase == 'complete'", must_before=(PrerequisiteForm(exists="CHECKED"),)),
    ),
    state_file="state.json",
)

CASES: list[tuple[str, dict[str, Any], str, str, int, bool]] = [
    ("a command that it names", {}, "ops:deploy", "s", NOW, True),
    ("with a slash", {}, "/ops:deploy", "s", NOW, True),
    ("another command", {}, "deploy", "s", NOW, False),
    ("in other letters: what lifts a rule is read exactly", {}, "OPS:deploy", "s", NOW, False),
    ("to its last moment", {}, "ops:deploy", "s", NOW + 600 * NANOSECONDS - 1, True),
    ("and not after it", {}, "ops:deploy", "s", NOW + 600 * NANOSECONDS, False),
    ("and not before it", {}, "ops:deploy", "s", NOW - 1, False),
    ("in its session", {"session": "s"}, "ops:deploy", "s", NOW, True),
    ("and in no other", {"session": "s"}, "ops:deploy", "t", NOW, False),
    ("and in none that has no name", {"session": "s"}, "ops:deploy", "", NOW, False),
    ("for longer than any may be", {"ends_ns": NOW + (MOST_SECONDS + 1) * NANOSECONDS}, "ops:deploy", "s", NOW, False),
    ("everything", {"command": "*"}, "x", "s", NOW, True),
]


@pytest.mark.parametrize(("note", "changes", "command", "session", "now", "want"), CASES, ids=[one[0] for one in CASES])
def test_what_passes(note: str, changes: dict[str, Any], command: str, session: str, now: int, want: bool) -> None:
    word = replace(WORD, **changes)
    assert (bypassed([word], command, session, now) is word) is want, note


def test_it_turns_refusals_into_notes_that_say_whose_word_it_was(tmp_path: Any) -> None:
    rulings = chain_rulings(
        CHAINS, Command("ops:deploy"), str(tmp_path), None, NOW, WalkedFiles(), bypass_of=lambda _name: WORD
    )
    assert [ruling.said for ruling in rulings] == ["note", "note"]
    assert [ruling.rule for ruling in rulings] == [RULE, "governance/chain/A"]
    assert "ada lets ops:* pass until 2027-01-15 08:10:00 UTC: the release is late" in rulings[0].reason


def test_a_word_for_another_command_lifts_nothing(tmp_path: Any) -> None:
    def word_for(name: str) -> Bypass | None:
        return bypassed([WORD], name, "s", NOW)

    refused = chain_rulings(
        replace(CHAINS, rules=(replace(CHAINS.rules[0], command="*"),)), Command("deploy"), str(tmp_path), None, NOW,
        WalkedFiles(), bypass_of=word_for,
    )  # fmt: skip
    assert [ruling.said for ruling in refused] == ["deny"]


def test_nobody_is_asked_for_a_word_that_is_not_needed(tmp_path: Any) -> None:
    (tmp_path / "BUILD").write_text("")
    asked: list[str] = []

    def word_for(name: str) -> None:
        asked.append(name)

    assert chain_rulings(CHAINS, Command("ops:x"), str(tmp_path), None, NOW, WalkedFiles(), bypass_of=word_for) == ()
    assert asked == []


def test_a_rule_about_the_state_is_lifted_by_its_id(tmp_path: Any) -> None:
    call = ToolCall(
        "write", {"path": "state.json", "content": '{"phase": "complete"}'}, context=Context(cwd=str(tmp_path))
    )
    word = replace(WORD, command="B")
    for words, said in (([], ["deny"]), ([word], ["note", "note"])):

        def word_for(name: str, words: list[Bypass] = words) -> Bypass | None:
            return bypassed(words, name, "s", NOW)

        rulings = call_chain_rulings(
            CHAINS, call, str(tmp_path), None, NOW, WalkedFiles(), home="/home/dev", bypass_of=word_for
        )
        assert [ruling.said for ruling in rulings] == said
