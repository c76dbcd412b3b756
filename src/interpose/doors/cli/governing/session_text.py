"""How sessions are shown to a person. Ids, names and reasons are others' texts: nothing of them steers the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from interpose.composition.service.seen_sessions import SeenSession
from interpose.doors.cli.explaining.verdict_text import Ink, columns, cut, visible
from interpose.doors.cli.shared.terminal import hanging
from interpose.rules.governance.sessions.session_views import GovernedDetail, ShownAgent, ShownHalt

STATES = {
    "created": "2", "active": "32", "compacted": "36", "idle": "2", "interrupted": "33", "resumed": "36", "ended": "2",
    "halted": "1;31", "-": "2",
}  # fmt: skip
_HEADS = ("session", "state", "role", "host", "agents", "calls", "denied", "asked", "last active")
_WIDEST = (36, 11, 20, 14, 6, 7, 6, 6, 16)
_RIGHT = frozenset({"agents", "calls", "denied", "asked"})
_MOST_SHOWN = 20


def table(rows: Sequence[SeenSession], ink: Ink, width: int) -> Iterator[str]:
    """A line for each session, aligned, with a head."""
    if not rows:
        return
    cells = [_cells(row) for row in rows]
    widths = [
        min(widest, max(len(head), *(columns(row[at]) for row in cells)))
        for at, (head, widest) in enumerate(zip(_HEADS, _WIDEST, strict=True))
    ]
    yield ink(_line(_HEADS, widths), "2")
    for row in cells:
        shown = [cut(cell, wide) for cell, wide in zip(row, widths, strict=True)]
        line = _line(shown, widths)
        state = shown[1]
        at = widths[0] + 2
        yield f"{line[:at]}{ink(state, STATES.get(state, '0'))}{line[at + len(state) :]}" if line.isascii() else line
    for one in rows:
        if one.governed is not None and (halt := one.governed.halt) is not None:
            head = f"{cut(visible(one.id), widths[0])}  halted: "
            yield cut(f"{head}{visible(halt.reason)}", max(80, width))


def _cells(row: SeenSession) -> tuple[str, ...]:
    governed = row.governed
    return (
        visible(row.id) or "-",
        governed.state if governed is not None else "-",
        (visible(governed.role) or "-") if governed is not None else "-",
        visible(governed.host if governed is not None and governed.host else row.agent) or "-",
        str(governed.agents) if governed is not None else "-",
        str(row.calls),
        str(row.deny),
        str(row.ask),
        _moment(row.last),
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    parts = []
    for head, cell, wide in zip(_HEADS, cells, widths, strict=True):
        blank = " " * max(0, wide - columns(cell))
        parts.append(blank + cell if head in _RIGHT else cell + blank)
    return "  ".join(parts).rstrip()


def detail_text(shown: GovernedDetail, ink: Ink) -> str:
    """Everything about a governed session."""
    state = ink(shown.state.upper(), f"1;{STATES[shown.state].removeprefix('1;')}")
    lines = [f"{state}  {ink(visible(shown.id), '1')}", ""]
    if shown.halt is not None:
        lines += [*_halted(shown.halt, ink), ""]
    lines += [f"  {ink(f'{name:10}', '2')}  {visible(value)}" for name, value in _facts(shown) if value]
    counts = shown.counts
    told = [f"{getattr(counts, name)} {name}" for name in ("calls", "denials", "questions", "errors", "violations",
                                                             "spawns", "compactions", "tokens")
            if getattr(counts, name)]  # fmt: skip
    if counts.cost_micros:
        told.append(f"cost {counts.cost_micros / 1e6:.2f}")
    lines += ["", f"  {ink('counted', '1')}  {', '.join(told) or 'nothing yet'}"]
    if shown.budgets:
        lines += ["", f"  {ink('budgets', '1')}"]
        lines += [
            f"    {each.per:9}  {each.what:9}  {each.text or f'{each.spent:,} of {each.limit:,}'}"
            for each in shown.budgets
        ]
    if shown.agents:
        lines += ["", f"  {ink('agents', '1')}", *(f"    {line}" for line in tree(shown.agents))]
    lines += _delegations(shown, ink)
    lines += _violations(shown, ink)
    if shown.checkpoints:
        lines += ["", f"  {ink('halts', '1')}  what it was at is in these files"]
        lines += [f"    {_moment(one.at)}  {visible(one.path)}" for one in shown.checkpoints[:_MOST_SHOWN]]
    return "\n".join(lines)


def _halted(halt: ShownHalt, ink: Ink) -> Iterator[str]:
    yield hanging(f"  {ink('halted', '1;31')}      ", visible(halt.reason))
    yield f"  {ink('by', '2')}          {visible(halt.by)}, {_moment(halt.at)}"
    if halt.checkpoint:
        yield f"  {ink('context', '2')}     {visible(halt.checkpoint)}"
    yield f"  {ink('to go on', '2')}    {visible(halt.how_to_lift)}"


def _facts(shown: GovernedDetail) -> Iterator[tuple[str, str]]:
    yield "key", shown.key if shown.key != shown.id else ""
    yield "was", shown.was if shown.state == "halted" else ""
    yield "host", shown.host
    yield "project", shown.project
    yield "principal", shown.principal
    yield "began", _moment(shown.began)
    yield "active", _moment(shown.active)
    yield "ended", _moment(shown.ended)
    yield "stall", shown.stall


def tree(agents: Sequence[ShownAgent]) -> list[str]:
    """The agents below those that started them. Whoever is not reached that way stands at the end."""
    children: dict[str, list[ShownAgent]] = {}
    for one in agents:
        if one.depth or one.id:
            children.setdefault(one.parent, []).append(one)
    roots = [one for one in agents if not one.depth and not one.id] or [one for one in agents if not one.depth]
    lines: list[str] = []
    seen: set[str] = set()

    def add(one: ShownAgent, indent: int) -> None:
        if one.id in seen or len(lines) >= _MOST_SHOWN * 5:
            return
        seen.add(one.id)
        role = f"  {visible(one.role)}" if one.role else "  no role"
        name = visible(one.name) or ("main" if not one.id else visible(one.id))
        known = f"  {visible(one.id)}" if one.id and one.name else ""
        lines.append(f"{'  ' * min(indent, 20)}{name}{role}{known}")
        for child in children.get(one.id, ()):
            if child is not one:
                add(child, indent + 1)

    for one in (*roots, *agents):
        add(one, 0 if one in roots else 1)
    return lines


def _delegations(shown: GovernedDetail, ink: Ink) -> list[str]:
    if not shown.delegations:
        return []
    newest = shown.delegations[-_MOST_SHOWN:]
    left = len(shown.delegations) - len(newest)
    lines = [
        "",
        f"  {ink('delegations', '1')}" + (f"  the newest {len(newest)} of {left + len(newest)}" if left else ""),
    ]
    for one in newest:
        to = visible(one.to_role or one.target)
        lines.append(f"    {one.state:8}  {visible(one.from_role) or 'main'} -> {to}  {_moment(one.created)}".rstrip())
    return lines


def _violations(shown: GovernedDetail, ink: Ink) -> list[str]:
    if not shown.violations:
        return []
    lines = ["", f"  {ink('violations', '1')}  the newest; all: interpose audit search --session {visible(shown.id)}"]
    for one in shown.violations[-_MOST_SHOWN:]:
        who = visible(one.role) or "no role"
        lines.append(f"    {_moment(one.at)}  {one.said:5}  {who}  {visible(one.tool)}  {visible(one.rule)}")
    return lines


def _moment(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M}"
