"""How much a session keeps. Agents choose ids and names, and how often they do something: all of it is bounded.

INVARIANT: nobody gets more rights by being forgotten. A forgotten agent has to use a first tool again, stands as deep
as the deepest that was forgotten, and its time is over when that of the first of them is, unless it takes work that
was announced anew. What is counted (spawns, calls) is a number, not the length of a list.
"""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from interpose.rules.governance.sessions.sessions import AgentNode, GovernedSession

MOST_AGENTS = 256
MOST_DELEGATIONS = 256
MOST_STEPS = 200
MOST_VIOLATIONS = 50
MOST_VALIDATIONS = 200
MOST_ROLES = 500
LONGEST_NAME = 200

OPEN = ("pending", "working")
"""The states of a delegation that is not over."""


def short(text: str) -> str:
    """A name that an agent or a host chose, as it is kept: itself, or its beginning and its digest. Two names are never
    kept as one."""
    if len(text) <= LONGEST_NAME and text.isprintable() and "#" not in text:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    kept = text[: LONGEST_NAME - 40].encode("utf-8", "replace").decode()
    return f"{''.join(char if char.isprintable() and char != '#' else '?' for char in kept)}#{digest}"


def bounded(session: GovernedSession) -> GovernedSession:
    """The session with no more in it than is kept."""
    lists = (
        (session.agents, MOST_AGENTS), (session.delegations, MOST_DELEGATIONS), (session.steps, MOST_STEPS),
        (session.violations, MOST_VIOLATIONS), (session.validations, MOST_VALIDATIONS), (session.spawned, MOST_ROLES),
    )  # fmt: skip
    if all(len(items) <= most for items, most in lists):
        return session
    return replace(
        _with_less_work(_with_fewer_agents(session)),
        steps=session.steps[-MOST_STEPS:],
        violations=session.violations[-MOST_VIOLATIONS:],
        validations=session.validations[-MOST_VALIDATIONS:],
        spawned=session.spawned[-MOST_ROLES:],
    )


def _with_fewer_agents(session: GovernedSession) -> GovernedSession:
    if len(session.agents) <= MOST_AGENTS:
        return session
    open_work = {one.id for one in session.delegations if one.state in OPEN}

    def worth(agent: AgentNode) -> tuple[bool, bool, int]:
        return agent.delegation in open_work, agent.depth == 0, agent.seen_ns

    forgotten = sorted(session.agents, key=worth)[: len(session.agents) - MOST_AGENTS]
    gone = {agent.id for agent in forgotten}
    ends = [agent.expires_ns for agent in forgotten if agent.expires_ns]
    if session.forgotten_expires_ns:
        ends.append(session.forgotten_expires_ns)
    return replace(
        session,
        agents=tuple(agent for agent in session.agents if agent.id not in gone),
        forgotten_depth=max(session.forgotten_depth, *(agent.depth for agent in forgotten)),
        forgotten_expires_ns=min(ends, default=0),
    )


def _with_less_work(session: GovernedSession) -> GovernedSession:
    """What is over goes first: what is open is counted by those who may have only so many at once."""
    work = session.delegations
    if len(work) <= MOST_DELEGATIONS:
        return session
    ranked = sorted(range(len(work)), key=lambda at: (work[at].state in OPEN, at))
    gone = set(ranked[: len(work) - MOST_DELEGATIONS])
    return replace(
        session,
        delegations=tuple(one for at, one in enumerate(work) if at not in gone),
        forgotten_depth=max(session.forgotten_depth, *(work[at].depth for at in gone)),
    )
