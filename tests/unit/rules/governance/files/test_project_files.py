"""Looks at a project are bounded: by entries, by time, by its directory. What can't be looked at is not found."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.rules.governance.chains.prerequisites import FittingFile
from interpose.rules.governance.files.project_files import MOST_STATE_BYTES, WalkedFiles


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / "deep" / "er").mkdir(parents=True)
    (tmp_path / "project" / "deep" / "er" / "PLAN.md").write_text("x")
    (tmp_path / "outside.md").write_text("x")
    return tmp_path / "project"


def test_too_many_entries_are_not_found_with_a_reason(project: Path) -> None:
    for number in range(50):
        (project / f"a{number}").write_text("")
    look = WalkedFiles(entries=20).look(str(project))
    assert look.found("**/PLAN.md").problem == "the project has too many files to look through"
    assert WalkedFiles(entries=200).look(str(project)).found("**/PLAN.md").path == "deep/er/PLAN.md"


def test_all_that_is_asked_in_one_look_shares_its_bounds(project: Path) -> None:
    look = WalkedFiles(entries=8).look(str(project))
    found = [look.found("deep/er/PLAN.md").path for _ in range(5)]
    assert found[0] == "deep/er/PLAN.md"
    assert found[-1] == ""


def test_a_look_ends_in_time(project: Path) -> None:
    ticks = count()
    look = WalkedFiles(seconds=3, clock=lambda: float(next(ticks))).look(str(project))
    assert look.found("**/nothing").problem == "the project has too many files to look through"


def test_a_circle_of_links_ends(project: Path) -> None:
    (project / "deep" / "round").symlink_to(project)
    (project / "self").symlink_to(project / "self")
    look = WalkedFiles(entries=100).look(str(project))
    assert look.found("**/NOTHING") == FittingFile(), "all of it was looked through, and each directory once"
    assert look.found("deep/round/deep/round/deep/er/PLAN.md").path, "a link inside the project may be named"
    assert look.found("self").path == ""


@pytest.mark.parametrize(
    "pattern",
    ["../outside.md", "deep/../../outside.md", "/etc/passwd", "~/x", "deep\\er", "a\0b", "", "/", ".", "./."],
)
def test_what_is_no_glob_of_the_project_finds_nothing(project: Path, pattern: str) -> None:
    found = WalkedFiles().look(str(project)).found(pattern)
    assert (found.path, bool(found.problem)) == ("", True)


def test_a_link_out_of_the_project_is_not_followed(project: Path, tmp_path: Path) -> None:
    (project / "out").symlink_to(tmp_path)
    (project / "out.md").symlink_to(tmp_path / "outside.md")
    look = WalkedFiles().look(str(project))
    assert [look.found(pattern).path for pattern in ("out/outside.md", "out/*", "out.md", "**/outside.md")] == [""] * 4


def test_a_neighbour_whose_name_begins_alike_is_outside(project: Path, tmp_path: Path) -> None:
    (tmp_path / "project-2").mkdir()
    (tmp_path / "project-2" / "PLAN.md").write_text("x")
    (project / "near").symlink_to(tmp_path / "project-2")
    assert WalkedFiles().look(str(project)).found("near/PLAN.md").path == ""


@pytest.mark.parametrize("where", ["", "relative/place", "."])
def test_a_project_that_is_not_known_has_no_files(where: str) -> None:
    look = WalkedFiles().look(where)
    assert look.found("x").problem == look.state("x").problem == "the project's directory is not known"


STATES = [
    ("state.json", b'{"phase": 1}', {"phase": 1}, ""),
    ("state.json", b'\xef\xbb\xbf{"phase": 1}', {"phase": 1}, ""),
    ("state.yml", b"phase: 1\n", {"phase": 1}, ""),
    ("state", b"[1]", [1], ""),
    ("state.json", b'{"a": 1, "a": 2}', None, "it is no JSON"),
    ("state.json", b"\xff", None, "it is no JSON"),
    ("state.yaml", b"a: [", None, "not YAML"),
    ("state.yaml", b"\xff", None, "can't decode"),
    ("state.json", b"[" * 500 + b"]" * 500, None, "it is no JSON"),
    ("state.json", b" " * (MOST_STATE_BYTES + 1), None, "larger than"),
]


@pytest.mark.parametrize(("name", "text", "want", "why"), STATES, ids=[f"{s[0]} {s[1][:12]!r}" for s in STATES])
def test_state_files(project: Path, name: str, text: bytes, want: object, why: str) -> None:
    (project / name).write_bytes(text)
    content = WalkedFiles().look(str(project)).state(name)
    assert content.data == want
    assert why in content.problem
    assert bool(content.problem) is bool(why)


def test_a_state_file_that_is_no_file(project: Path) -> None:
    os.mkfifo(project / "pipe.json")
    look = WalkedFiles().look(str(project))
    assert "no regular file" in look.state("pipe.json").problem
    assert "no regular file" in look.state("deep").problem
    assert look.state("none.json").problem == "there is no such file"
    assert "leaves the project" in look.state("../x").problem


@settings(deadline=None)
@given(pattern=st.text(alphabet="*?a./PLANmd~\\\0 é", max_size=12))
def test_no_pattern_makes_it_fail(tmp_path_factory: pytest.TempPathFactory, pattern: str) -> None:
    place = tmp_path_factory.getbasetemp()
    found = WalkedFiles(entries=100).look(str(place)).found(pattern)
    assert not found.path or (place / found.path).exists()
