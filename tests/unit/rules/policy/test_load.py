"""Levels: the organisation's word stays, a project can only tighten, and attempts to loosen are recorded."""

from __future__ import annotations

import os
from errno import EACCES
from pathlib import Path
from typing import Any

import pytest

from interpose import Engine, ToolCall, create_interceptor_registry
from interpose.core.errors import PolicyError
from interpose.rules.policy.compiled import Policy
from interpose.rules.policy.interceptor import registrations
from interpose.rules.policy.load import RulePlace, RuleText, load, load_texts
from interpose.rules.policy.rules import Level

ORGANISATION, USER, PROJECT = Level.ORGANISATION, Level.USER, Level.PROJECT
DENY_RM = "{id: rm, on: {tools: [exec]}, when: 'command.exists(c, c.name == \"rm\")', action: deny}"
ASK_RM = DENY_RM.replace("deny", "ask")


def policy(*files: tuple[Level, str]) -> Policy:
    return load_texts(
        RuleText(f"{level}-{number}.yaml", f"version: 1\n{text}", level) for number, (level, text) in enumerate(files)
    )


def outcome(loaded: Policy, command: str = "rm x") -> str:
    registry = create_interceptor_registry()
    registry.swap(registrations(loaded))
    return Engine(registry).decide(ToolCall("exec", {"command": command})).outcome


@pytest.mark.parametrize(
    ("note", "level", "text", "want"),
    [
        ("the project disables", PROJECT, f"rules: [{DENY_RM[:-1]}, enabled: false}}]", "can't switch off"),
        ("the user disables", USER, f"rules: [{DENY_RM[:-1]}, enabled: false}}]", "can't switch off"),
        ("the project asks instead", PROJECT, f"rules: [{ASK_RM}]", "weaker"),
        ("the user asks instead", USER, f"rules: [{ASK_RM}]", "weaker"),
        ("the project only logs", PROJECT, f"rules: [{DENY_RM.replace('action: deny', 'action: log')}]", "weaker"),
        ("the project watches", PROJECT, f"rules: [{DENY_RM[:-1]}, mode: watch}}]", "watching"),
        (
            "the project chooses the judge",
            PROJECT,
            "judge: {provider: command, command: [x]}",
            "can't choose the judge",
        ),
        ("the project disables by name", PROJECT, "disable: [rm]", "can't switch off"),
        ("the user disables by name", USER, "disable: [rm]", "can't switch off"),
        (
            "the project answers",
            PROJECT,
            "rules: [{id: yes, when: 'true', action: allow, answers: {rules: [rm], scope: everywhere}}]",
            "can't answer questions",
        ),
        (
            "the project rewrites calls",
            PROJECT,
            "rules: [{id: mine, when: 'true', action: transform, rewrite: {command: '\"ls\"'}}]",
            "can't rewrite calls",
        ),
        (
            "the project redacts calls",
            PROJECT,
            "rules: [{id: mine, on: {point: tool.before}, when: 'true', action: redact, redact: {pattern: rm}}]",
            "can't rewrite calls",
        ),
        (
            "the project chooses who judges",
            PROJECT,
            "rules: [{id: mine, prompt: 'x?', action: deny, judge: {provider: openai}}]",
            "can't choose the judge",
        ),
    ],
)
def test_loosening_is_refused_and_recorded(note: str, level: Level, text: str, want: str) -> None:
    loaded = policy((ORGANISATION, f"rules: [{DENY_RM}]"), (level, text))
    assert outcome(loaded) == "deny", note
    assert [want in problem.message for problem in loaded.refused] == [True], f"{note}: {loaded.refused}"
    assert loaded.refused[0].file.startswith(level)


def test_an_attempt_to_loosen_is_a_finding_of_every_verdict() -> None:
    registry = create_interceptor_registry()
    registry.swap(registrations(policy((USER, f"rules: [{DENY_RM}]"), (PROJECT, "disable: [rm]"))))
    findings = Engine(registry).decide(ToolCall("exec", {"command": "ls"})).findings
    assert [(finding.said, finding.rule) for finding in findings] == [("note", "rm")]


@pytest.mark.parametrize(
    ("note", "lower"),
    [
        (
            "a rule of its own",
            "{id: ls, on: {tools: [exec]}, when: 'command.exists(c, c.name == \"ls\")', action: deny}",
        ),
        ("a stricter rule of the same id", "{id: rm, on: {tools: [exec]}, when: 'true', action: deny}"),
    ],
)
def test_a_project_may_tighten(note: str, lower: str) -> None:
    loaded = policy((USER, f"rules: [{ASK_RM}]"), (PROJECT, f"rules: [{lower}]"))
    assert not loaded.refused, note
    assert (outcome(loaded, "ls"), outcome(loaded, "rm x")) in (("deny", "ask"), ("deny", "deny")), note


@pytest.mark.parametrize(("level", "want"), [(ORGANISATION, "allow"), (USER, "allow")])
def test_a_level_may_switch_off_its_own_rules_and_those_below(level: Level, want: str) -> None:
    assert outcome(policy((level, f"rules: [{DENY_RM}]\ndisable: [rm]"))) == want
    assert outcome(policy((level, "disable: [rm]"), (USER, f"rules: [{DENY_RM}]"))) == want


