"""`interpose governance report`: what enforcing would have done. A part of the verb `governance`, which calls it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence

import msgspec

from interpose.core.errors import ConfigError, InterposeError, text_of
from interpose.core.formats.counted import plural
from interpose.doors.cli import EXIT_CONFIG, EXIT_INTERNAL, EXIT_USAGE
from interpose.doors.cli.auditing.audit_query import add_ledger, opened
from interpose.doors.cli.auditing.kept_store import with_remedy
from interpose.doors.cli.explaining.verdict_text import Ink, columns, cut, visible, visible_lines
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import colours_wanted, hanging
from interpose.record.ledger import Record, search
from interpose.record.ledger.canaries import SESSION as CANARY
from interpose.record.ledger.times import moment_ns
from interpose.record.store.protocols import EntryStore, Query
from interpose.rules.governance.report import GovernanceReport, WhoReport, report_of

REPORT_HELP = "say what enforcing governance.yaml would have done, from the ledger"
MOST_RECORDS = 200_000
_PAGE = 2_000
_SHOWN = 10


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    """What `governance report` understands."""
    parser.add_argument("--since", default="7d", metavar="TIME", help="from then on: 90m, 2h, 7d (default: 7d)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_ledger(parser)


def run_report(args: argparse.Namespace) -> int:
    """Run `interpose governance report`. Exit codes are those of `audit`: 0 done, 64, 70, 78."""
    try:
        since_ns = moment_ns(args.since, time.time())
    except ValueError as error:
        print(f"interpose governance report: --since: {visible(text_of(error))}", file=sys.stderr)
        return EXIT_USAGE
    try:
        with opened(args) as ledger:
            report = reported(ledger.store, since_ns)
    except BrokenPipeError:
        raise  # not an error of ours: see cli/__init__.py
    except ConfigError as error:
        code, problem = EXIT_CONFIG, f"a configuration that can't be loaded\n{error}"
    except (InterposeError, OSError) as error:
        code, problem = EXIT_INTERNAL, with_remedy(error)
    else:
        if args.json:
            print_json(msgspec.to_builtins(report))
        else:
            print(report_text(report, args.since, Ink(colours_wanted())))
        return 0
    print(f"interpose governance report: {visible_lines(problem)}", file=sys.stderr)
    return code


def reported(store: EntryStore, since_ns: int, most: int = MOST_RECORDS) -> GovernanceReport:
    """The report over the newest records since then. Raises StoreError."""
    more = False

    def records() -> Iterator[Record]:
        nonlocal more
        after: int | None = None
        seen = 0
        while page := search(store, Query(since_ns=since_ns), _PAGE, after):
            for record in page:
                if seen >= most:
                    more = True
                    return
                if record.session != CANARY:
                    seen += 1
                    yield record
            after = page[-1].position

    report = report_of(records())
    return msgspec.structs.replace(report, cut=more)


def report_text(report: GovernanceReport, since: str, ink: Ink) -> str:
    """The report for people."""
    looked = f"{plural(report.calls, 'call')} of {plural(report.sessions, 'session')} since {visible(since)}"
    if report.cut:
        looked += f"; only the newest {report.calls:,} were looked at"
    if not report.rules:
        return f"{looked}: governance had nothing to say against any of them"
    word = ink(f"{report.would_deny} denied, {report.would_ask} asked about", "1")
    lines = [f"{looked}", f"enforcing what is only watched would have meant: {word}"]
    if report.halts:
        lines.append(f"and {plural(len(report.halts), 'session')} halted")
    lines += ["", ink("rules", "1"), *_table(
        ("rule", "would deny", "would ask", "denied", "asked", "sessions"),
        [(one.rule, one.would_deny, one.would_ask, one.denied, one.asked, one.sessions) for one in report.rules],
    )]  # fmt: skip
    for title, rows in (("roles", report.roles), ("agents", report.agents), ("tools", report.tools)):
        lines += _who(title, rows, ink)
    if report.halts:
        lines += ["", ink("sessions that would have been halted", "1")]
        lines += [f"  {visible(one.session)}  {visible(one.reason)}" for one in report.halts[:_SHOWN]]
    if report.budgets:
        lines += ["", ink("budgets that would have run out", "1")]
        lines += [f"  {visible(one.reason)}  ({plural(one.calls, 'call')})" for one in report.budgets[:_SHOWN]]
    lines += ["", ink("examples", "1")]
    for rule in report.rules[:_SHOWN]:
        for one in rule.examples[:1]:
            who = visible(one.role) or "no role"
            lines.append(hanging(f"  {one.said:4}  {visible(rule.rule)}  ", f"{who}, {visible(one.tool)}: "
                                 f"{visible(one.reason)} (interpose audit show {visible(one.call_id)})"))  # fmt: skip
    if report.advice:
        lines += ["", ink("before you enforce", "1")]
        lines += [hanging("  - ", visible(one.text)) for one in report.advice[:_SHOWN]]
    return "\n".join(lines)


def _who(title: str, rows: Sequence[WhoReport], ink: Ink) -> list[str]:
    if not rows:
        return []
    table = _table((title[:-1], "would deny", "would ask"), [(one.name, one.would_deny, one.would_ask) for one in rows])
    return ["", ink(title, "1"), *table]


def _table(heads: Sequence[str], rows: Sequence[tuple[str | int, ...]]) -> list[str]:
    cells = [[cut(visible(str(cell)), 48) for cell in row] for row in rows]
    widths = [max(len(head), *(columns(row[at]) for row in cells)) for at, head in enumerate(heads)]
    return [_row(row, widths) for row in (list(heads), *cells)]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = cells
    shown = [first + " " * (widths[0] - columns(first))]
    shown += [" " * (wide - columns(cell)) + cell for cell, wide in zip(rest, widths[1:], strict=True)]
    return f"  {'  '.join(shown)}".rstrip()
