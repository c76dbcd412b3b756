"""Where the files of a call lie, and whether they are part of a scope.

Two questions, each strict where it is used: `surely_in` for what a role may write, `could_be_in` for what is kept out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from interpose.effects.paths import UNKNOWN, FileSystem, Lookup
from interpose.reading.calls import DEFAULT_CWD, starts_of
from interpose.rules.governance.files.project_root import marked_above
from interpose.rules.governance.roles.path_globs import DEEP, Parts, covers, is_wild_name, meets, parts_of

if TYPE_CHECKING:
    from interpose.core.types import ToolCall
    from interpose.rules.governance.commands.written_files import Written
    from interpose.rules.governance.files.rulebook import FileScope, Rulebook


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


class Files:
    """Where a call would run, and what its paths are relative to."""

    def __init__(self, call: ToolCall, home: str, project: str, lookup: Lookup) -> None:
        cwd = call.context.cwd if call.context.cwd.startswith("/") else DEFAULT_CWD
        above = tuple(marked_above(cwd, home))
        self.cwd, self.home, self.lookup = cwd, home, lookup
        self.root = project or next(iter(above), cwd)
        self.starts = tuple(dict.fromkeys((cwd, *starts_of(call, cwd, home))))
        self.folds = isinstance(lookup, FileSystem) and lookup.ignores_case
        """Whether this machine's file names ignore case."""
        self._above = dict.fromkeys((self.root, *above, *(marked_above(self.root, home) if project else ())))
        self._is_real = False
        """Whether it is known that no link is in the name of the project."""
        self._roots: tuple[Parts, ...] = ()
        self._marked: tuple[Parts, ...] = ()

    @property
    def roots(self) -> tuple[Parts, ...]:
        """The project under each of its names: as it is called, and where it really is."""
        self._roots = self._roots or self._named((self.root,))
        return self._roots

    @property
    def marked(self) -> tuple[Parts, ...]:
        """The same, and all projects around it: what is outside of a scope is so from each of them. Or an agent that
        steps into a repository in a repository would leave what holds for the outer one."""
        self._marked = self._marked or (self.roots if len(self._above) == 1 else self._named(self._above))
        return self._marked

    def _named(self, roots: Iterable[str]) -> tuple[Parts, ...]:
        found: dict[str, None] = {}
        real = self.root if self._is_real else ""
        for root in roots:
            found[root] = None
            if root != real and not real.startswith(f"{root}/"):  # what is above a real directory is one, too
                real = os.path.realpath(root)
                found[real] = None
        return tuple(dict.fromkeys(map(parts_of, found)))

    def spots(self, written: Written) -> Iterator[Spot]:
        """Every place that a path could lead to."""
        named, partly = written.named, UNKNOWN in written.named
        known = named.partition(UNKNOWN)[0].rpartition("/")[0] or "/" if partly else named
        is_tree = written.is_tree or partly
        for start in self.starts:
            found = self.lookup.spellings(known, cwd=start, home=self.home, workspace=self.root)
            if found.is_direct and len(found.paths) == 1 and found.paths[0].startswith(f"{self.root}/"):
                self._is_real = True  # there is no link in the name of the project either
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


def _deepened(parts: Parts) -> Parts:
    """A path that a search found: what is wild in it may lie below further directories."""
    first = next(index for index, part in enumerate(parts) if is_wild_name(part))
    return (*parts[:first], DEEP, *parts[first:])


class ScopeGlob(Struct, frozen=True):
    """A glob of a scope, compiled."""

    parts: Parts
    folded: Parts
    """The same without case."""
    is_absolute: bool

    @staticmethod
    def of(text: str, home: str) -> ScopeGlob:
        """What a text of the file means for a home directory."""
        parts = parts_of(home + text[1:] if text[:2] == "~/" else text)
        return ScopeGlob(parts, _folded(parts), text[:1] == "/" or text[:2] == "~/")


class CompiledScope(Struct, frozen=True):
    """A scope with its globs compiled."""

    paths: tuple[ScopeGlob, ...]
    outside: tuple[ScopeGlob, ...]
    others: tuple[str, ...]


def compiled_scopes(book: Rulebook, home: str) -> dict[str, CompiledScope]:
    """The scopes of a rulebook, compiled for a home directory."""
    return book.compiled(("scopes", home), lambda: {name: _compiled(one, home) for name, one in book.scopes.items()})


