"""Names of commands and the patterns that they fit: exactly or as a glob, with or without a slash before either."""

from __future__ import annotations

from collections.abc import Iterable

from interpose.core.command_text import plain_command
from interpose.rules.governance.roles.name_patterns import fits, is_glob

_SPACE = ":"
"""Stands between where a command comes from and its name."""


def command_fits(pattern: str, name: str) -> bool:
    """Whether a command is one that a pattern names, letter by letter: for what allows something."""
    return fits(plain_command(pattern), plain_command(name))


def command_fits_any(patterns: Iterable[str], name: str) -> bool:
    """Whether it is one that some pattern names, letter by letter."""
    return any(command_fits(pattern, name) for pattern in patterns)


def could_be_command(pattern: str, name: str) -> bool:
    """Whether a rule about this pattern holds for a command. Neither case nor where a command comes from is a way
    around it: some hosts find `/Deploy`, and many find one of a plugin as `/deploy` and as `/tools:deploy`."""
    wanted, called = plain_command(pattern).casefold(), plain_command(name).casefold()
    if fits(wanted, called):
        return True
    if _SPACE not in wanted:
        return _SPACE in called and fits(wanted, called.rpartition(_SPACE)[2])
    # A glob of all commands of one plugin says nothing of those that have no such word before their name.
    short = wanted.rpartition(_SPACE)[2]
    return _SPACE not in called and not is_glob(wanted) and short == called
