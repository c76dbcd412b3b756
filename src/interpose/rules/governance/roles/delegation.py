"""Work that one agent gives to another, as a tree: to whom, how deep, how many, until when.

    delegation_rulings     what is said about a call that starts an agent, and about an agent whose time is up
    with_delegation        the call was let through: the work waits for its agent
    with_agent             an agent is heard of: it takes the oldest work that waits for one of its kind
    with_delegation_ended  the call that asked for it is answered; with_agent_stopped: the agent stopped

The role of an agent comes from its identity alone (identity.py): being asked for as something gives nobody a role. What
a delegation adds is how deep the agent stands and when its time is up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from interpose.core.errors import DelegationError
from interpose.core.formats.plain_text import one_line
from interpose.core.types import Context, ToolCall
from interpose.rules.governance.budgets.durations import duration_ns, spoken_ns
from interpose.rules.governance.files.file_model import DelegationForm
from interpose.rules.governance.files.rulebook import Role, Rulebook, Seat
from interpose.rules.governance.roles.agent_tree import (
    began,
    depth_of,
    is_over,
    roles_above,
    with_agent,
    with_agent_stopped,
    with_delegation_ended,
    with_expired,
)
from interpose.rules.governance.roles.agent_words import agents_told, subject_of
from interpose.rules.governance.roles.identity import host_of, seat_of
from interpose.rules.governance.roles.name_patterns import fits_any
from interpose.rules.governance.roles.spawns import Spawn, delegation_of, spawn_of
from interpose.rules.governance.rulings import RULE_PREFIX, Ruling, RulingWord
from interpose.rules.governance.sessions.session_bounds import MOST_DELEGATIONS, OPEN, short
from interpose.rules.governance.sessions.session_states import time_in
from interpose.rules.governance.sessions.sessions import AgentNode, Delegation, GovernedSession, SpawnCount

__all__ = [
    "DELEGATION_RULE", "delegation_of", "delegation_rulings", "with_agent", "with_agent_stopped", "with_delegation",
    "with_delegation_ended", "with_expired",
]  # fmt: skip

DELEGATION_RULE = f"{RULE_PREFIX}delegation"

SeatOf = Callable[[Rulebook, Context], Seat]

_ANYBODY = DelegationForm(to=("*",))
"""What holds for a role that says nothing: any role but its own and those above it, and the limits of the form."""
_MOST_OPEN = MOST_DELEGATIONS - 56
"""Work that may be open in a session, whatever roles may: what is open is never forgotten."""
_UNNAMED = "sub-agent"


def delegation_rulings(
    seat: Seat, session: GovernedSession, call: ToolCall, now_ns: int, seat_of: SeatOf = seat_of
) -> tuple[Ruling, ...]:
    """What is said about a call under one rulebook. Who has no role is told so elsewhere (roles.py)."""
    node = session.agent(short(seat.agent))
    spawn = spawn_of(call)
    if spawn is None and (node is None or (node.depth == 0 and not node.expires_ns)):
        return ()
    now = time_in(session, now_ns)
    found = [*_of_time(seat, node, now), *_of_strangers(seat, node, now)]
    if spawn is not None and seat.role is not None:
        found += _of_targets(seat, seat.role, spawn, call.context, seat_of)
        found += _of_depth(seat, seat.role, session, node)
        found += _of_room(seat, seat.role, spawn, session, now)
    return tuple(found)


def with_delegation(
    session: GovernedSession, seat: Seat, call: ToolCall, key: str, now_ns: int, seat_of: SeatOf = seat_of
) -> GovernedSession:
    """The session when a call that starts agents was let through under a rulebook. Under each further one the same work
    is only counted.

    Raises DelegationError if others have taken the room meanwhile that there was when the call was judged: called on
    the session as it is now, it makes the limits exact.
    """
    spawn = spawn_of(call)
    if spawn is None:
        return session
    now = time_in(session, now_ns)
    session = with_expired(session, now)
    tag = _tag(seat)
    if seat.role is not None and seat.mode == "enforce":
        for ruling in _of_room(seat, seat.role, spawn, session, now, besides=call.call_id):
            raise DelegationError(ruling.reason)
    count = next((one.count for one in session.spawned if one.role == tag), 0) + len(spawn.agents)
    others = tuple(one for one in session.spawned if one.role != tag)
    session = replace(session, spawned=(*others, SpawnCount(tag, count)))
    if any(began(one, call.call_id) for one in session.delegations):
        return replace(session, delegations=tuple(_shared(one, seat, call.call_id, now) for one in session.delegations))
    node = session.agent(short(seat.agent))
    new = tuple(
        Delegation(
            id=short(call.call_id) if at == 0 else f"{short(call.call_id)}/{at}",
            key=short(key),
            by=short(seat.agent),
            from_role=seat.role.name if seat.role else "",
            to_role=_role_named(seat, kinds[0] if kinds else "", call.context, seat_of),
            target=kinds[0] if len(kinds) == 1 else "",
            depth=depth_of(session, seat, node) + 1,
            created_ns=now,
            expires_ns=now + duration_ns(_form(seat).expires),
            roles=(tag,),
            detached=spawn.detached,
        )
        for at, kinds in enumerate(spawn.agents)
    )
    counts = replace(session.counts, spawns=session.counts.spawns + len(new))
    return replace(session, delegations=(*session.delegations, *new), counts=counts)


def _of_time(seat: Seat, node: AgentNode | None, now: int) -> Iterator[Ruling]:
    if node is not None and node.expires_ns and now >= node.expires_ns:
        yield _ruling(
            seat, "deny", f"The time of {_who(seat)} is up: the work that it was given has expired",
            "Report what is done; whoever gave the work can give it anew",
            f"it expired {spoken_ns(now - node.expires_ns)} ago",
        )  # fmt: skip


def _of_strangers(seat: Seat, node: AgentNode | None, now: int) -> Iterator[Ruling]:
    """One note, when it is first heard of by a call."""
    if node is not None and node.depth > 0 and not node.delegation and node.since_ns == now:
        yield _ruling(seat, "note", f"Nobody announced {_who(seat)}", "", f"it is taken to stand {node.depth} deep")


def _of_targets(seat: Seat, role: Role, spawn: Spawn, context: Context, seat_of: SeatOf) -> Iterator[Ruling]:
    if not spawn.readable:
        yield _denied(seat, role, "Whom this call asks for can't be read", "Ask for one agent by its name")
    for name in dict.fromkeys(name for names in spawn.agents for name in (names or ("",))):
        target = _seat_named(seat, name, context, seat_of).role
        shown = one_line(name)[:100] or "an agent that it does not name"
        if name and name.casefold() == seat.name.casefold():
            yield _denied(
                seat, role, f"{_who(seat)} may not delegate to itself".capitalize(), "Do it, or ask for another"
            )
        elif target is None:
            yield from _of_unknown(seat, shown)
        elif target.name == role.name:
            yield _denied(
                seat,
                role,
                f"{subject_of(seat)} may not delegate to {shown}, which does the same work",
                "Do it yourself",
            )
        elif target.tier < role.tier:
            reason = f"{subject_of(seat)} may not delegate upward, to {shown}"
            yield _denied(
                seat,
                role,
                reason,
                "Report to whoever gave you the work",
                f"{role.name} is of tier {role.tier}, {target.name} of tier {target.tier}",
            )
        elif not fits_any(_form(seat).to, target.name):
            agents = ", ".join(agents_told(seat.book, _form(seat).to, host_of(context.source))[:8])
            roles = ", ".join(_form(seat).to[:8]) or "nobody"
            reason = f"{subject_of(seat)} may not delegate to {shown}"
            instead = f"Delegate to: {agents}" if agents else "Do it yourself, or report back"
            yield _denied(seat, role, reason, instead, f"it delegates to {roles}; {shown} is {target.name}")


def _of_unknown(seat: Seat, shown: str) -> Iterator[Ruling]:
    said = seat.book.unknown_role
    if said != "allow":
        evidence = f"{seat.book.place('unknown_role')} is {said}, and no entry of agents fits"
        reason = f"{subject_of(seat)} would delegate to {shown}, which has no role here"
        yield _ruling(seat, said, reason, "Ask for an agent that has a role" if said != "note" else "", evidence)


def _of_depth(seat: Seat, role: Role, session: GovernedSession, node: AgentNode | None) -> Iterator[Ruling]:
    """INVARIANT: depth is that of the tree. What is limited for an agent is limited for all that it starts."""
    depth = depth_of(session, seat, node) + 1
    limit, whose = _form(seat).depth, role.name
    for above in roles_above(seat, session, node):
        if above.delegates is not None and above.delegates.depth < limit:
            limit, whose = above.delegates.depth, above.name
    if depth > limit:
        reason = f"{subject_of(seat)} may not start agents here: they would stand {depth} deep"
        yield _denied(seat, role, reason, "Do it yourself, or report back", f"{whose} may go {limit} deep")


def _of_room(
    seat: Seat, role: Role, spawn: Spawn, session: GovernedSession, now: int, besides: str = ""
) -> Iterator[Ruling]:
    """How many there may be, of this role and of all. `besides` is a call that is counted already."""
    form, tag, more = _form(seat), _tag(seat), len(spawn.agents)
    started = next((one.count for one in session.spawned if one.role == tag), 0)
    working = [
        one
        for one in session.delegations
        if one.state in OPEN and not is_over(one, now) and not (besides and began(one, besides))
    ]
    own = sum(tag in one.roles for one in working)
    if started + more > form.at_most:
        reason = f"{subject_of(seat)} may start no more agents in this session"
        yield _denied(seat, role, reason, "Do it yourself", f"{started} of {form.at_most} were started")
    if own + more > form.at_once:
        reason = f"{subject_of(seat)} may have no more agents at work at the same time"
        yield _denied(seat, role, reason, "Wait until one of them is done", f"{own} of {form.at_once} are at work")
    if len(working) + more > _MOST_OPEN:
        reason = "No more agents may be at work in this session at the same time"
        yield _denied(seat, role, reason, "Wait until one of them is done", f"{len(working)} are at work")


def _denied(seat: Seat, role: Role, reason: str, instead: str, evidence: str = "") -> Ruling:
    place = role.place("delegates")
    return _ruling(seat, "deny", reason, role.instead or instead, f"{place}: {evidence}" if evidence else place)


def _ruling(seat: Seat, said: RulingWord, reason: str, instead: str, evidence: str) -> Ruling:
    return Ruling(
        said=said, rule=DELEGATION_RULE, reason=reason, instead=instead, evidence=evidence, watch=seat.mode == "watch"
    )


def _who(seat: Seat) -> str:
    return f"the agent {one_line(seat.name)[:100]}" if seat.name else "the main agent"


def _form(seat: Seat) -> DelegationForm:
    return (seat.role.delegates if seat.role else None) or _ANYBODY


def _tag(seat: Seat) -> str:
    """A role of a rulebook: two files may have a role of one name."""
    return short(f"{seat.book.level}/{seat.role.name if seat.role else ''}")


def _shared(one: Delegation, seat: Seat, call_id: str, now: int) -> Delegation:
    """Work that is counted under another rulebook, too."""
    if not began(one, call_id):
        return one
    expires = min(one.expires_ns, now + duration_ns(_form(seat).expires))
    return replace(one, roles=(*one.roles, _tag(seat)), expires_ns=expires)


def _seat_named(seat: Seat, name: str, context: Context, seat_of: SeatOf) -> Seat:
    """The seat that an agent of this kind would have, started where the caller is."""
    asked = Context(
        session_id=context.session_id, agent_id=name or _UNNAMED, agent_type=name or _UNNAMED,
        principal=context.principal, cwd=context.cwd, source=context.source,
    )  # fmt: skip
    return seat_of(seat.book, asked)


def _role_named(seat: Seat, name: str, context: Context, seat_of: SeatOf) -> str:
    role = _seat_named(seat, name, context, seat_of).role
    return role.name if role else ""
