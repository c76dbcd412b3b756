"""The commit that a directory is at, read from git's files. Nothing is run: a repository's hooks and settings are the
agent's."""

from __future__ import annotations

import posixpath
from pathlib import Path

from interpose.core.formats.whole_files import read_bounded

_HIGHEST = 40
_FEW = 4096
_PACKED = 4 << 20


def git_head(directory: str) -> str:
    """The commit in hex; empty if there is none to be read."""
    if not directory.startswith("/"):
        return ""
    place = Path(posixpath.normpath(directory))
    for folder in (place, *place.parents)[:_HIGHEST]:
        if (found := _git_directory(folder / ".git")) is not None:
            return _head(found)
    return ""


def _git_directory(dot_git: Path) -> Path | None:
    """The directory itself, or the one that a worktree's file names."""
    told = _read(dot_git, _FEW)
    if told.startswith("gitdir: "):
        return dot_git.parent / told.removeprefix("gitdir: ")
    return dot_git if _read(dot_git / "HEAD", _FEW) else None


def _head(git: Path) -> str:
    head = _read(git / "HEAD", _FEW)
    name = head.removeprefix("ref: ")
    if name == head:
        return _hex(head)
    if not name.startswith("refs/") or ".." in name or "\0" in name:
        return ""
    common = git / (_read(git / "commondir", _FEW) or ".")
    for place in (git, common):
        if found := _hex(_read(place / name, _FEW)):
            return found
    packed = (line.partition(" ") for line in _read(common / "packed-refs", _PACKED).splitlines())
    return next((_hex(commit) for commit, _, ref in packed if ref == name), "")


def _read(path: Path, most: int) -> str:
    """INVARIANT: whatever stands in these files, nothing of it is shown but a commit in hex."""
    data = read_bounded(path, most)
    return "" if data is None else data.decode("utf-8", "replace").strip()


def _hex(text: str) -> str:
    return text if len(text) in (40, 64) and all(letter in "0123456789abcdef" for letter in text) else ""
