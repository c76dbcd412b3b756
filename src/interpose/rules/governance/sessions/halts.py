"""A session whose tools are stopped until an operator lifts that. Reading passes: the agent can say how things stand.

INVARIANT: what passes a halt is known by its canonical name alone. A tool of an MCP server that calls itself a reader
may do anything.
"""

from __future__ import annotations

from msgspec.structs import replace

from interpose.core.formats.plain_text import one_line
from interpose.core.types import ToolCall
from interpose.rules.governance.rulings import Ruling
from interpose.rules.governance.sessions.sessions import GovernedSession, Halt, Lift, StallCounts

RULE = "governance/halt"
READING = frozenset({
    "read", "glob", "grep", "list", "memory_search", "memory_get", "sessions_list", "sessions_history",
    "session_status", "agents_list",
})  # fmt: skip
"""Tools that only read."""
_LONGEST = 1000


def with_halt(session: GovernedSession, reason: str, by: str, now_ns: int) -> GovernedSession:
    """The session halted. One that is halted stays as it is: the first reason counts."""
    if session.halt is not None:
        return session
    # INVARIANT: a halt is later than what the last lift lifted, whatever a clock says, or that lift would lift it.
    at_ns = now_ns if session.lift is None else max(now_ns, session.lift.halt_ns + 1)
    halt = Halt(reason=one_line(reason)[:_LONGEST], by=one_line(by)[:200], at_ns=at_ns)
    return replace(session, halt=halt, stall=replace(session.stall, told="", asking=""))


def with_checkpoint(session: GovernedSession, checkpoint: str) -> GovernedSession:
    """The halted session, whose context was written there."""
    if session.halt is None:
        return session
    return replace(session, halt=replace(session.halt, checkpoint=checkpoint))


def lifted(session: GovernedSession, lift: Lift) -> GovernedSession:
    """The session that may go on, if this lifts the halt that it has. What was counted to find stalls begins anew, or
    the next step would halt it again."""
    if session.halt is None or session.halt.at_ns != lift.halt_ns:
        return session
    return replace(session, halt=None, lift=lift, stall=StallCounts())


def halt_rulings(session: GovernedSession, call: ToolCall) -> tuple[Ruling, ...]:
    """What a halt says to a call."""
    if session.halt is None or call.name in READING:
        return ()
    return (halt_ruling(session, session.halt),)


def halt_ruling(session: GovernedSession, halt: Halt) -> Ruling:
    """The refusal of everything in a halted session that is no reading."""
    kept = f"; its context is in {halt.checkpoint}" if halt.checkpoint else ""
    return Ruling(
        said="deny",
        rule=RULE,
        reason=f"This session is halted: {halt.reason}",
        instead=(
            "Stop here. Tell the user what was done, what is left and what went wrong; reading still works. A person "
            f"lets it go on with: {how_to_lift(session.id)}"
        ),
        evidence=f"halted by {halt.by}{kept}",
    )


def how_to_lift(session_id: str) -> str:
    """What a person types. An id that a shell would read otherwise is quoted."""
    from shlex import quote

    name = one_line(session_id)[:200]
    return f"interpose governance session lift {'-- ' if name.startswith('-') else ''}{quote(name)}"
