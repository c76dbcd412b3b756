"""How pins are shown to a person: what a server changed comes first, and nothing of it steers the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from interpose.doors.cli.explaining.verdict_text import Ink, columns, cut, visible
from interpose.record.pins.differences import difference, lines_of
from interpose.record.pins.hidden_text import spelled_out
from interpose.record.pins.pin_rows import PinRow

STATES = {
    "pinned": "32", "changed": "33", "new": "36", "flagged": "31", "removed": "2", "rejected": "31", "tampered": "1;31",
}  # fmt: skip
_WORDS = {"connection": "the server itself", "instructions": "its instructions"}
_KINDS = {"prompts": "prompt ", "resourceTemplates": "template "}


def name_shown(row: PinRow) -> str:
    """What a row is about."""
    if row.kind in _WORDS:
        return _WORDS[row.kind]
    return _KINDS.get(row.kind, "") + visible(spelled_out(row.name))


def table(rows: Sequence[PinRow], ink: Ink, width: int) -> Iterable[str]:
    """A line for each pin, aligned."""
    servers = min(24, max(columns(visible(row.server)) for row in rows))
    names = min(40, max(columns(name_shown(row)) for row in rows))
    for row in rows:
        server, name = cut(visible(row.server), servers), cut(name_shown(row), names)
        since = f"{row.since.astimezone():%Y-%m-%d %H:%M}" if row.since is not None else ""
        head = (
            f"{server}{' ' * (servers - columns(server))}  {name}{' ' * (names - columns(name))}  "
            f"{ink(f'{row.state:8}', STATES[row.state])}  {since:16}"
        )
        remark = _remark(row)
        yield f"{head}  {cut(remark, max(20, width - servers - names - 32))}".rstrip() if remark else head.rstrip()


def _remark(row: PinRow) -> str:
    if row.was:
        return f"was called {visible(row.was)}"
    if row.oddities:
        return visible(" ".join(row.oddities[0].split()))
    return f"by {visible(row.by)}" if row.by and row.state in ("pinned", "rejected") else ""


def whole(row: PinRow, ink: Ink) -> list[str]:
    """Everything about one pin: its state, what is odd, and what changed or what it says."""
    since = f"  {ink(f'since {row.since.astimezone():%Y-%m-%d %H:%M:%S}', '2')}" if row.since is not None else ""
    by = f"  {ink(f'by {visible(row.by)}', '2')}" if row.by else ""
    state = ink(row.state.upper(), f"1;{STATES[row.state]}")
    lines = [f"{state}  {visible(row.server)}  {ink(name_shown(row), '1')}{since}{by}"]
    if row.was:
        lines.append(f"  it has the definition of {visible(row.was)}, which is gone")
    lines += [f"  {ink('!', '1;31')} {visible(spelled_out(each))}" for each in row.oddities]
    if row.trusted and row.offered:
        lines += [_coloured(line, ink) for line in difference(row.trusted, row.offered)]
    elif row.offered:
        lines += [_coloured(f"+{line}", ink) for line in lines_of(row.offered)]
    else:
        lines += [f"  {visible(line)}" for line in lines_of(row.trusted)] if row.trusted else []
    return lines


def _coloured(line: str, ink: Ink) -> str:
    shown = f"  {line[:1]} {visible(line[1:])}"
    colour = {"+": "32", "-": "31"}.get(line[:1])
    return ink(shown, colour) if colour else shown