def test_a_rule_that_a_lower_level_sharpens_redacts_twice() -> None:
    redacting = "rules: [{{id: hide, when: 'true', action: redact, redact: {{pattern: {}, replacement: '-'}}}}]"
    loaded = policy((ORGANISATION, redacting.format("alpha")), (USER, redacting.format("beta")))
    registry = create_interceptor_registry()
    registry.swap(registrations(loaded))
    assert Engine(registry).run_tool(ToolCall("thing"), lambda args: "alpha beta gamma") == "- - gamma"


def test_the_order_of_files_does_not_matter() -> None:
    files = ((PROJECT, f"rules: [{ASK_RM}]"), (USER, "disable: [rm]"), (ORGANISATION, f"rules: [{DENY_RM}]"))
    assert outcome(policy(*files)) == outcome(policy(*reversed(files))) == "deny"


def test_one_id_stands_once_in_a_level() -> None:
    with pytest.raises(PolicyError, match=r"user-1.yaml:2: rule 'rm': id: expected an id of its own"):
        policy((USER, f"rules: [{DENY_RM}]"), (USER, f"rules: [{DENY_RM}]"))


def test_the_revision_names_exactly_this_set() -> None:
    one, same, other = (policy((USER, f"rules: [{rule}]")) for rule in (DENY_RM, DENY_RM, ASK_RM))
    assert one.revision == same.revision != other.revision


def test_files_and_directories(tmp_path: Path) -> None:
    (tmp_path / "rules" / "deep").mkdir(parents=True)
    (tmp_path / "rules" / "a.yaml").write_text(f"version: 1\nrules: [{DENY_RM}]")
    (tmp_path / "rules" / "deep" / "b.yml").write_text("version: 1\nrules: [{id: b, when: 'true', action: log}]")
    (tmp_path / "rules" / "notes.txt").write_text("not a rule")
    loaded = load([RulePlace(str(tmp_path / "rules"))])
    assert [compiled.rule.id for compiled in loaded.rules] == ["rm", "b"]


def test_a_directory_that_cannot_be_looked_into_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rules would be gone without a word."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.yaml").write_text("version: 1\n")

    def scandir(path: Any) -> Any:
        if str(path).endswith("deep"):
            raise PermissionError(EACCES, "Permission denied", str(path))
        return real(path)

    real = os.scandir
    monkeypatch.setattr("os.scandir", scandir)
    with pytest.raises(PolicyError, match=r"deep:1: can't be read: Permission denied"):
        load([RulePlace(str(tmp_path), Level.ORGANISATION)])


def test_a_link_that_cannot_be_followed_is_an_error_and_one_to_nothing_is_none(tmp_path: Path) -> None:
    """Its rules would be gone, too. Seen to fail with `Path.is_file` of Python 3.14, which returns False here."""
    (tmp_path / "a.yaml").write_text(f"version: 1\nrules: [{DENY_RM}]")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "gone")
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    assert [compiled.rule.id for compiled in load([RulePlace(str(tmp_path))]).rules] == ["rm"]
    (tmp_path / "b.yaml").symlink_to(tmp_path / ("x" * 300))
    with pytest.raises(PolicyError, match=r"b.yaml:1: can't be read: File name too long"):
        load([RulePlace(str(tmp_path))])


def test_a_project_file_that_is_no_file_makes_nobody_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "policy.yaml")
    with pytest.raises(PolicyError, match=r"policy.yaml:1: can't be read: expected a regular file"):
        load([RulePlace(str(tmp_path / "policy.yaml"), PROJECT)])
    with pytest.raises(PolicyError, match="expected a regular file"):
        load([RulePlace("/dev/zero", PROJECT)])


def test_a_directory_in_the_place_of_a_project_file_is_not_walked(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("version: 1\n")
    (tmp_path / "policy.yaml").symlink_to(tmp_path)
    with pytest.raises(PolicyError, match=r"policy.yaml:1: can't be read: Is a directory"):
        load([RulePlace(str(tmp_path / "policy.yaml"), PROJECT)])


def test_what_projects_say_is_bounded_by_all_of_it_together(tmp_path: Path) -> None:
    for name, length in (("a", 60_000), ("b", 60_000), ("c", 100_001)):
        (tmp_path / name).write_text("version: 1\n".ljust(length, "#"))
    load([RulePlace(str(tmp_path / "a"), PROJECT), RulePlace(str(tmp_path / "b"), USER)])
    with pytest.raises(PolicyError, match=r"b:1: all rules of projects that hold here are longer than 100000"):
        load([RulePlace(str(tmp_path / "a"), PROJECT), RulePlace(str(tmp_path / "b"), PROJECT)])
    with pytest.raises(PolicyError, match=r"c:1: the file is larger than 100000 bytes"):
        load([RulePlace(str(tmp_path / "c"), PROJECT)])


def test_a_file_is_read_as_far_as_it_may_be_long() -> None:
    with pytest.raises(PolicyError, match="the file is larger than 4000000 bytes"):
        load([RulePlace("/dev/zero", USER)])


@pytest.mark.parametrize(
    ("note", "data"),
    [("not there", None), ("not UTF-8", b"\xff\xfe\x00")],
)
def test_a_file_that_cannot_be_read_is_an_error(note: str, data: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(PolicyError, match=r"policy.yaml:1: "):
        load([RulePlace(str(file))])
