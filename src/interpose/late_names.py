"""Names of a package whose modules are imported when somebody asks for one of them."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in `typing`, without importing it

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def late_names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """The `__getattr__` of a package: `homes` says which of its modules has which names.

    Not for type checkers: with it, every misspelt name would have a type.
    """

    def asked(name: str) -> object:
        for home, names in homes.items():
            if name in names:
                from importlib import import_module

                found = getattr(import_module(f"{package}.{home}"), name)
                setattr(sys.modules[package], name, found)
                return found
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return asked
