"""Which ledger is meant, and which of its records: the arguments that the acts of `interpose audit` share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from msgspec import Struct

from interpose.core.config.load import load
from interpose.core.errors import LedgerError, StoreError, text_of
from interpose.core.formats.counted import plural
from interpose.core.types import EffectKind, Outcome
from interpose.doors.cli.auditing.kept_store import require_not_gone
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.shared.closed_values import one_of
from interpose.record.ledger import AnchorPlace, RecoveryReport, places_of, recover_all, recover_ledger
from interpose.record.ledger.times import moment_ns
from interpose.record.store import POSTGRES_SCHEMES, is_kept, open_kept, open_store
from interpose.record.store.protocols import Query, Store

_FILTERS = {
    "request": "calls that came in the request of this id: X-Request-ID, info.request_id, or what `run` prints",
    "session": "calls of this session",
    "agent": "calls of this agent: as the agent column has it",
    "tool": "calls of this tool",
    "decision": "allow, rewrite, ask or deny",
    "rule": "calls that this rule decided or rewrote, or whose result it rewrote or withheld",
    "effect": "calls with this effect, such as fs.delete",
    "path": "calls that touch this path or something under it",
    "host": "calls that reach this host",
}
_CLOSED: dict[str, tuple[str, ...]] = {"decision": get_args(Outcome), "effect": get_args(EffectKind)}


class Opened(Struct, frozen=True):
    """A ledger that can be read. `directory` is where its key and its journals lie."""

    store: Store
    directory: Path
    missing: str = ""
    """Where the configured ledger will be, if nothing was recorded yet: all lists are empty then."""


def meant(args: argparse.Namespace) -> tuple[str, Path]:
    """The file or the address of the ledger that is meant, and where its key and its journals lie.

    What the arguments don't say is as it is configured. Raises ConfigError.
    """
    if args.ledger and not args.ledger.startswith(POSTGRES_SCHEMES):
        return args.ledger, Path(args.directory or Path(args.ledger).parent)
    config = load().config
    configured = Path(config.ledger.directory)
    return args.ledger or config.store.url or str(configured / "ledger.db"), Path(args.directory or configured)


def anchors_meant(args: argparse.Namespace) -> tuple[AnchorPlace, ...]:
    """Where heads of the configured ledger are kept besides it. A file that is named by itself has none."""
    if args.ledger and not args.ledger.startswith(POSTGRES_SCHEMES):
        return ()
    return places_of(load().config.ledger.anchor)


def add_ledger(parser: argparse.ArgumentParser) -> None:
    """`--ledger` and where its key lies."""
    parser.add_argument(
        "--ledger",
        metavar="PATH|ADDRESS",
        help="a ledger file, or postgresql://... (default: the one that is configured, see `interpose config show`)",
    )
    parser.add_argument(
        "--directory", metavar="DIR", help="where the ledger's key and journals are (default: where the file is)"
    )


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Everything that narrows down records."""
    for name, meaning in _FILTERS.items():
        known = _CLOSED.get(name)
        kind = one_of(name, known, empty=True) if known else str
        parser.add_argument(f"--{name}", default="", type=kind, help=meaning)
    parser.add_argument("--text", default="", help="calls whose arguments or reasons contain this")
    parser.add_argument("--since", default="", metavar="TIME", help="from then on: 90m, 2h, 7d, or 2026-01-31T08:00")
    parser.add_argument("--until", default="", metavar="TIME", help="before then")


def add_canaries(parser: argparse.ArgumentParser) -> None:
    """`--canaries`."""
    parser.add_argument("--canaries", action="store_true", help="also the calls that `interpose doctor` tried out")


def canaries(count: int) -> str:
    """So many of them."""
    return f"{plural(count, 'canary', 'canaries')} of `interpose doctor`"


def query_of(args: argparse.Namespace, now: float) -> Query:
    """The query that the arguments ask for. UsageError if a time is none."""
    words = {name: getattr(args, name) for name in _FILTERS}
    text = getattr(args, "words", None) or args.text
    return Query(**words, text=text, since_ns=_time_ns(args.since, now), until_ns=_time_ns(args.until, now))


def _time_ns(text: str, now: float) -> int | None:
    try:
        return moment_ns(text, now) if text else None
    except ValueError as error:
        raise UsageError(str(error)) from None


def time_text(time_ns: int, *, utc: bool = False) -> str:
    """A time for people."""
    moment = datetime.fromtimestamp(time_ns / 1e9, UTC)
    return f"{moment if utc else moment.astimezone():%Y-%m-%d %H:%M:%S}"


@contextmanager
def opened(args: argparse.Namespace, *, must_exist: bool = False) -> Iterator[Opened]:
    """The ledger that is meant, with what writers that have ended left in their journals.

    Where nothing was recorded yet it is empty, or an error if it `must_exist`.
    """
    where, directory = meant(args)
    is_new = not where.startswith(POSTGRES_SCHEMES) and not is_kept(where)
    if is_new and args.ledger:
        raise StoreError(f"there is no ledger at {where}")
    require_not_gone(where, directory)
    if is_new and must_exist:
        raise StoreError(f"nothing was recorded yet: there is no ledger at {where}")
    if not is_new:
        _recover(where, directory)
    store = open_kept(where) if is_new else open_store(where, read_only=True)
    try:
        yield Opened(store, directory, where if is_new else "")
    finally:
        store.close()


def recover_meant(args: argparse.Namespace) -> RecoveryReport:
    """Recover the ledger that is meant. Raises what opening it raises."""
    from interpose.record.store.set_aside import set_aside_if_damaged

    where, directory = meant(args)
    told = ""
    if not where.startswith(POSTGRES_SCHEMES):
        aside = directory / "set-aside" / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        if why := set_aside_if_damaged(Path(where), aside):
            told = f"{where} could not be read and lies in {aside}: {why}"
    return recover_ledger(directory, lambda: open_store(where), told)


def _recover(where: str, directory: Path) -> None:
    """Bring what only journals have into the store. If we may not, what is there is shown without it."""
    if not any((directory / "journals").glob("*/*.journal")):
        return
    try:
        store = open_store(where)
        try:
            recover_all(directory, store)
        finally:
            store.close()
    except (StoreError, LedgerError, OSError) as error:
        print(f"interpose audit: journals were left out: {text_of(error)}", file=sys.stderr)
