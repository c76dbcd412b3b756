"""What is imported late: names of a package when they are asked for, `logging` when there is something to say."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in `typing`, without importing it

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from logging import Logger
    from typing import Any


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


class LateLogger:
    """What `logging.getLogger` gives, from the first time on that anybody asks for anything of it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, asked: str) -> Any:
        """Everything of the logger: it has nothing of its own but its name."""
        from logging import getLogger

        return getattr(getLogger(self._name), asked)


def late_logger(name: str) -> Logger:
    """As `logging.getLogger`, later."""
    return LateLogger(name)  # type: ignore[return-value]  # it has everything that a logger has
