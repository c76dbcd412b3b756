"""Where paths lead on a real file system, and that nothing on the way raises."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from interpose.effects.paths import FileSystem, Lexical, Spellings
from interpose.effects.paths.lookup import MAX_LINKS, MAX_TEXT

HOME = "/home/dev"


def _look(text: str, cwd: Path | str, *, workspace: str = "", home: str = HOME) -> Spellings:
    return FileSystem(ignores_case=False).spellings(text, cwd=str(cwd), home=home, workspace=workspace)


def test_a_plain_path_has_one_spelling(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x", encoding="utf-8")
    assert _look("a", tmp_path) == Spellings((f"{tmp_path}/a",), ends=(f"{tmp_path}/a",), is_direct=True)


def test_links_are_followed_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to(tmp_path / "c")
    found = _look("a", tmp_path)
    assert found.paths == (f"{tmp_path}/a", f"{tmp_path}/b", f"{tmp_path}/c")
    assert found.ends == (f"{tmp_path}/c",)


def test_what_does_not_exist_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real").mkdir()
    assert _look("link/a/b/c", tmp_path).ends == (f"{tmp_path}/real/a/b/c",)


def test_a_file_is_no_directory_and_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x", encoding="utf-8")
    assert _look("a/b/c", tmp_path).trouble is None


def test_dots_after_a_link_are_read_both_ways(tmp_path: Path) -> None:
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to("far/deep")
    found = _look("link/../x", tmp_path)
    assert {f"{tmp_path}/x", f"{tmp_path}/far/x"} <= set(found.paths)


@pytest.mark.parametrize("count", [1, 2, MAX_LINKS + 5])
def test_circles_and_endless_chains_are_hopeless(tmp_path: Path, count: int) -> None:
    for index in range(count):
        (tmp_path / f"l{index}").symlink_to(f"l{(index + 1) % count}")
    found = _look("l0", tmp_path)
    assert found.trouble is not None
    assert found.trouble.hopeless


def test_as_many_links_as_the_system_follows(tmp_path: Path) -> None:
    for index in range(MAX_LINKS):
        (tmp_path / f"l{index}").symlink_to(f"l{index + 1}")
    found = _look("l0", tmp_path)
    assert found.trouble is None
    assert found.ends == (f"{tmp_path}/l{MAX_LINKS}",)


def test_links_that_grow_are_stopped(tmp_path: Path) -> None:
    """Each link names the next one many times: followed to the end, the parts would double each time."""
    for index in range(30):
        (tmp_path / f"l{index}").symlink_to("/".join([f"l{index + 1}/.."] * 200))
    assert _look("l0", tmp_path).trouble is not None


ERRORS = [
    (errno.EACCES, False), (errno.EPERM, False), (errno.EIO, False), (errno.ELOOP, True), (errno.ENAMETOOLONG, True),
]  # fmt: skip


@pytest.mark.parametrize(("number", "hopeless"), ERRORS, ids=[errno.errorcode[number] for number, _ in ERRORS])
@pytest.mark.parametrize("call", ["lstat", "readlink"])
def test_what_cannot_be_looked_at_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, hopeless: bool
) -> None:
    (tmp_path / "a").symlink_to("b")
    real = getattr(os, call)

    def failing(path: str, **options: object) -> object:  # others call it meanwhile, `shutil` with a `dir_fd`
        if path.endswith("/a"):
            raise OSError(number, os.strerror(number), path)
        return real(path, **options)

    monkeypatch.setattr(os, call, failing)
    trouble = _look("a", tmp_path).trouble
    assert trouble is not None
    assert trouble.hopeless is hopeless


@pytest.mark.parametrize("text", ["a\0b", "a\udc80", "a" * (MAX_TEXT + 1)])
def test_what_no_system_opens(text: str) -> None:
    for lookup in (Lexical(), FileSystem()):
        trouble = lookup.spellings(text, cwd="/w", home=HOME).trouble
        assert trouble is not None
        assert trouble.hopeless


@pytest.mark.parametrize("cwd", ["", "relative", "/a\0b", "/a\udc80", "/" + "x/" * 5_000, "C:/x"])
def test_a_strange_directory_never_raises(cwd: str) -> None:
    _look("a", cwd)
    _look("*", cwd, workspace=cwd, home=cwd)
    _look("../x y", cwd, workspace=cwd, home=cwd)


def test_a_name_that_is_no_utf8_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(os.fsdecode(b"/etc/\xff"))
    assert any("/etc/" in path for path in _look("a", tmp_path).paths)


def test_a_hard_link_is_recognised(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_rsa").write_text("x", encoding="utf-8")
    (tmp_path / "a").hardlink_to(home / ".ssh" / "id_rsa")
    assert f"{home}/.ssh/id_rsa" in _look("a", tmp_path, home=str(home)).paths


def test_patterns_are_expanded(tmp_path: Path) -> None:
    for name in ("a1", "a2", "b1"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    found = _look("a?", tmp_path).paths
    assert {f"{tmp_path}/a1", f"{tmp_path}/a2"} <= set(found)
    assert f"{tmp_path}/b1" not in found


def test_a_workspace_that_is_a_link_keeps_its_name(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "work").symlink_to("real")
    work = f"{tmp_path}/work"
    assert _look("a", work, workspace=work).ends == (f"{work}/a",)


def test_case(tmp_path: Path) -> None:
    work = f"{tmp_path}/Work"
    found = FileSystem(ignores_case=True).spellings(f"{tmp_path}/wORK/A", cwd="/x", home=HOME, workspace=work)
    assert found.ends == (f"{work}/a",)
    found = FileSystem(ignores_case=True).spellings("/LIBRARY/x", cwd="/x", home=HOME)
    assert "/Library/x" in found.paths


def test_nothing_is_remembered(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    assert _look("a", tmp_path).ends == (f"{tmp_path}/b",)
    (tmp_path / "a").unlink()
    (tmp_path / "a").symlink_to("c")
    assert _look("a", tmp_path).ends == (f"{tmp_path}/c",)


def test_content_of_what_is_no_small_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\xfex")
    os.mkfifo(tmp_path / "pipe")
    lookup = FileSystem()
    assert lookup.content(f"{tmp_path}/a").endswith("x")
    assert [lookup.content(path) for path in (f"{tmp_path}/pipe", str(tmp_path), "/missing", "a\0b")] == [""] * 4
    assert Lexical().content(f"{tmp_path}/a") == ""
