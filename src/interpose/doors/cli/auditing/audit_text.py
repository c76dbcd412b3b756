"""How records are shown to a person: a line each, or everything about one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from interpose.core.types import Finding
from interpose.doors.cli.auditing.audit_query import time_text
from interpose.doors.cli.explaining.verdict_text import Ink, columns, cut, visible
from interpose.doors.cli.shared.json_output import encoded
from interpose.record.ledger import Record

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
    if records and width is not None:  # a terminal has a person before it; a pipe wants records alone
        widths = [max(wide, len(head)) if wide else 0 for wide, head in zip(widths, _HEADS, strict=True)]
        heads = [f"{head:{wide}}" for head, wide in zip(_HEADS, widths, strict=True) if wide]
        shown.append(ink("  ".join((*heads, "call")), "2"))
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


_HEADS = ("", "time", "said", "ended", "took", "agent", "tool", "rule")


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
    if record.original_arguments is not UNSET:
        parts += ["", ink("rewritten", "1"), *_changes(record.original_arguments, record.arguments, ink)]
    parts += _findings("findings", record.findings, ink)
    if record.effects:
        parts += ["", ink("effects", "1")]
        kinds = max(len(effect.kind) for effect in record.effects)
        parts += [f"  {each.kind:{kinds}}  {each.certainty:8}  {visible(each.resource)}" for each in record.effects]
    parts += _timings("interceptors", record.timings, ink)
    if record.after is not None:
        parts += _findings("findings about the result", record.after.said.findings, ink)
        parts += _timings("interceptors of the result", record.after.timings, ink)
    parts += _block("result", record.result, ink)
    return "\n".join([*parts, *_block("what the tool gave", record.original_result, ink)])


def _findings(title: str, findings: Sequence[Finding], ink: Ink) -> list[str]:
    if not findings:
        return []
    parts = ["", ink(title, "1")]
    for found in findings:
        watched = " (watch)" if found.mode == "watch" else ""
        rule = f" {visible(found.rule)}" if found.rule else ""
        said = ink(f"{found.said:7}", COLOURS.get(found.said, "2"))
        parts.append(f"  {said}  {visible(found.interceptor)}{rule}{watched}: {visible(found.reason)}")
    return parts


def _timings(title: str, timings: Sequence[tuple[str, int]], ink: Ink) -> list[str]:
    if not timings:
        return []
    longest = max(len(visible(name)) for name, _ in timings)
    return ["", ink(title, "1"), *(f"  {visible(name):{longest}}  {duration(spent):>8}" for name, spent in timings)]


def _changes(old: Any, new: Any, ink: Ink) -> list[str]:
    """What came in and what ran instead, without what is the same in both."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return _changed_text(_text(old), _text(new), ink)
    shown: list[str] = []
    for name in dict.fromkeys((*old, *new)):
        before, now = old.get(name, UNSET), new.get(name, UNSET)
        if before != now:
            shown.append(f"  {visible(name)}")
            shown += _changed_text(_text(before), _text(now), ink)
    return shown


def _changed_text(old: str, new: str, ink: Ink) -> list[str]:
    # Equal lines at both ends are left out; a true difference takes too long for what an agent may choose.
    before, now = (text.split("\n") if text else [] for text in (old, new))
    head = next((at for at, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), min(len(before), len(now)))
    before, now = before[head:], now[head:]
    while before and now and before[-1] == now[-1]:
        before.pop()
        now.pop()
    return [ink(f"  - {visible(line)}", "31") for line in before] + [ink(f"  + {visible(line)}", "32") for line in now]


def _facts(record: Record) -> list[tuple[str, str]]:
    outcome: str = record.outcome
    if outcome == "unknown":
        outcome = "waits for an answer" if record.decision == "ask" else "never came"
    if record.exit_code is not None:
        outcome += f", exit code {record.exit_code}"
    if record.outcome in ("success", "error"):
        outcome += f", {duration(record.duration_ns)}, {record.bytes:,} bytes"
    if record.after is not None and record.after.result != "passed":
        outcome += f", result {record.after.result}"
    not_kept = record.original_arguments is UNSET
    other_request = record.result_request_id if record.result_request_id != record.request_id else ""
    facts = [
        ("time", f"{time_text(record.time_ns)} ({time_text(record.time_ns, utc=True)} UTC)"),
        ("outcome", outcome),
        ("call", record.call_id),
        ("request", record.request_id),
        ("result came in", other_request),
        ("session", record.session),
        ("agent", record.agent),
        ("role", record.role),
        ("principal", record.principal),
        ("claims to be", record.claimed or record.claimed_principal or ""),
        ("claimed session", record.claimed_session or ""),
        ("client", record.claimed_client or ""),
        ("directory", record.cwd),
        ("trace", record.trace_id),
        ("source", record.source),
        ("asked as", record.original_name if record.original_name != record.tool else ""),
        ("rule", record.rule),
        ("approved by", record.approver),
        ("question", record.approval),
        ("policy", record.policy),
        ("rewritten", "yes, from values that are not kept" if record.rewritten and not_kept else ""),
        ("result", "" if record.after is None else record.after.said.reason),
        ("result's rule", "" if record.after is None else record.after.rule),
        ("decided in", duration(record.elapsed_ns)),
        ("entry", f"{record.seq} of writer {record.writer}"),
    ]
    return [(name, visible(value)) for name, value in facts if value]


def _block(name: str, value: Any, ink: Ink) -> list[str]:
    if value is UNSET or value is None:
        return []
    return ["", ink(name, "1"), *(f"  {visible(line)}" for line in _text(value).split("\n"))]


def _text(value: Any) -> str:
    if value is UNSET:
        return ""
    return value if isinstance(value, str) else msgspec.json.format(encoded(value), indent=2).decode()
