"""One file per command family. A handler states what its command would do; see shell/model.py."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interpose.shell.model import Invocation, Lowering

_deferred = False


@cache
def load() -> None:
    """Import every family once: a family registers its commands by existing."""
    if not _deferred:
        for module in iter_modules(__path__):
            import_module(f"{__name__}.{module.name}")


def families() -> dict[str, str]:
    """The family of each command."""
    from interpose.shell.commands.table import HANDLERS

    load()
    return {name: handler.__module__.rpartition(".")[2] for name, handler in HANDLERS.items()}


def defer(known: Mapping[str, str]) -> None:
    """Import a family when one of its commands is met, for a process that meets few. `known` is `families()`."""
    from interpose.shell.commands.table import stand_in

    global _deferred  # noqa: PLW0603 - the table of handlers is there once, too
    _deferred = True
    for name, family in known.items():
        stand_in(name, partial(_imported, name, family))


def _imported(name: str, family: str, inv: Invocation, low: Lowering) -> None:
    from interpose.shell.commands.table import HANDLERS

    import_module(f"{__name__}.{family}")
    HANDLERS[name](inv, low)


def fingerprint() -> tuple[tuple[str, int, int], ...]:
    """Changes when a family does."""
    with os.scandir(__path__[0]) as entries:
        found = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(".py")]
    return tuple(sorted((name, told.st_mtime_ns, told.st_size) for name, told in found))
