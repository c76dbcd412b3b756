"""Which files of the environment the guard imports or executes: who changes one of them changes the guard.

An environment of our own is protected as a whole. In one that is a project's or the system's, others work: there
only what the guard runs with is protected, and what is installed beside it is not our business.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache

from msgspec import Struct

from interpose.effects.environment.distributions import Distribution, entries, recorded_tops
from interpose.effects.environment.facts import Environment, running

STARTUP = ("sitecustomize.py", "usercustomize.py")
"""What Python runs by itself at every start, beside the `.pth` files."""
_MOST_LINKS = 16


class Protected(Struct, frozen=True):
    """Places in lower case, as they are named and as they lie on disk. Each stands for all that is below it."""

    own: frozenset[str]
    """An environment that is ours alone."""
    shared: frozenset[str]
    """What the guard runs with where others work, too."""
    standard: frozenset[str]
    """Python's own library, without the packages that lie in it."""
    libraries: frozenset[str]
    """Directories that hold what is shared: what is put there under unknown names may replace it."""


@cache
def protected() -> Protected:
    """What is protected of the environment that this process runs in."""
    return protected_of(running())


def protected_of(environment: Environment) -> Protected:
    """What is protected of an environment."""
    root, alone = environment.root, environment.owner == "own"
    shared = [environment.interpreter, *_chain(environment.interpreter)]
    if not alone:
        shared += [*_startup(environment), *_programs(environment)]
        for distribution in environment.distributions:
            shared += _places(distribution, environment)
    return Protected(
        own=_spelled([root]) if alone else frozenset(),
        shared=_spelled(shared),
        standard=_spelled([environment.standard]),
        libraries=frozenset() if alone else _spelled(environment.libraries),
    )


def _places(distribution: Distribution, environment: Environment) -> Iterator[str]:
    """The files and directories at the top of a library that a distribution put there, and its programs."""
    yield distribution.info
    for name in recorded_tops(distribution) - {"__pycache__"}:
        place = os.path.normpath(f"{distribution.library}/{name}") if name.startswith("../") else name
        if name[0] not in "./":
            yield f"{distribution.library}/{name}"
        elif place.startswith(f"{environment.scripts}/"):
            yield place


def _startup(environment: Environment) -> Iterator[str]:
    """What Python reads before it runs the guard."""
    if environment.virtual:
        yield f"{environment.root}/pyvenv.cfg"
    for library in environment.libraries:
        yield from (f"{library}/{name}" for name in STARTUP)
        yield from (f"{library}/{name}" for name in entries(library) if name.endswith(".pth"))


def _programs(environment: Environment) -> Iterator[str]:
    if environment.virtual:
        yield from (f"{environment.scripts}/{name}" for name in entries(environment.scripts) if _is_python(name))


def _is_python(name: str) -> bool:
    return name.rstrip("0123456789.t") in ("python", "pypy")


def _chain(link: str) -> Iterator[str]:
    """Where a link leads, step by step: each step decides which interpreter runs."""
    for _ in range(_MOST_LINKS):
        try:
            target = os.readlink(link)  # noqa: PTH115 - no pathlib
        except OSError:
            return
        link = os.path.normpath(os.path.join(os.path.dirname(link), target))  # noqa: PTH118, PTH120 - no pathlib
        yield link


def _spelled(places: Iterable[str]) -> frozenset[str]:
    return frozenset(
        path.lower() for place in places if place for path in (os.path.normpath(place), os.path.realpath(place))
    ) - {"/"}
