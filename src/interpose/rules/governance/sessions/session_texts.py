"""What an agent is told of its session: when it begins, after a compaction, and when it comes back.

INVARIANT: only words of ours and of the operator's files are in it. Nothing that an agent wrote, no name that it chose,
and nothing of a project's own file, which is a repository's: neither must speak to the agent through us. What is most
urgent stands first, as the text is cut where it would become too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from interpose.core.formats.plain_text import one_line
from interpose.core.types import Context, Finding
from interpose.rules.governance.budgets.budgets import Left
from interpose.rules.governance.budgets.durations import spoken_ns
from interpose.rules.governance.files.file_model import ToolsForm
from interpose.rules.governance.files.rulebook import Role, Rulebook, Seat
from interpose.rules.governance.roles.agent_words import agents_told, commands_told, files_told, listed, tools_told
from interpose.rules.governance.roles.first_tools import due
from interpose.rules.governance.roles.identity import host_of
from interpose.rules.governance.sessions.session_bounds import OPEN, short
from interpose.rules.governance.sessions.session_states import time_in
from interpose.rules.governance.sessions.sessions import GovernedSession, SessionText

LONGEST_TEXT = 3000
_LONGEST_LINE = 500

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
    host = host_of(context.source)
    lines = [_HEADS[tell].format(away=spoken_ns(session.away_ns)), *_urgent(seats, session, host)]
    for seat in seats:
        lines += _rules(seat, host)
    lines += [*_budgets(left), *_time(session, context, now_ns), *_work(seats, session, context)]
    if tell == "resume":
        lines.append(_so_far(session))
    return _bounded(lines)


def warning_of(found: Finding) -> str:
    """A warning about a call that was let through all the same."""
    better = f". Better: {one_line(found.instead)}" if found.instead else ""
    return f"Interpose warns ({found.rule}): {one_line(found.reason)}{better}"[:_LONGEST_LINE]


def _urgent(seats: Sequence[Seat], session: GovernedSession, host: str) -> Iterator[str]:
    if session.halt is not None:
        yield "This session is halted: nothing but reading passes until an operator lifts it. Tell the user."
    for seat in seats:
        if _is_operators(seat) and (names := due(seat, session)) is not None:
            yield f"Before anything else, use one of: {listed(tools_told(seat.book, names, host))}"


def _rules(seat: Seat, host: str) -> Iterator[str]:
    if not _is_operators(seat):
        yield "This project has rules of its own besides these; what they refuse is told when it happens."
        return
    role, book = seat.role, seat.book
    if role is None:
        if book.roles and book.unknown_role != "allow":
            yield "You have no role here, so tools may be refused. Tell the user."
        return
    if role.description:
        yield f"Your part here: {one_line(role.description)}"
    yield from _tools(book, role.tools, host)
    denied = tuple(dict.fromkeys(name for ceiling in role.ceilings for name in ceiling.deny))
    if denied:
        yield f"Never: {listed(tools_told(book, denied, host))}"
    yield from _files_and_commands(book, role)
    if role.delegates is not None:
        agents = listed(agents_told(book, role.delegates.to, host))
        deep = f", at most {role.delegates.depth} deep" if agents else ""
        yield f"You may delegate to: {agents or 'nobody'}{deep}"
    if role.instead:
        yield f"For anything else: {one_line(role.instead)}"


def _tools(book: Rulebook, tools: ToolsForm, host: str) -> Iterator[str]:
    if tools.allow is not None:
        yield f"Tools that you may use: {listed(tools_told(book, tools.allow, host)) or 'none'}"
    if tools.deny:
        yield f"Tools that you may not use: {listed(tools_told(book, tools.deny, host))}"
    if tools.ask:
        yield f"Tools that a person is asked about: {listed(tools_told(book, tools.ask, host))}"


def _files_and_commands(book: Rulebook, role: Role) -> Iterator[str]:
    def files(scopes: tuple[str, ...]) -> str:
        return "; ".join(files_told(book, scopes)) or "none"

    def commands(patterns: tuple[str, ...]) -> str:
        return listed(commands_told(patterns)) or "none"

    for what, own, ceilings, told in (
        ("Files that you may write", role.write, [ceiling.write for ceiling in role.ceilings], files),
        ("Commands that you may run", role.commands, [ceiling.commands for ceiling in role.ceilings], commands),
    ):
        limits = [] if own is None else [told(own)]
        limits += [f"nothing but {told(names)}" for names in ceilings if names is not None and names != own]
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
    """Work that this agent gave to others. Whom it asked for was its own word: only the operator's agents are named."""
    mine = [one for one in session.delegations if one.state in OPEN and one.by == short(context.agent_id)]
    if not mine:
        return
    host, roles = host_of(context.source), tuple(dict.fromkeys(one.to_role for one in mine))
    agents = [name for seat in seats if _is_operators(seat) for name in agents_told(seat.book, roles, host)]
    named = f" ({listed(dict.fromkeys(agents))})" if agents else ""
    yield f"Agents that you started and that are still at work: {len(mine)}{named}"


def _so_far(session: GovernedSession) -> str:
    counts = session.counts
    agents = f"{counts.spawns} agents started"
    return f"So far: {counts.calls} calls, {counts.denials} refused, {counts.errors} failed, {agents}"


def _is_operators(seat: Seat) -> bool:
    return seat.book.level != "project"


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
