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
    from interpose.governance.rulebook import Rulebook, Scope
    from interpose.types import ToolCall


class Spot(Struct, frozen=True):
    """One place that a path leads to. It may stand for several files: see path_globs."""

    parts: Parts
    is_wild: bool = False
    is_partly_known: bool = False
    """Only its directory is known."""
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

    def spots(
        self, named: str, *, is_tree: bool = False, is_literal: bool = True, is_deep: bool = False
    ) -> Iterator[Spot]:
        """Every place that a path could lead to. `is_deep`: what is wild in it may lie at any depth below."""
        partly = UNKNOWN in named
        known = named.partition(UNKNOWN)[0].rpartition("/")[0] or "/" if partly else named
        for start in self.starts:
            found = self.lookup.spellings(known, cwd=start, home=self.home, workspace=self.root)
            if found.trouble is not None:
                yield Spot((), trouble=found.trouble.reason)
            for path in found.paths:
                if path[:1] != "/":
                    yield Spot((), trouble="it is no path of this system")
                    continue
                parts = parts_of(path.rstrip("/"))
                if is_tree or partly:
                    parts = (*parts, DEEP)
                is_wild = not is_literal and any(map(is_wild_name, parts[:-1] if is_tree or partly else parts))
                yield Spot(_deepened(parts) if is_deep and is_wild else parts, is_wild, partly)

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
    first = next(index for index, part in enumerate(parts) if is_wild_name(part) and part != DEEP)
    return (*parts[:first], DEEP, *parts[first:])


def surely_in(book: Rulebook, scope: Scope, spot: Spot, files: Files) -> bool:
    """Whether all that a spot stands for is part of a scope."""
    return (
        _listed(scope.paths, spot, files)
        and not _could_be_listed(scope.outside, spot, files)
        and not any(could_be_in(book, book.scopes[other], spot, files) for other in scope.others)
    )


def could_be_in(book: Rulebook, scope: Scope, spot: Spot, files: Files) -> bool:
    """Whether something that a spot stands for may be part of a scope."""
    return (
        _could_be_listed(scope.paths, spot, files)
        and not _listed(scope.outside, spot, files)
        and not any(surely_in(book, book.scopes[other], spot, files) for other in scope.others)
    )


def _listed(globs: Iterable[str], spot: Spot, files: Files) -> bool:
    return any(
        covers(_folded(glob, files.folds), _folded(path, files.folds), is_wild=spot.is_wild)
        for text in globs
        for glob, path in _pairs(text, spot, files, files.roots)
    )


def _could_be_listed(globs: Iterable[str], spot: Spot, files: Files) -> bool:
    """INVARIANT: without case, everywhere: what is kept out stays out on a disk that ignores it."""
    return any(
        meets(_folded(glob, folds=True), _folded(path, folds=True), is_wild=spot.is_wild)
        for text in globs
        for glob, path in _pairs(text, spot, files, files.marked)
    )


def _pairs(text: str, spot: Spot, files: Files, roots: tuple[Parts, ...]) -> Iterator[tuple[Parts, Parts]]:
    """A glob beside what it is compared with: the whole path, or what lies below a project's directory."""
    if text[:1] == "/":
        yield parts_of(text), spot.parts
    elif text[:2] == "~/":
        yield parts_of(files.home + text[1:]), spot.parts
    else:
        glob = parts_of(text)
        for root in roots:
            if spot.parts[: len(root)] == root:
                yield glob, spot.parts[len(root) :]
            elif DEEP in spot.parts and root[: len(spot.parts) - 1] == spot.parts[:-1]:
                yield glob, (DEEP,)  # all that lies in a directory around the project


def _folded(parts: Parts, folds: bool) -> Parts:
    return tuple(part.casefold() for part in parts) if folds else parts
