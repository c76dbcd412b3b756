"""Scopes on a real disk, beyond what the cases say (tests/cases/governance/scopes.yaml)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from interpose.core.carried_calls import canonical
from interpose.core.types import Context, ToolCall
from interpose.effects.paths import FileSystem
from interpose.rules.governance.files.load import load_rulebook
from interpose.rules.governance.files.project_root import project_root
from interpose.rules.governance.files.rulebook import Seat
from interpose.rules.governance.roles.scopes import scope_rulings
from interpose.rules.governance.rulings import Ruling

BOOK = load_rulebook(
    """\
version: 1
scopes:
  META: {paths: [.claude/**]}
  PROJECT: {paths: ["**"], others: [META]}
  DOCS: {paths: [docs/**]}
  MARKS: {paths: ["**"], outside: ["**/*.md"]}
roles:
  worker: {write: [PROJECT]}
  docs: {write: [DOCS], instead: Write in docs.}
  marks: {write: [MARKS]}
""",
    "governance.yaml",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "home" / "proj"
    (place / ".git").mkdir(parents=True)
    (place / ".claude").mkdir()
    (place / ".claude" / "settings.json").write_text("{}")
    return place


def said(role: str, tool: str, arguments: Mapping[str, object], cwd: Path, **more: object) -> tuple[Ruling, ...]:
    call = canonical(ToolCall(tool, dict(arguments), context=Context(cwd=str(cwd))))
    seat = Seat(book=BOOK, role=BOOK.roles[role])
    home = next(at for at in (cwd, *cwd.parents) if at.name == "home")
    return scope_rulings(seat, call, str(home), **more)  # type: ignore[arg-type]  # project and lookup


def test_a_refusal_has_three_parts(project: Path) -> None:
    (ruling,) = said("docs", "Write", {"file_path": "src/a.py", "content": "x"}, project)
    assert (ruling.said, ruling.rule) == ("deny", "governance/scope")
    assert ruling.reason == "This agent may not write src/a.py"
    assert ruling.instead == "Write in docs."
    assert ruling.evidence == "governance.yaml:9: roles.docs.write is DOCS; src/a.py lies in PROJECT and MARKS"


def test_several_files_are_counted(project: Path) -> None:
    (ruling,) = said("docs", "Bash", {"command": "touch a b c"}, project)
    assert ruling.reason.endswith("may not write a and 2 more")


def test_globs_are_relative_to_the_projects_directory(project: Path) -> None:
    below = project / "src" / "deep"
    below.mkdir(parents=True)
    assert project_root(str(below), "/home/dev") == str(project)
    assert said("docs", "Write", {"file_path": "../../docs/x", "content": "x"}, below) == ()
    assert said("docs", "Write", {"file_path": "docs/x", "content": "x"}, below), "docs of src/deep are other docs"


def test_a_project_that_is_given_counts(project: Path) -> None:
    """A session knows where it began: a repository that an agent made since then moves nothing."""
    inner = project / "src"
    (inner / ".git").mkdir(parents=True)
    write = {"file_path": "docs/x", "content": "x"}
    assert said("docs", "Write", write, inner) == ()
    assert said("docs", "Write", write, inner, project=str(project))


def test_what_is_kept_out_of_an_outer_project_stays_out(project: Path) -> None:
    plugin = project / ".claude" / "plugin"
    (plugin / ".git").mkdir(parents=True)
    assert said("worker", "Write", {"file_path": "x", "content": "x"}, plugin)


def test_a_directory_without_a_mark_is_its_own_project(tmp_path: Path) -> None:
    plain = tmp_path / "home" / "plain"
    plain.mkdir(parents=True)
    assert project_root(str(plain), str(tmp_path / "home")) == str(plain)
    assert said("worker", "Write", {"file_path": "x", "content": "x"}, plain) == ()
    assert said("worker", "Write", {"file_path": "../x", "content": "x"}, plain)


def test_a_project_among_temporary_files_is_a_project(project: Path) -> None:
    for path, is_refused in ((".claude/x", True), ("src/x", False)):
        call = canonical(ToolCall("Write", {"file_path": path, "content": "x"}, context=Context(cwd=str(project))))
        rulings = scope_rulings(Seat(book=BOOK, role=BOOK.roles["worker"]), call, "/home/dev")
        assert bool(rulings) is is_refused


def test_a_home_is_no_project(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".git").mkdir(parents=True)
    (home / "proj").mkdir()
    assert project_root(str(home / "proj"), str(home)) == str(home / "proj")


def test_a_project_behind_a_link_has_both_names(project: Path) -> None:
    link = project.parent / "link"
    link.symlink_to(project)
    for named in (f"{link}/src/x", f"{project}/src/x", "src/x"):
        assert said("worker", "Write", {"file_path": named, "content": "x"}, link) == (), named
    for named in (f"{link}/.claude/x", f"{project}/.claude/x", ".claude/x"):
        assert said("worker", "Write", {"file_path": named, "content": "x"}, link), named


def test_a_hard_link_is_the_file_itself(project: Path) -> None:
    (project / "copy").hardlink_to(project / ".claude" / "settings.json")
    (project / "settings.json").write_text("x")
    assert said("worker", "Bash", {"command": "ln .claude/settings.json other"}, project)


def test_links_in_a_circle_are_refused(project: Path) -> None:
    (project / "a").symlink_to("b")
    (project / "b").symlink_to("a")
    (ruling,) = said("worker", "Write", {"file_path": "a/x", "content": "x"}, project)
    assert "circle" in ruling.evidence


@pytest.mark.parametrize("path", ["a\0b", "x" * 20_000, "\ud800", "%2e%2e/x", "a/" * 300 + "x"])
def test_paths_that_no_honest_tool_writes_are_refused(path: str, project: Path) -> None:
    assert said("worker", "Write", {"file_path": path, "content": "x"}, project)


def test_on_a_disk_that_ignores_case_so_do_scopes(project: Path) -> None:
    folding = FileSystem(ignores_case=True)
    assert said("docs", "Write", {"file_path": "DOCS/x", "content": "x"}, project, lookup=folding) == ()
    assert said(
        "docs", "Write", {"file_path": "DOCS/x", "content": "x"}, project, lookup=FileSystem(ignores_case=False)
    )
    for lookup in (folding, FileSystem(ignores_case=False)):
        assert said("worker", "Write", {"file_path": ".Claude/x", "content": "x"}, project, lookup=lookup)


def test_of_what_is_deleted_only_what_is_there_counts(project: Path) -> None:
    build = project / "build"
    build.mkdir()
    (build / "a.o").write_text("x")
    assert said("marks", "Bash", {"command": "rm -rf build"}, project) == ()
    (build / "deep").mkdir()
    (build / "deep" / "README.MD").write_text("x")
    assert said("marks", "Bash", {"command": "rm -rf build"}, project)
    assert said("marks", "Bash", {"command": "rm -rf build/a.o"}, project) == ()


def test_a_directory_with_too_many_files_to_look_at_counts_as_touched(project: Path) -> None:
    build = project / "build"
    build.mkdir()
    for number in range(5_010):
        (build / str(number)).touch()
    assert said("marks", "Bash", {"command": "rm -rf build"}, project)
    assert said("worker", "Bash", {"command": "rm -rf build"}, project) == (), "it is looked at where META can be"


def test_scopes_that_stand_in_many_others_are_looked_at_once(project: Path) -> None:
    """Each further scope doubled the ways through them: a project's file could keep a server busy for ever."""
    names = [f"S{at}" for at in range(60)]
    scopes = "".join(
        f"  {name}: {{paths: ['**'], others: [{', '.join(names[at + 1 :])}]}}\n" for at, name in enumerate(names)
    )
    book = load_rulebook(f"version: 1\nscopes:\n{scopes}roles: {{r: {{write: [S0]}}}}\n", "governance.yaml", "project")
    call = canonical(ToolCall("Write", {"file_path": "x", "content": ""}, context=Context(cwd=str(project))))
    (ruling,) = scope_rulings(Seat(book=book, role=book.roles["r"]), call, str(project.parent))
    assert ruling.evidence.endswith("x lies in S59")


def test_without_a_directory_nothing_is_guessed() -> None:
    call = canonical(ToolCall("Write", {"file_path": "/etc/x", "content": "x"}, context=Context()))
    (ruling,) = scope_rulings(Seat(book=BOOK, role=BOOK.roles["worker"]), call, "/home/dev")
    assert ruling.said == "deny"
