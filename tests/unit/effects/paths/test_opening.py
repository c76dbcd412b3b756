"""A link that is put in the way after the check leads nowhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from interpose.effects.paths import FileSystem
from interpose.effects.paths.opening import open_resolved


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path.resolve()
    for name, text in {"secret/key": "secret", "work/a/b/file": "plain"}.items():
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def _read(path: str) -> str:
    with os.fdopen(open_resolved(path), encoding="utf-8") as file:
        return file.read()


def test_it_opens_what_was_judged(tree: Path) -> None:
    assert _read(f"{tree}/work/a/b/file") == "plain"


def _swap_file(tree: Path) -> None:
    (tree / "work/a/b/file").unlink()
    (tree / "work/a/b/file").symlink_to(tree / "secret/key")


def _swap_directory(tree: Path) -> None:
    (tree / "secret/file").write_text("secret", encoding="utf-8")
    (tree / "work/a/b").rename(tree / "work/a/old")
    (tree / "work/a/b").symlink_to(tree / "secret")


def _swap_top(tree: Path) -> None:
    (tree / "secret/a/b").mkdir(parents=True)
    (tree / "secret/a/b/file").write_text("secret", encoding="utf-8")
    (tree / "work").rename(tree / "old")
    (tree / "work").symlink_to(tree / "secret")


@pytest.mark.parametrize("swap", [_swap_file, _swap_directory, _swap_top])
def test_a_swap_after_the_check_fails(tree: Path, swap: Callable[[Path], None]) -> None:
    judged = FileSystem().spellings("a/b/file", cwd=f"{tree}/work", home="/home/dev").ends[-1]
    swap(tree)
    assert Path(judged).read_text(encoding="utf-8") == "secret", "without help, the swap works"
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        _read(judged)


def test_new_files_can_be_made(tree: Path) -> None:
    descriptor = open_resolved(f"{tree}/work/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.close(descriptor)
    assert (tree / "work/new").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("path", ["", "a", "/", "/a/../b", "/a/./b", "/a//b", "/a/"])
def test_only_resolved_paths(path: str) -> None:
    with pytest.raises(ValueError, match="not a resolved path"):
        open_resolved(path)


def test_no_descriptor_is_left_open(tree: Path) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        with pytest.raises(FileNotFoundError):
            open_resolved(f"{tree}/work/a/missing/x")
    assert len(list(Path("/dev/fd").iterdir())) == before
