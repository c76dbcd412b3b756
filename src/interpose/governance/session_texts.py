"""What an agent is told of its session: when it begins, after a compaction, and when it comes back.

INVARIANT: only words of ours and of the operator's files are in it. Nothing that an agent wrote, no name that it chose,
and nothing of a project's own file, which is a repository's: neither must speak to the agent through us. What is most
urgent stands first, as the text is cut where it would become too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from interpose.formats.plain_text import one_line
from interpose.governance.budgets import Left
from interpose.governance.durations import spoken_ns
from interpose.governance.file_model import ToolsForm
from interpose.governance.first_tools import due
from interpose.governance.rulebook import Role, Seat
from interpose.governance.session_bounds import OPEN, short
from interpose.governance.session_states import time_in
from interpose.governance.sessions import GovernedSession, SessionText
from interpose.types import Context

LONGEST_TEXT = 3000
_LONGEST_LINE = 500
_MOST_NAMED = 24

_HEADS: dict[SessionText, str] = {
    "prefix": "Interpose governs this session. What its rules refuse does not run; a refusal says what to do instead.",
    "reminder": "The context was compacted. Interpose still governs this session, and its rules still hold.",
    "resume": "This session goes on after {away} without a call. Interpose still governs it, and its rules still hold.",
}


def session_text(
    tell: SessionText,
    seats: Sequence[Seat],
    session: GovernedSession,
    context: Context,
    now_ns: int,
    left: Sequence[Left] = (),
) -> str:
    """The text that an agent should read; empty if there is nothing to tell. `left` is what is left of its budgets."""
    if not tell or not seats:
        return ""
    lines = [_HEADS[tell].format(away=spoken_ns(session.away_ns)), *_urgent(seats, session)]
    for seat in seats:
        lines += _rules(seat)
    lines += [*_budgets(left), *_time(session, context, now_ns), *_work(seats, session, context)]
    if tell == "resume":
        lines.append(_so_far(session))
    return _bounded(lines)


def _urgent(seats: Sequence[Seat], session: GovernedSession) -> Iterator[str]:
    if session.halt is not None:
        yield "This session is halted: nothing but reading passes until an operator lifts it. Tell the user."
    for seat in seats:
        if _is_operators(seat) and (names := due(seat, session)) is not None:
            yield f"Before anything else, use one of: {_listed(names)}"


def _rules(seat: Seat) -> Iterator[str]:
    if not _is_operators(seat):
        yield "This project has rules of its own besides these; what they refuse is told when it happens."
        return
    role = seat.role
    if role is None:
        if seat.book.roles and seat.book.unknown_role != "allow":
            yield "You have no role here, so tools may be refused. Tell the user."
        return
    about = f": {one_line(role.description)}" if role.description else ""
    yield f"Your role is {one_line(role.name)}{about}"
    yield from _tools(role.tools)
    denied = tuple(dict.fromkeys(name for ceiling in role.ceilings for name in ceiling.deny))
    if denied:
        yield f"Never: {_listed(denied)}"
    yield from _files_and_commands(role)
    if role.delegates is not None:
        deep = f", at most {role.delegates.depth} deep" if role.delegates.to else ""
        yield f"You may delegate to: {_listed(role.delegates.to) or 'nobody'}{deep}"
    if role.instead:
        yield f"For anything else: {one_line(role.instead)}"


def _tools(tools: ToolsForm) -> Iterator[str]:
    if tools.allow is not None:
        yield f"Tools that you may use: {_listed(tools.allow) or 'none'}"
    if tools.deny:
        yield f"Tools that you may not use: {_listed(tools.deny)}"
    if tools.ask:
        yield f"Tools that a person is asked about: {_listed(tools.ask)}"


def _files_and_commands(role: Role) -> Iterator[str]:
    for what, own, ceilings in (
        ("Files that you may write, by scope", role.write, [ceiling.write for ceiling in role.ceilings]),
        ("Commands that you may run", role.commands, [ceiling.commands for ceiling in role.ceilings]),
    ):
        limits = [] if own is None else [_listed(own) or "none"]
        limits += [f"nothing outside of {_listed(names) or 'none'}" for names in ceilings if names is not None]
        if limits:
            yield f"{what}: {'; '.join(limits)}"


def _budgets(left: Sequence[Left]) -> Iterator[str]:
    for one in left:
        of = one.charge.spoken(one.charge.limit)
        yield f"Left of {one.charge.kind} per {one.charge.per}: {one.charge.spoken(one.amount)} of {of}"


def _time(session: GovernedSession, context: Context, now_ns: int) -> Iterator[str]:
    node = session.agent(short(context.agent_id))
    if node is not None and node.expires_ns:
        yield f"The work that you were given is over in {spoken_ns(node.expires_ns - time_in(session, now_ns))}"


def _work(seats: Sequence[Seat], session: GovernedSession, context: Context) -> Iterator[str]:
    """Work that this agent gave to others. Whom it asked for was its own word: only roles of the operator are named."""
    known = {name for seat in seats if _is_operators(seat) for name in seat.book.roles}
    mine = [one for one in session.delegations if one.state in OPEN and one.by == short(context.agent_id)]
    if mine:
        roles = tuple(dict.fromkeys(one.to_role for one in mine if one.to_role in known))
        named = f" ({_listed(roles)})" if roles else ""
        yield f"Agents that you started and that are still at work: {len(mine)}{named}"


def _so_far(session: GovernedSession) -> str:
    counts = session.counts
    agents = f"{counts.spawns} agents started"
    return f"So far: {counts.calls} calls, {counts.denials} refused, {counts.errors} failed, {agents}"


def _is_operators(seat: Seat) -> bool:
    return seat.book.level != "project"


def _listed(names: Iterable[str]) -> str:
    names = tuple(names)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(one_line(name) for name in names[:_MOST_NAMED]) + more


def _bounded(lines: Iterable[str]) -> str:
    kept: list[str] = []
    room = LONGEST_TEXT
    for line in lines:
        line = line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
        if len(line) + 1 > room:
            break
        kept.append(line)
        room -= len(line) + 1
    return "\n".join(dict.fromkeys(kept))
