"""Names of commands and the patterns that they fit: exactly or as a glob, with or without a slash before either."""

from __future__ import annotations

from collections.abc import Iterable

from interpose.flow.command_records import plain_command
from interpose.governance.name_patterns import fits


def command_fits(pattern: str, name: str) -> bool:
    """Whether a command is one that a pattern names, letter by letter: for what allows something."""
    return fits(plain_command(pattern), plain_command(name))


def command_fits_any(patterns: Iterable[str], name: str) -> bool:
    """Whether it is one that some pattern names, letter by letter."""
    return any(command_fits(pattern, name) for pattern in patterns)


def could_be_command(pattern: str, name: str) -> bool:
    """Whether a rule about this pattern holds for a command. Case is no way around it: some hosts find `/Deploy`."""
    return fits(plain_command(pattern).casefold(), plain_command(name).casefold())
