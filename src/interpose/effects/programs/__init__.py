"""A folder per family of commands, a file per kind; `shared` is what they have in common.

A handler states what its command would do; see effects/invocation.py. A kind is a module (`machine.py`), a data file
(`machine.toml`, see shared/program_files.py), or both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

# `shared` is the one folder that is used from outside.
__all__ = ["category_of", "defer", "families", "fingerprint", "load", "shared"]

_DATA = ".toml"
_deferred = False


@cache
def load() -> None:
    """Import every family once: a family registers its commands by existing."""
    if not _deferred:
        from pkgutil import walk_packages

        for module in walk_packages(__path__, f"{__name__}."):
            import_module(module.name)
        for place, _, _ in fingerprint():
            if place.endswith(_DATA):
                _bring_data(f"{__name__}.{place.replace('/', '.')}")


def _bring_data(family: str) -> None:
    from pathlib import Path

    from interpose.effects.programs.shared.program_files import register_file

    place = family.removeprefix(f"{__name__}.").removesuffix(_DATA).replace(".", "/")
    register_file(Path(__path__[0], f"{place}{_DATA}"), family)


def category_of(name: str) -> str:
    """What governance calls the work of a command that is described as data; empty for all others."""
    from interpose.effects.handler_table import CATEGORIES, handler_of

    load()
    handler_of(name)
    return CATEGORIES.get(name, "")


def families() -> dict[str, str]:
    """The file of each command, as its place below this one: `rm` is in `files.deletion`.

    A data file has its ending: `systemctl` is in `system.machine.toml`.
    """
    from interpose.effects.handler_table import HANDLERS

    load()
    return {name: handler.__module__.removeprefix(f"{__name__}.") for name, handler in HANDLERS.items()}


def defer(known: Mapping[str, str]) -> None:
    """Import a family when one of its commands is met, for a process that meets few. `known` is `families()`."""
    from interpose.effects.handler_table import import_later

    global _deferred  # noqa: PLW0603 - the table of handlers is there once, too
    _deferred = True
    for name, family in known.items():
        bring = _bring_data if family.endswith(_DATA) else import_module
        import_later(name, f"{__name__}.{family}", bring)


def fingerprint() -> tuple[tuple[str, int, int], ...]:
    """Changes when a family does."""
    return tuple(sorted(_files(__path__[0], "")))


def _files(folder: str, place: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir() and entry.name != "__pycache__":
                yield from _files(entry.path, f"{place}{entry.name}/")
            elif entry.name.endswith((".py", _DATA)):
                told = entry.stat()
                yield place + entry.name, told.st_mtime_ns, told.st_size
