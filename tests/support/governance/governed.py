"""Governed sessions for tests, in a store as servers keep them."""

from __future__ import annotations

from time import time_ns
from typing import Any

from interpose.rules.governance.files.file_model import StallsForm
from interpose.rules.governance.sessions.session_keeper import SessionKeeper, SessionRows
from interpose.rules.governance.sessions.sessions import (
    AgentNode,
    Delegation,
    GovernedSession,
    SeenStep,
    SeenViolation,
    SessionCounts,
)
from interpose.rules.governance.stalls.check_rounds import CheckRound, round_stall, with_round
from interpose.rules.governance.stalls.stalls import StallAnswer, stall_of, with_step

NOW = 1_794_952_801_000_000_000


def session_of(id: str = "s-12", **fields: Any) -> GovernedSession:
    """A session with something of everything in it."""
    made: dict[str, Any] = {
        "id": id, "key": id, "state": "active", "host": "claude-code", "project": "/work/project",
        "created_ns": NOW, "began_ns": NOW, "active_ns": time_ns(),
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


def after_step(
    form: StallsForm, session: GovernedSession, step: SeenStep
) -> tuple[GovernedSession, StallAnswer | None]:
    """The session with a finished call in it, and what one rulebook says to that."""
    after = with_step(session, step)
    return after, stall_of(form, after, step)


def after_round(
    form: StallsForm, session: GovernedSession, seen: CheckRound
) -> tuple[GovernedSession, StallAnswer | None]:
    """The session after a round of planner and checker, and what one rulebook says to that."""
    after = with_round(session, seen)
    return after, round_stall(form, after)
