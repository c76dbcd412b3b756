"""Where the files of a call lie, and whether they are part of a scope.

Two questions, each strict where it is used: `surely_in` for what a role may write, `could_be_in` for what is kept out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from interpose.governance.path_globs import DEEP, Parts, covers, is_wild_name, meets, parts_of
from interpose.governance.project_root import marked_above, project_root
from interpose.paths import UNKNOWN, FileSystem, Lookup
from interpose.reading import DEFAULT_CWD, starts_of

if TYPE_CHECKING:
    from interpose.governance.rulebook import Rulebook
    from interpose.governance.written_files import Written
    from interpose.types import ToolCall


_MOST_LOOKED = 5_000


class Spot(Struct, frozen=True):
    """One place that a path leads to. It may stand for several files: see path_globs."""

    parts: Parts
    is_wild: bool = False
    is_partly_known: bool = False
    """Only its directory is known."""
    is_there: bool = False
    """Only what is there already is changed, such as by deleting it."""
    trouble: str = ""

    @property
    def path(self) -> str:
        """The place as text, without what it has below it."""
        return "/" + "/".join(self.parts[:-1] if self.parts[-1:] == (DEEP,) else self.parts)


class Files(Struct, frozen=True, kw_only=True):
    """Where a call would run, and what its paths are relative to."""

    cwd: str
    home: str
    root: str
    roots: tuple[Parts, ...]
    """The project under each of its names: as it is called, and where it really is."""
    marked: tuple[Parts, ...]
    """The same, and all projects around it: what is outside of a scope is so from each of them. Or an agent that
    steps into a repository in a repository would leave what holds for the outer one."""
    starts: tuple[str, ...]
    lookup: Lookup
    folds: bool
    """Whether this machine's file names ignore case."""

    @staticmethod
    def of(call: ToolCall, home: str, project: str, lookup: Lookup) -> Files:
        """Those of one call."""
        cwd = call.context.cwd if call.context.cwd.startswith("/") else DEFAULT_CWD
        root = project or project_root(cwd, home)
        marked = (root, *marked_above(cwd, home), *marked_above(root, home))
        return Files(
            cwd=cwd, home=home, root=root, roots=_named([root]), marked=_named(marked), lookup=lookup,
            starts=tuple(dict.fromkeys((cwd, *starts_of(call, cwd, home)))),
            folds=isinstance(lookup, FileSystem) and lookup.ignores_case,
        )  # fmt: skip

    def spots(self, written: Written) -> Iterator[Spot]:
        """Every place that a path could lead to."""
        named, partly = written.named, UNKNOWN in written.named
        known = named.partition(UNKNOWN)[0].rpartition("/")[0] or "/" if partly else named
        is_tree = written.is_tree or partly
        for start in self.starts:
            found = self.lookup.spellings(known, cwd=start, home=self.home, workspace=self.root)
            if found.trouble is not None:
                yield Spot((), trouble=found.trouble.reason)
            for path in found.paths:
                if path[:1] != "/":
                    yield Spot((), trouble="it is no path of this system")
                    continue
                parts = parts_of(path.rstrip("/"))
                is_wild = not written.is_literal and any(map(is_wild_name, parts))
                if is_wild and written.is_deep:
                    parts = _deepened(parts)
                if is_tree:
                    yield Spot((*parts, DEEP), is_wild, partly, written.is_there)
                if not partly:
                    yield Spot(parts, is_wild, partly, written.is_there)

    def shown(self, path: str) -> str:
        """A path as people of the project would say it."""
        return path[len(self.root) + 1 :] if path.startswith(f"{self.root}/") else path

    def is_below(self, parts: Parts) -> bool:
        """Whether it lies in the project."""
        return any(parts[: len(root)] == root for root in self.roots)

    def absolute(self, named: str) -> str:
        """A path that the call names, as the file system is asked about it."""
        return os.path.join(self.starts[0], os.path.expanduser(named) if named[:2] == "~/" else named)  # noqa: PTH118, PTH111 - texts


def _named(roots: Iterable[str]) -> tuple[Parts, ...]:
    return tuple(dict.fromkeys(parts_of(name) for root in roots for name in (root, os.path.realpath(root))))


def _deepened(parts: Parts) -> Parts:
    """A path that a search found: what is wild in it may lie below further directories."""
    first = next(index for index, part in enumerate(parts) if is_wild_name(part))
    return (*parts[:first], DEEP, *parts[first:])


