"""Events that were let through undecided, because an operator chose `--fail-open`.

The file lies in the ledger's directory, one JSON object a line. It is written by whoever could not decide, when often
nothing else works any more, and read by `doctor` and `status`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from interpose.core.config.settings import Config

_LARGEST = 4 << 20
"""Bytes that are read from the end: nobody needs more of them to know that something is wrong."""


class LetThrough(Struct, frozen=True):
    """One event. `at` is seconds since 1970."""

    at: int
    host: str
    why: str = ""
    session: str = ""
    tool: str = ""


def spool_of(config: Config) -> Path:
    """Where they are written."""
    return Path(config.ledger.directory) / "opened.jsonl"


def note(file: Path, opened: LetThrough) -> None:
    """Write one down. Raises OSError."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, msgspec.json.encode(opened) + b"\n")
    finally:
        os.close(handle)


def let_through_in(file: Path) -> list[LetThrough]:
    """Those that were written down, the oldest first. Lines that are broken are left out."""
    try:
        with file.open("rb") as lines:
            lines.seek(max(0, file.stat().st_size - _LARGEST))
            text = lines.read(_LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = []
    for line in text.splitlines():
        try:
            found.append(msgspec.json.decode(line, type=LetThrough))
        except msgspec.DecodeError:
            continue
    return found
