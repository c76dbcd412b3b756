"""The call that a command line speaks of."""

from __future__ import annotations

from collections.abc import Sequence


class UsageError(ValueError):
    """The command line can't be understood; `str` says why."""


def given_arguments(command: str | None, pairs: Sequence[str]) -> dict[str, str]:
    """The arguments of a call: its command, and NAME=VALUE pairs. Raises UsageError."""
    arguments: dict[str, str] = {}
    for given in pairs:
        name, equals, value = given.partition("=")
        if not equals or not name:
            raise UsageError(f"--arg needs NAME=VALUE, not {given!r}")
        arguments[name] = value
    if command is not None:
        if "command" in arguments:
            raise UsageError("the command is given twice")
        arguments["command"] = command
    return arguments
