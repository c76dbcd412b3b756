"""What lies at the top of a library and belongs to no distribution: Python imports it by its name.

An optional import finds whatever has its name. So a file that nobody installed can run within the guard although
every file that was installed is as it was.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from interpose.effects.environment.distributions import Distribution, entries, installed_in, recorded_files
from interpose.effects.environment.facts import Environment
from interpose.effects.environment.protected import STARTUP
from interpose.effects.environment.verified import read_bytes

_MODULES = (".py", ".so", ".pyc", ".pyd")
_IMPORTS = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)


class UnrecordedModule(Struct, frozen=True):
    """A module or a package that no record knows."""

    path: str
    imported: bool
    """Whether Interpose, or what it needs, imports this name: from here, or from Python's own library otherwise."""
    usual: bool = False
    """Whether virtualenv and uv put it into every environment."""


def unrecorded_modules(environment: Environment) -> list[UnrecordedModule]:
    """Modules of no distribution. In an environment of others, only those with a name that Interpose imports."""
    candidates = list(_candidates(environment))
    names = _imported_names(environment) if candidates else frozenset[str]()
    found = [UnrecordedModule(path, name in names, name == "_virtualenv") for path, name in candidates]
    return [module for module in found if module.imported or environment.owner == "own"]


def _candidates(environment: Environment) -> Iterator[tuple[str, str]]:
    installed = installed_in(environment.libraries).values()
    for library in environment.libraries:
        known = {name for each in installed if each.library == library for name in _tops(each)}
        for entry in sorted(entries(library)):
            name = entry.partition(".")[0]
            if entry in known or name.lower() in known or entry in STARTUP or not name.isidentifier():
                continue
            whole = f"{library}/{entry}"
            if entry != "__pycache__" and (entry.endswith(_MODULES) or (entry == name and os.path.isdir(whole))):  # noqa: PTH112
                yield whole, name


def _tops(distribution: Distribution) -> Iterator[str]:
    """The names at the top of the library that are a distribution's. Without a record: those that it usually has."""
    recorded = recorded_files(distribution)
    if recorded is None:
        yield distribution.name.replace("-", "_")
        told = read_bytes(f"{distribution.info}/top_level.txt").decode("utf-8", "replace")
        yield from (line.strip().lower() for line in told.split("\n") if line.strip())
    for file in recorded or ():
        if file.path.startswith(f"{distribution.library}/"):
            yield file.path[len(distribution.library) + 1 :].partition("/")[0]


def _imported_names(environment: Environment) -> frozenset[str]:
    """What the sources of Interpose and of all that it needs import, and Python's own modules."""
    sources = {
        file.path
        for each in environment.distributions
        for file in recorded_files(each) or ()
        if file.path[-3:] == ".py"
    }
    if environment.package:
        sources.update(map(str, Path(environment.package).rglob("*.py")))
    named = {found.decode() for source in sources for found in _IMPORTS.findall(read_bytes(source))}
    return frozenset(named) | sys.stdlib_module_names
