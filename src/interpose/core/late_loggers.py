"""Loggers that are made when there is something to say: a hook that has nothing to say does not load `logging`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from logging import Logger


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
    return cast("Logger", LateLogger(name))
