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

from interpose.types import Allow, Finding, ToolCall, Verdict

if TYPE_CHECKING:
    from interpose.config.model import Config

RULE = "fail-open"
"""The rule that records of such events name."""

_LARGEST = 4 << 20
"""Bytes that are read from the end: nobody needs more of them to know that something is wrong."""


class Opened(Struct, frozen=True):
    """One event. `at` is seconds since 1970."""

    at: int
    host: str
    why: str = ""
    session: str = ""
    tool: str = ""


def spool_of(config: Config) -> Path:
    """Where they are written."""
    return Path(config.ledger.directory) / "opened.jsonl"


def record(config: Config, call: ToolCall, why: str) -> bytes:
    """Put a call that nobody decided about into the ledger. Raises LedgerError, StoreError or AuditUnavailableError."""
    from interpose.build import open_ledger

    reason = f"let through undecided: {why}"
    finding = Finding(interceptor="interpose:hook", said="error", reason=reason, rule=RULE, severity="critical")
    verdict: Verdict[ToolCall] = Verdict(outcome="allow", decision=Allow(), payload=call, findings=(finding,))
    with open_ledger(Path(config.ledger.directory), config.ledger, config.store.url) as ledger:
        ticket = ledger.recorder.decided(verdict)
        if ticket is not None:
            ticket.wait()
    return b"recorded"


def note(file: Path, opened: Opened) -> None:
    """Write one down. Raises OSError."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, msgspec.json.encode(opened) + b"\n")
    finally:
        os.close(handle)


def opened_in(file: Path) -> list[Opened]:
    """Those that were written down, the oldest first. Lines that are broken are left out."""
    try:
        with file.open("rb") as lines:
            lines.seek(max(0, file.stat().st_size - _LARGEST))
            text = lines.read(_LARGEST)
    except FileNotFoundError:
        return []
    found = []
    for line in text.splitlines():
        try:
            found.append(msgspec.json.decode(line, type=Opened))
        except msgspec.DecodeError:
            continue
    return found