def _compiled(scope: FileScope, home: str) -> CompiledScope:
    paths, outside = (tuple(ScopeGlob.of(text, home) for text in texts) for texts in (scope.paths, scope.outside))
    return CompiledScope(paths, outside, scope.others)


Compared = tuple[Parts, Parts]
"""What globs are compared with: the directory that they are below, and the path from there on."""


class ScopesOfSpot:
    """The scopes that a spot is part of.

    INVARIANT: each scope is looked at once for each question. Scopes stand in the `others` of others, and a project's
    file could make the ways through them double with each.
    """

    def __init__(self, book: Rulebook, spot: Spot, files: Files) -> None:
        self._scopes = compiled_scopes(book, files.home)
        self._spot, self._files = spot, files
        self._surely: dict[str, bool] = {}
        self._could: dict[str, bool] = {}
        self._roots: list[Compared] | None = None
        self._marked: list[Compared] | None = None

    def surely_in(self, name: str) -> bool:
        """Whether all that the spot stands for is part of a scope."""
        known = self._surely.get(name)
        if known is None:
            scope = self._scopes[name]
            known = self._surely[name] = (
                self._listed(scope.paths)
                and not self._could_be_listed(scope.outside)
                and not any(self.could_be_in(other) for other in scope.others)
            )
        return known

    def could_be_in(self, name: str) -> bool:
        """Whether something that the spot stands for may be part of a scope."""
        known = self._could.get(name)
        if known is None:
            scope = self._scopes[name]
            known = self._could[name] = (
                self._could_be_listed(scope.paths)
                and not self._listed(scope.outside)
                and not any(self.surely_in(other) for other in scope.others)
            )
        return known

    def _listed(self, globs: Iterable[ScopeGlob]) -> bool:
        folds, is_wild = self._files.folds, self._spot.is_wild
        return any(
            covers(glob.folded, _folded(path), is_wild=is_wild) if folds else covers(glob.parts, path, is_wild=is_wild)
            for glob in globs
            for _, path in (self._whole if glob.is_absolute else self._below_roots)
        )

    def _could_be_listed(self, globs: Iterable[ScopeGlob]) -> bool:
        """INVARIANT: without case, everywhere: what is kept out stays out on a disk that ignores it."""
        spot = self._spot
        stands_for_several = spot.is_wild or DEEP in spot.parts
        for glob in globs:
            for base, path in self._whole if glob.is_absolute else self._below_marked:
                if not meets(glob.folded, _folded(path), is_wild=spot.is_wild):
                    continue
                if not (spot.is_there and stands_for_several) or _is_one_there(base, glob, path):
                    return True
        return False

    @property
    def _whole(self) -> list[Compared]:
        return [((), self._spot.parts)]

    @property
    def _below_roots(self) -> list[Compared]:
        if self._roots is None:
            self._roots = list(_below(self._files.roots, self._spot.parts))
        return self._roots

    @property
    def _below_marked(self) -> list[Compared]:
        if self._marked is None:
            self._marked = list(_below(self._files.marked, self._spot.parts))
        return self._marked


def _below(roots: tuple[Parts, ...], parts: Parts) -> Iterator[Compared]:
    for root in roots:
        if parts[: len(root)] == root:
            yield root, parts[len(root) :]
        elif DEEP in parts and root[: len(parts) - 1] == parts[:-1]:
            yield root, (DEEP,)  # all that lies in a directory around the project


def _is_one_there(base: Parts, glob: ScopeGlob, path: Parts) -> bool:
    """Whether a file is there that both stand for. What has too many files to look at counts as one.

    Looked for only where the glob can have some: `.claude/**` is a small directory, whatever else a project has.
    """
    known = max(_before_wild(glob.parts), _before_wild(path), key=len)
    wide = tuple("*" if any(sign in part for sign in "[({") else part for part in path)
    start = "/" + "/".join((*base, *known))
    waiting, looked = [(start, known)], 0
    while waiting:
        at, parts = waiting.pop()
        if os.path.lexists(at) and covers(glob.folded, _folded(parts)) and covers(wide, parts):
            return True
        for entry in _entries(at):
            looked += 1
            if looked > _MOST_LOOKED:
                return True
            below = (*parts, entry.name)
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, below))
            elif covers(glob.folded, _folded(below)) and covers(wide, below):
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


def _folded(parts: Parts) -> Parts:
    return tuple([part.casefold() for part in parts])
