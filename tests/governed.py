"""Governed sessions for tests, in a store as servers keep them."""

from __future__ import annotations

from typing import Any

from interpose.governance.session_keeper import SessionKeeper, SessionRows
from interpose.governance.sessions import AgentNode, Delegation, GovernedSession, SeenViolation, SessionCounts

NOW = 1_794_952_801_000_000_000


def session_of(id: str = "s-12", **fields: Any) -> GovernedSession:
    """A session with something of everything in it."""
    made: dict[str, Any] = {
        "id": id, "key": id, "state": "active", "host": "claude-code", "project": "/work/project",
        "created_ns": NOW, "began_ns": NOW, "active_ns": NOW,
        "counts": SessionCounts(calls=9, denials=2, questions=1, errors=3),
        "agents": (
            AgentNode(name="main", role="coordinator"), AgentNode(id="a1", name="worker", role="worker", depth=1),
            AgentNode(id="a2", name="helper", role="helper", parent="a1", depth=2),
        ),
        "delegations": (Delegation(id="d1", target="worker", from_role="coordinator", to_role="worker"),),
        "violations": (
            SeenViolation(at_ns=NOW, call_id="c1", agent="", role="coordinator", tool="write", rule="governance/role",
                          said="deny"),
        ),
    }  # fmt: skip
    return GovernedSession(**made | fields)


def kept(rows: SessionRows, *sessions: GovernedSession) -> SessionKeeper:
    """A keeper that has these sessions."""
    keeper = SessionKeeper(rows)
    for one in sessions:
        keeper.change(one.key, lambda _last, one=one: one)  # type: ignore[misc]  # a lambda with a default
    return keeper
