"""The tree of a session's agents: who is below whom, how deep, and who works on what.

INVARIANT: what is not known for sure is taken for the strictest that it can be. An agent that could be one of several
that are waited for stands as deep as the deepest; one that nobody announced may be any that there ever was. So however
agents are mixed up or forgotten, nobody stands less deep than it does, as long as hosts start what they were asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from interpose.core.types import Context
from interpose.rules.governance.files.rulebook import Role, Seat
from interpose.rules.governance.sessions.session_bounds import OPEN, short
from interpose.rules.governance.sessions.session_states import time_in
from interpose.rules.governance.sessions.sessions import AgentNode, Delegation, DelegationWord, GovernedSession


def with_agent(session: GovernedSession, context: Context, seat: Seat, now_ns: int) -> GovernedSession:
    """The session in which an agent was heard of."""
    now, id = time_in(session, now_ns), short(context.agent_id)
    role = seat.role.name if seat.role else ""
    known = session.agent(id)
    if known is not None:
        seen = replace(known, seen_ns=now, role=role, name=short(seat.name))
        return replace(session, agents=tuple([seen if one.id == id else one for one in session.agents]))
    new = AgentNode(id=id, name=short(seat.name), role=role, seen_ns=now, since_ns=now)
    if seat.is_sub_agent:
        session, new = _placed(with_expired(session, now), new)
    return replace(session, agents=(*session.agents, new))


def with_delegation_ended(session: GovernedSession, id: str, *, failed: bool, now_ns: int) -> GovernedSession:
    """The session when the call that asked for the work was answered. An agent that works on after that ends later."""
    now = time_in(session, now_ns)
    state: DelegationWord = "failed" if failed else "done"

    def after(one: Delegation) -> Delegation:
        ends = began(one, id) and one.state in OPEN and (failed or not one.detached)
        return replace(one, state=state, ended_ns=now) if ends else one

    return replace(session, delegations=tuple(after(one) for one in session.delegations))


def with_delegation_launched(session: GovernedSession, id: str, now_ns: int) -> GovernedSession:
    """The session when the call was answered at once, and its agent works in the background. An agent that was not
    heard of yet may never be: such work is over, and begins anew when its agent is heard of."""
    now = time_in(session, now_ns)

    def after(one: Delegation) -> Delegation:
        if not began(one, id):
            return one
        one = replace(one, detached=True)
        return replace(one, state="done", ended_ns=now) if one.state == "pending" else one

    return replace(session, delegations=tuple(after(one) for one in session.delegations))


def background_work_of(session: GovernedSession, agent: str) -> Delegation | None:
    """The work of an agent whose call was answered before it was done; None if it has none."""
    return next((one for one in session.delegations if agent and one.agent == short(agent) and one.detached), None)


def with_agent_stopped(session: GovernedSession, id: str, now_ns: int, *, failed: bool = False) -> GovernedSession:
    """The session when the host says that an agent stopped: what it worked on is over."""
    now, agent = time_in(session, now_ns), short(id)
    state: DelegationWord = "failed" if failed else "done"

    def after(one: Delegation) -> Delegation:
        return replace(one, state=state, ended_ns=now) if one.agent == agent and one.state == "working" else one

    return replace(session, delegations=tuple(after(one) for one in session.delegations)) if agent else session


def with_expired(session: GovernedSession, now_ns: int) -> GovernedSession:
    """The session in which work whose time is up is over."""
    now = time_in(session, now_ns)
    if not any(is_over(one, now) for one in session.delegations):
        return session
    over = tuple(
        replace(one, state="expired", ended_ns=now) if is_over(one, now) else one for one in session.delegations
    )
    return replace(session, delegations=over)


def depth_of(session: GovernedSession, seat: Seat, node: AgentNode | None) -> int:
    """How deep an agent stands below the main agent."""
    if node is not None:
        return node.depth
    return max(1, session.forgotten_depth) if seat.is_sub_agent else 0


def roles_above(seat: Seat, session: GovernedSession, node: AgentNode | None) -> Iterator[Role]:
    """The roles of those who started it, as far as they are known."""
    for _ in range(len(session.agents)):
        if node is None or node.depth == 0:
            return
        node = session.agent(node.parent)
        if node is not None and (role := seat.book.roles.get(node.role)) is not None:
            yield role


def is_over(one: Delegation, now: int) -> bool:
    """Whether work is open although its time is up."""
    return one.state in OPEN and bool(one.expires_ns) and now >= one.expires_ns


def began(one: Delegation, call_id: str) -> bool:
    """Whether a call asked for this work."""
    id = short(call_id)
    return one.id == id or one.id.startswith(f"{id}/")


def _placed(session: GovernedSession, new: AgentNode) -> tuple[GovernedSession, AgentNode]:
    """A sub-agent in its place, and the work that it takes: the oldest that waits for one of its kind."""
    fitting = [one for one in session.delegations if not one.agent and _is_for(one, new)]
    taken = next((one for one in fitting if one.state == "pending" and one.target), None) or next(
        # A call may be answered at once by a tool of which that is not known: its agent comes later.
        (one for state in ("pending", "done") for one in fitting if one.state == state),
        None,
    )
    # One that was forgotten may have come back and taken what another was to take: then it can be any of them.
    could_be = session.delegations if taken is None or session.forgotten_depth else fitting
    depth = max(1, session.forgotten_depth, *(one.depth for one in could_be))
    if taken is None:
        return session, replace(new, depth=depth, expires_ns=session.forgotten_expires_ns)
    expires = min(one.expires_ns for one in fitting if one.state == taken.state)
    ids = {one.id for one in fitting}

    def after(one: Delegation) -> Delegation:
        if one.id == taken.id:
            return replace(one, state="working", agent=new.id, depth=depth, expires_ns=expires)
        return replace(one, depth=depth) if one.id in ids else one

    session = replace(session, delegations=tuple(after(one) for one in session.delegations))
    return session, replace(new, depth=depth, expires_ns=expires, parent=taken.by, delegation=taken.id)


def _is_for(one: Delegation, agent: AgentNode) -> bool:
    return not one.target or one.target.casefold() in (agent.name.casefold(), agent.id.casefold())