class ScopesOfSpot:
    """The scopes that a spot is part of.

    INVARIANT: each scope is looked at once for each question. Scopes stand in the `others` of others, and a project's
    file could make the ways through them double with each.
    """

    def __init__(self, book: Rulebook, spot: Spot, files: Files) -> None:
        self._book, self._spot, self._files = book, spot, files
        self._surely: dict[str, bool] = {}
        self._could: dict[str, bool] = {}

    def surely_in(self, name: str) -> bool:
        """Whether all that the spot stands for is part of a scope."""
        known = self._surely.get(name)
        if known is None:
            scope = self._book.scopes[name]
            known = self._surely[name] = (
                _listed(scope.paths, self._spot, self._files)
                and not _could_be_listed(scope.outside, self._spot, self._files)
                and not any(self.could_be_in(other) for other in scope.others)
            )
        return known

    def could_be_in(self, name: str) -> bool:
        """Whether something that the spot stands for may be part of a scope."""
        known = self._could.get(name)
        if known is None:
            scope = self._book.scopes[name]
            known = self._could[name] = (
                _could_be_listed(scope.paths, self._spot, self._files)
                and not _listed(scope.outside, self._spot, self._files)
                and not any(self.surely_in(other) for other in scope.others)
            )
        return known


def _listed(globs: Iterable[str], spot: Spot, files: Files) -> bool:
    return any(
        covers(_folded(glob, files.folds), _folded(path, files.folds), is_wild=spot.is_wild)
        for text in globs
        for _, glob, path in _pairs(text, spot, files, files.roots)
    )


def _could_be_listed(globs: Iterable[str], spot: Spot, files: Files) -> bool:
    """INVARIANT: without case, everywhere: what is kept out stays out on a disk that ignores it."""
    stands_for_several = spot.is_wild or DEEP in spot.parts
    for text in globs:
        for base, glob, path in _pairs(text, spot, files, files.marked):
            if not meets(_folded(glob, folds=True), _folded(path, folds=True), is_wild=spot.is_wild):
                continue
            if not (spot.is_there and stands_for_several) or _is_one_there(base, glob, path):
                return True
    return False


def _pairs(text: str, spot: Spot, files: Files, roots: tuple[Parts, ...]) -> Iterator[tuple[Parts, Parts, Parts]]:
    """A glob beside what it is compared with, both below a directory: the root, or that of a project."""
    if text[:1] == "/":
        yield (), parts_of(text), spot.parts
    elif text[:2] == "~/":
        yield (), parts_of(files.home + text[1:]), spot.parts
    else:
        glob = parts_of(text)
        for root in roots:
            if spot.parts[: len(root)] == root:
                yield root, glob, spot.parts[len(root) :]
            elif DEEP in spot.parts and root[: len(spot.parts) - 1] == spot.parts[:-1]:
                yield root, glob, (DEEP,)  # all that lies in a directory around the project


def _is_one_there(base: Parts, glob: Parts, path: Parts) -> bool:
    """Whether a file is there that both stand for. What has too many files to look at counts as one.

    Looked for only where the glob can have some: `.claude/**` is a small directory, whatever else a project has.
    """
    known = max(_before_wild(glob), _before_wild(path), key=len)
    wide = tuple("*" if any(sign in part for sign in "[({") else part for part in path)
    start = "/" + "/".join((*base, *known))
    waiting, looked = [(start, known)], 0
    while waiting:
        at, parts = waiting.pop()
        if (
            os.path.lexists(at)
            and covers(_folded(glob, folds=True), _folded(parts, folds=True))
            and covers(wide, parts)
        ):
            return True
        for entry in _entries(at):
            looked += 1
            if looked > _MOST_LOOKED:
                return True
            below = (*parts, entry.name)
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, below))
            elif covers(_folded(glob, folds=True), _folded(below, folds=True)) and covers(wide, below):
                return True
    return False


def _before_wild(parts: Parts) -> Parts:
    first = next((index for index, part in enumerate(parts) if is_wild_name(part)), len(parts))
    return parts[:first]


def _entries(directory: str) -> list[os.DirEntry[str]]:
    """What lies in a directory; nothing where it is none, or where nobody may look."""
    try:
        with os.scandir(directory) as entries:
            return [entry for entry, _ in zip(entries, range(_MOST_LOOKED + 1), strict=False)]
    except (OSError, ValueError):
        return []


def _folded(parts: Parts, folds: bool) -> Parts:
    return tuple(part.casefold() for part in parts) if folds else parts
