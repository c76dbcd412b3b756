"""The environment that the running guard is in, as places: loaded when a path leads there.

What is ours alone is refused like the rest of what is ours. A file that the guard runs with in an environment of
others is a question, and only where it is certain that the file is changed: honest work names such files all day.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from interpose.effects.environment.protected import protected
from interpose.effects.paths.catalogue import Mark, could_match, is_wild
from interpose.effects.paths.resolve import is_home

_OWN = Mark("belongs to the environment that the guard itself runs in", "soft", ours=True)
RUNS_WITH = Mark("is a file that the guard itself runs with", "faint")
_BESIDE = Mark("is where libraries of the guard itself lie")
_ELSEWHERE = Mark("is another project's environment, in which the guard itself runs")
_OWN_BELOW = Mark("has the environment that the guard itself runs in", ours=True)
_SHARED_BELOW = Mark("has files that the guard itself runs with")
_ALL_TOOLS = Mark("has the programs of this user, the guard itself perhaps among them")
_TOOL_DIRECTORIES = (
    "/.local/share/uv", "/.local/share/uv/tools", "/.local/share/pipx", "/.local/share/pipx/venvs", "/.local/pipx",
    "/.local/pipx/venvs",
)  # fmt: skip
"""Where pipx and uv keep the environments of all programs, ours included, below a home."""


def environment_part_of(folded: str) -> Mark | None:
    """What of the environment a resolved path in lower case is, or None. A pattern is what it could stand for."""
    places = protected()
    if is_wild(folded):
        parts = folded.split("/")
        if _any_fits(parts, places.own):
            return _OWN
        return RUNS_WITH if _any_fits(parts, places.shared) else None
    above = folded.rstrip("/")
    part: Mark | None = None
    while above:
        if above in places.own:
            return _OWN
        if above in places.shared or (above in places.standard and not _is_package(folded[len(above) :])):
            part = RUNS_WITH
        above = above.rpartition("/")[0]
    return part


def environment_below(path: str) -> Mark | None:
    """What lies below a directory that is taken away as a whole, or None."""
    folded = path.lower().rstrip("/")
    places = protected()
    if _is_above(folded, places.own):
        return _OWN_BELOW
    return _SHARED_BELOW if _is_above(folded, (*places.shared, *places.standard)) else None


def tools_below(path: str, home: str) -> Mark | None:
    """Whether a directory is one in which pipx or uv keep the programs of a user."""
    folded = path.lower().rstrip("/")
    for keeper in _TOOL_DIRECTORIES:
        if folded.endswith(keeper) and is_home(path.rstrip("/")[: -len(keeper)], home):
            return _ALL_TOOLS
    return None


def planted_in_environment(folded: str) -> Mark | None:
    """What could be replaced by a tree of unknown names that is put into a directory, or None."""
    return _BESIDE if folded in protected().libraries else None


def installs_into(path: str, cwd: str) -> Mark | None:
    """Why installing with a program, or for an interpreter, at this path changes the guard, or None.

    Where the environment is a project's, installing is ordinary work in that project, and a question in others.
    """
    from interpose.effects.environment.facts import running

    environment = running()
    if not environment.virtual or not _is_below(path, environment.root):
        return None
    if environment.owner == "own":
        return _OWN
    return None if _is_below(cwd, environment.project) else _ELSEWHERE


def own_program(name: str, search_path: str) -> str:
    """The program in an environment of our own that is found first under a name; empty if another one is.

    Where the environment is a project's it may be active all day, and installing into it is ordinary work.
    """
    own = protected().own
    for directory in search_path.split(":") if own else ():
        path = f"{directory}/{name}"
        if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113 - no pathlib
            places = (os.path.normpath(path), f"{os.path.realpath(directory)}/{name}", os.path.realpath(path))
            return path if any(_is_below(place.lower(), root) for place in places for root in own) else ""
    return ""


def _is_below(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def _is_above(folded: str, places: Iterable[str]) -> bool:
    return any(place.startswith(f"{folded}/") for place in places)


def _any_fits(parts: list[str], places: frozenset[str]) -> bool:
    return any(_fits(parts, place.split("/")) for place in places)


def _fits(parts: list[str], place: list[str]) -> bool:
    """Whether a pattern could name a place, or what is below it."""
    for part, name in zip(parts, place, strict=False):
        if part == "**":
            return True
        if part != name and not (is_wild(part) and could_match(part, name)):
            return False
    return len(parts) >= len(place)


def _is_package(below: str) -> bool:
    return "/site-packages" in below or "/dist-packages" in below
