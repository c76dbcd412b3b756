"""Bugs of the original that are about chains of commands: the behaviour that it should have had, by their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from interpose.core.types import Command, Context, ToolCall
from interpose.rules.governance.chains.chains import call_chain_rulings, chain_rulings
from interpose.rules.governance.files.file_model import ChainsForm, GovernanceForm
from interpose.rules.governance.files.project_files import WalkedFiles
from tests.cases.test_chain_cases import planted, ready

IDUMB = ready("idumb-chains")


def said(project: Path, name: str, arguments: str = "", chains: ChainsForm = IDUMB) -> list[tuple[str, str]]:
    rulings = chain_rulings(chains, Command(name, arguments), str(project), None, 0, WalkedFiles())
    return [(ruling.said, ruling.rule.rpartition("/")[2]) for ruling in rulings]


def test_bug_8_the_wildcard_of_the_first_rule_shadows_no_other(tmp_path: Path) -> None:
    """First match with INIT-01's `idumb:*` in front made every other rule unreachable."""
    assert ("deny", "PROJ-01") in said(tmp_path, "idumb:roadmap")
    planted(tmp_path, {".idumb/brain/state.json": "{}"})
    assert said(tmp_path, "idumb:roadmap") == [("deny", "PROJ-01")]
    assert said(tmp_path, "idumb:discuss-phase") == [("deny", "PROJ-02")]
    assert said(tmp_path, "idumb:execute-phase", "1") == [("deny", "PHASE-01"), ("note", "PHASE-02")]
    assert said(tmp_path, "idumb:verify-work") == [("deny", "PHASE-03")]


def test_bug_8_a_glob_in_a_path_is_a_glob(tmp_path: Path) -> None:
    """`*PLAN.md` was tested as a literal name, and could never be there."""
    planted(tmp_path, {".idumb/brain/state.json": "{}", ".planning/phases/02/02-03-PLAN.md": "", "*PLAN.md": ""})
    assert said(tmp_path, "idumb:execute-phase", "2") == [("note", "PHASE-02")]
    assert said(tmp_path, "idumb:execute-phase", "3") == [("deny", "PHASE-01"), ("note", "PHASE-02")]


@pytest.mark.parametrize("said", [{"phase": "complete"}, {"key": "phase", "value": "complete"}])
def test_bug_8_val_01_holds_back_what_it_was_meant_for(said: dict[str, str], tmp_path: Path) -> None:
    """Its `state.phase = 'complete'` stood where a command stands and matched none. It is about setting the state."""
    planted(tmp_path, {".idumb/brain/state.json": '{"phase": "02"}'})
    call = ToolCall("idumb-state_write", said, context=Context(cwd=str(tmp_path)))

    def words() -> list[str]:
        return [
            one.said for one in call_chain_rulings(IDUMB, call, str(tmp_path), None, 0, WalkedFiles(), home="/home/dev")
        ]

    assert words() == ["deny"]
    planted(tmp_path, {".planning/phases/02/02-VERIFICATION.md": ""})
    assert words() == []


@pytest.mark.parametrize("name", ["idumb:status", "/idumb:status", "idumb:help", "/idumb:help", "idumb:init"])
def test_bug_8_exceptions_and_read_only_commands_need_no_slash(tmp_path: Path, name: str) -> None:
    """The lists had slashes, and the hook gave names without."""
    assert said(tmp_path, name) == []


@pytest.mark.parametrize("words", ["--emergency", "--bypass-chain", "--force", "x --force-push --emergency=1"])
def test_bug_9_no_word_in_a_command_bypasses_its_rules(tmp_path: Path, words: str) -> None:
    """They were looked for anywhere in the arguments, which the agent itself writes."""
    assert said(tmp_path, "idumb:roadmap", words) == said(tmp_path, "idumb:roadmap")
    assert said(tmp_path, "idumb:roadmap", words)[0][0] == "deny"


def test_bug_9_what_must_stop_stops_and_what_only_warns_says_so(tmp_path: Path) -> None:
    """A rule with `warn` and `continue: false` ended in ALLOWED. Here one word says it, and the other is no key."""
    form: dict[str, Any] = {"id": "A", "command": "x", "must_before": [{"exists": "BUILD"}]}
    for action, want in (("block", "deny"), ("redirect", "deny"), ("warn", "note")):
        chains = msgspec.convert({"rules": [form | {"action": action, "target": "/y"}]}, ChainsForm)
        assert said(tmp_path, "x", chains=chains) == [(want, "A")]
    with pytest.raises(msgspec.ValidationError, match="continue"):
        msgspec.convert(
            {"version": 1, "chains": {"rules": [form | {"action": "warn", "continue": False}]}}, GovernanceForm
        )
