"""One file per command family. A handler states what its command would do; see shell/model.py."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules


@cache
def load() -> None:
    """Import every family once: a family registers its commands by existing."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
