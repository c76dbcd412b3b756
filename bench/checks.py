"""What a benchmark requires of its own run: a figure of something that went wrong is worth nothing.

A requirement that is not met ends the benchmark with exit code 1 and its message. An `assert` would go with `-O`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class CheckFailedError(Exception):
    """A benchmark measured something else than what it says. The text says what was wrong."""


def require(condition: bool, message: str) -> None:
    """End the benchmark with this message unless the condition holds."""
    if not condition:
        raise CheckFailedError(message)


def require_present(value: T | None, message: str) -> T:
    """The same for a value that must be there, and is given back."""
    if value is None:
        raise CheckFailedError(message)
    return value


def require_equal(what: str, found: object, expected: object) -> None:
    """The same for a value that is known before."""
    require(found == expected, f"{what}: {_short(found)}, expected {_short(expected)}")


def require_verdicts(what: str, verdicts: Iterable[Any], outcomes: Iterable[str]) -> None:
    """Each verdict of an engine has its expected outcome, and no interceptor failed on the way to it."""
    for number, (verdict, outcome) in enumerate(zip(verdicts, outcomes, strict=True)):
        call = f"{what}, call {number} ({_short(verdict.payload.arguments)})"
        require(not verdict.errors, f"{call}: interceptors failed: {_short(verdict.errors)}")
        require_equal(call, verdict.outcome, outcome)


def require_ledger(
    directory: Path, decisions: dict[str, int], *, finished: int | None = None, unanswered: int = 0
) -> None:
    """The ledger in this directory verifies, and has as many records of each decision as calls were made.

    Every call has an outcome, too, unless `finished` says how many have. There may be a few more of each, of calls
    whose client was gone before their answer came. To be called when its writer has closed it.
    """
    from interpose.record.ledger import verify_directory
    from interpose.record.ledger.chain import entries_of
    from interpose.record.store import open_store

    require((directory / "ledger.db").is_file(), f"no ledger was written in {directory}")
    store = open_store(directory / "ledger.db", read_only=True)
    try:
        require_verified(verify_directory(directory, store))
        kept: Counter[str] = Counter()
        for writer in store.writers():
            for entry in entries_of(store, writer):
                kept[entry.decision if entry.kind == "decided" else entry.kind] += 1
    finally:
        store.close()
    expected = decisions | {"finished": sum(decisions.values()) if finished is None else finished}
    for name, count in expected.items():
        more = f" to {count + unanswered}" if unanswered else ""
        require(
            count <= kept[name] <= count + unanswered,
            f"{name} in the ledger: {kept[name]} records, expected {count}{more}",
        )


def ledger_of_home(home: Path) -> Path:
    """Where the ledger of a process is that has this home, and nothing else in its environment that says so."""
    return home / ".local" / "state" / "interpose" / "ledger"


def require_verified(verification: Any) -> None:
    """A ledger's verification found nothing broken, and looked at signatures."""
    broken = "; ".join(f"{one.writer} {one.seq}: {one.why}" for one in verification.broken[:3])
    require(verification.ok, f"the ledger does not verify: {broken}")
    require(verification.signed, "the ledger was verified without its key")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
