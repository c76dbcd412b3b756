"""Chain rules over small projects: what passes, what is noted, what is refused, and what is said about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from interpose.core.carried_calls import canonical
from interpose.core.formats.yaml_text import read_yaml
from interpose.core.types import Command, Context, ToolCall
from interpose.rules.governance.budgets.durations import NANOSECONDS
from interpose.rules.governance.chains.chains import PREFIX, call_chain_rulings, chain_problems, chain_rulings
from interpose.rules.governance.files.file_model import ChainsForm, GovernanceForm
from interpose.rules.governance.files.project_files import WalkedFiles
from interpose.rules.governance.rulings import Ruling
from interpose.rules.governance.sessions.sessions import GovernedSession, Validation
from tests.support.case_files import read_cases

PLACE = Path(__file__).parent / "governance" / "chains.yaml"
READY = Path(__file__).parents[2] / "src" / "interpose" / "rules" / "governance" / "files" / "ready"
NOW = 1_800_000_000 * NANOSECONDS


def cases() -> list[Any]:
    data = read_cases(PLACE)
    return [pytest.param(case, id=case["note"]) for case in data["cases"]]


def ready(name: str) -> ChainsForm:
    text = (READY / f"{name}.yaml").read_text(encoding="utf-8")
    return msgspec.convert(read_yaml(text).data, GovernanceForm).chains


def chains_of(case: dict[str, Any]) -> ChainsForm:
    if "ready" in case:
        return ready(case["ready"])
    given = {name: case[name] for name in ("rules", "read_only", "state_file", "state_tools", "phase") if name in case}
    return msgspec.convert(given, ChainsForm)


def planted(project: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            path.symlink_to(text[2:].strip())
        else:
            path.write_text(text, encoding="utf-8")


def session_of(case: dict[str, Any]) -> GovernedSession | None:
    if "validated" not in case:
        return None
    done = tuple(Validation(name, NOW - ago * NANOSECONDS) for name, ago in case["validated"].items())
    return GovernedSession(id="s", validations=done)


def rulings_of(case: dict[str, Any], project: Path) -> tuple[Ruling, ...]:
    chains, session, files = chains_of(case), session_of(case), WalkedFiles()
    context = Context(cwd=str(project))
    if "call" in case:
        call = canonical(ToolCall(case["call"]["name"], case["call"]["arguments"], context=context))
        return call_chain_rulings(chains, call, str(project), session, NOW, files, home="/home/dev")
    command = Command(case["command"], case.get("arguments", ""), context)
    return chain_rulings(chains, command, str(project), session, NOW, files)


@pytest.mark.parametrize("case", cases())
def test_chains(case: dict[str, Any], tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    planted(project, case.get("project", {}))
    rulings = rulings_of(case, project)
    assert (rulings[0].said if rulings else "pass") == case["want"], rulings
    assert all(ruling.said in ("deny", "note") for ruling in rulings)
    if "rules_said" in case:
        assert [ruling.rule.removeprefix(PREFIX) for ruling in rulings] == case["rules_said"]
    if "says" in case:
        assert case["says"] in rulings[0].reason
    if "instead" in case:
        assert case["instead"] in rulings[0].instead


def test_the_ready_file_has_nothing_wrong_with_it() -> None:
    chains = ready("idumb-chains")
    assert chain_problems(chains) == ()
    assert [rule.id for rule in chains.rules] == [
        "INIT-01", "PROJ-01", "PROJ-02", "PHASE-01", "PHASE-02", "PHASE-03", "VAL-01", "VAL-02",
    ]  # fmt: skip
