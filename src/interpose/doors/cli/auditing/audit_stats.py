"""`interpose audit stats`: what people want to see of a ledger at one glance."""

from __future__ import annotations

from collections.abc import Sequence

from interpose.core.formats.counted import plural
from interpose.doors.cli.auditing.audit_query import canaries, time_text
from interpose.doors.cli.auditing.audit_text import COLOURS, duration
from interpose.doors.cli.explaining.verdict_text import Ink, columns, cut, visible
from interpose.record.ledger.stats import Stats

_DECISIONS = ("deny", "ask", "rewrite", "allow")
_MARKS = {"deny": "█", "ask": "▓", "rewrite": "▒", "allow": "░"}
"""Told apart without colours too."""
_NAME_WIDTH = 32


def drawn(shown: Stats, ink: Ink, width: int) -> str:
    """The statistics with bars, for a terminal of this width."""
    if not shown.total:
        return f"no decisions{_left_out(shown)}"
    parts = [f"{ink(plural(shown.total, 'decision'), '1')}   {_legend(shown.decisions, ink)}{_left_out(shown)}"]
    parts += ["", ink("over time", "1")]
    rows = [(time_text(stretch.start_ns), stretch.decisions) for stretch in shown.over_time]
    parts += _bars(rows, ink, width)
    for title, counted in (("rules that decided most", shown.rules), ("tools", shown.tools)):
        if counted:
            parts += ["", ink(title, "1"), *_bars([(name, {"": count}) for name, count in counted.items()], ink, width)]
    parts += ["", ink("agents", "1"), *_bars(list(shown.agents.items()), ink, width)]
    if shown.interceptors:
        parts += ["", ink(f"slowest interceptors of the newest {plural(shown.interceptors_of, 'call')}", "1")]
        names = [_name(each.interceptor) for each in shown.interceptors]
        wide = max(map(columns, names))
        slowest = max(each.p50_ns for each in shown.interceptors)
        for name, each in zip(names, shown.interceptors, strict=True):
            figures = f"p50 {duration(each.p50_ns):>8}  p99 {duration(each.p99_ns):>8}  max {duration(each.max_ns):>8}"
            room = width - wide - len(figures) - 6
            bar = "█" * _length(each.p50_ns, slowest, room)
            parts.append(f"  {name}{' ' * (wide - columns(name))}  {figures}  {ink(bar, '35')}".rstrip())
    return "\n".join(parts)


def _left_out(shown: Stats) -> str:
    return f"   ({canaries(shown.left_out)} not counted: --canaries counts them)" if shown.left_out else ""


def _legend(decisions: dict[str, int], ink: Ink) -> str:
    known = [word for word in _DECISIONS if word in decisions]
    return "   ".join(f"{ink(_MARKS[word], COLOURS[word])} {word} {decisions[word]:,}" for word in known)


def _bars(rows: Sequence[tuple[str, dict[str, int]]], ink: Ink, width: int) -> list[str]:
    """A bar for each row, the longest as long as there is room, in the colours of its decisions."""
    names = [_name(name) for name, _ in rows]
    totals = [sum(counted.values()) for _, counted in rows]
    wide, most = max(map(columns, names), default=0), max(totals, default=0)
    digits = len(f"{most:,}")
    room = width - wide - digits - 6
    shown: list[str] = []
    for name, total, (_, counted) in zip(names, totals, rows, strict=True):
        bar, drawn_so_far, reached = "", 0, 0
        for word, count in sorted(counted.items(), key=lambda item: (*_DECISIONS, item[0]).index(item[0])):
            reached += count
            end = _length(reached, most, room)
            if end > drawn_so_far:
                bar += ink(_MARKS.get(word, "█") * (end - drawn_so_far), COLOURS.get(word, "34"))
            drawn_so_far = end
        shown.append(f"  {name}{' ' * (wide - columns(name))}  {total:>{digits},}  {bar}".rstrip())
    return shown


def _length(value: int, most: int, room: int) -> int:
    """How long a bar is. What is not nothing is at least one mark."""
    return 0 if not value or not most else max(1, round(value / most * max(8, room)))


def _name(name: str) -> str:
    return cut(visible(name), _NAME_WIDTH) or "-"
