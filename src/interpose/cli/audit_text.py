"""How records are shown to a person: a line each, or everything about one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from interpose.cli.audit_query import time_text
from interpose.cli.check import encoded
from interpose.cli.rendering import Ink, columns, cut, visible
from interpose.ledger import Record

COLOURS = {"allow": "32", "rewrite": "36", "ask": "33", "deny": "31"}
_OUTCOMES = {"success": "32", "error": "31", "denied": "2", "unknown": "33"}
_SUBJECTS = ("command", "path", "file_path", "url", "pattern", "query")
_WIDEST = 24
_NO_LIMIT = 1 << 30


def subject(record: Record) -> str:
    """What a call was about, in one line."""
    arguments = record.arguments
    if isinstance(arguments, dict):
        for name in _SUBJECTS:
            if isinstance(value := arguments.get(name), str) and value:
                return visible(value)
        return visible(encoded(arguments).decode()) if arguments else ""
    return visible(" ".join(effect.resource for effect in record.effects))


def duration(nanoseconds: int) -> str:
    """A time span for people."""
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1_000)):
        if nanoseconds >= size:
            value = nanoseconds / size
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return f"{nanoseconds} ns"


def lines(records: Sequence[Record], ink: Ink, width: int | None) -> list[str]:
    """One line a record, in columns. No line is wider than `width`; None is as wide as it needs to be."""
    table = [_cells(record) for record in records]
    widths = [max((columns(row[at]) for row in table), default=0) for at in range(len(_COLUMNS))]
    shown: list[str] = []
    for record, row in zip(records, table, strict=True):
        cells = [cell + " " * (wide - columns(cell)) for cell, wide in zip(row, widths, strict=True)]
        used = sum(widths) + 2 * len(widths)
        what = cut(subject(record), max(8, (_NO_LIMIT if width is None else width) - used))
        inked = [colour(ink, record, cell) for (_, colour), cell in zip(_COLUMNS, cells, strict=True) if cell]
        shown.append("  ".join((*inked, what)).rstrip())
    return shown


def _cells(record: Record) -> list[str]:
    return [cell(record) for cell, _ in _COLUMNS]


def _short(text: str) -> str:
    return cut(visible(text), _WIDEST)


Colour = Callable[[Ink, Record, str], str]


def _dim(ink: Ink, _record: Record, cell: str) -> str:
    return ink(cell, "2")


def _plain(_ink: Ink, _record: Record, cell: str) -> str:
    return cell


_COLUMNS: tuple[tuple[Callable[[Record], str], Colour], ...] = (
    (lambda record: f"#{record.position}", _dim),
    (lambda record: time_text(record.time_ns), _dim),
    (lambda record: record.decision, lambda ink, record, cell: ink(cell, COLOURS.get(record.decision, "0"))),
    (lambda record: record.outcome, lambda ink, record, cell: ink(cell, _OUTCOMES[record.outcome])),
    (lambda record: duration(record.duration_ns) if record.outcome in ("success", "error") else "", _dim),
    (lambda record: _short(record.agent), _plain),
    (lambda record: _short(record.tool), lambda ink, _record, cell: ink(cell, "1")),
    (lambda record: _short(record.rule), _plain),
)


def page(record: Record, ink: Ink) -> str:
    """Everything about one call."""
    head = ink(record.decision.upper(), f"1;{COLOURS.get(record.decision, '0')}")
    parts = [f"{head}  {ink(visible(record.tool), '1')}  {ink(record.outcome, _OUTCOMES[record.outcome])}"]
    if record.reason:
        parts.append(f"  {visible(record.reason)}")
    facts = _facts(record)
    names = max(len(name) for name, _ in facts)
    parts += ["", *(f"  {ink(f'{name:{names}}', '2')}  {value}" for name, value in facts)]
    parts += _block("arguments", record.arguments, ink)
    if record.findings:
        parts += ["", ink("findings", "1")]
        for found in record.findings:
            watched = " (watch)" if found.mode == "watch" else ""
            rule = f" {visible(found.rule)}" if found.rule else ""
            said = ink(f"{found.said:7}", COLOURS.get(found.said, "2"))
            parts.append(f"  {said}  {visible(found.interceptor)}{rule}{watched}: {visible(found.reason)}")
    if record.effects:
        parts += ["", ink("effects", "1")]
        kinds = max(len(effect.kind) for effect in record.effects)
        parts += [f"  {each.kind:{kinds}}  {each.certainty:8}  {visible(each.resource)}" for each in record.effects]
    if record.timings:
        parts += ["", ink("interceptors", "1")]
        longest = max(len(visible(name)) for name, _ in record.timings)
        parts += [f"  {visible(name):{longest}}  {duration(spent):>8}" for name, spent in record.timings]
    return "\n".join([*parts, *_block("result", record.result, ink)])


def _facts(record: Record) -> list[tuple[str, str]]:
    outcome: str = "never came" if record.outcome == "unknown" else record.outcome
    if record.exit_code is not None:
        outcome += f", exit code {record.exit_code}"
    if record.outcome in ("success", "error"):
        outcome += f", {duration(record.duration_ns)}, {record.bytes:,} bytes"
    facts = [
        ("time", f"{time_text(record.time_ns)} ({time_text(record.time_ns, utc=True)} UTC)"),
        ("outcome", outcome),
        ("call", record.call_id),
        ("session", record.session),
        ("agent", record.agent),
        ("role", record.role),
        ("principal", record.principal),
        ("directory", record.cwd),
        ("trace", record.trace_id),
        ("source", record.source),
        ("asked as", record.original_name if record.original_name != record.tool else ""),
        ("rule", record.rule),
        ("approver", record.approver),
        ("policy", record.policy),
        ("rewritten", "yes" if record.rewritten else ""),
        ("decided in", duration(record.elapsed_ns)),
        ("entry", f"{record.seq} of writer {record.writer}"),
    ]
    return [(name, visible(value)) for name, value in facts if value]


def _block(name: str, value: Any, ink: Ink) -> list[str]:
    if value is UNSET or value is None:
        return []
    text = value if isinstance(value, str) else msgspec.json.format(encoded(value), indent=2).decode()
    return ["", ink(name, "1"), *(f"  {visible(line)}" for line in text.split("\n"))]
