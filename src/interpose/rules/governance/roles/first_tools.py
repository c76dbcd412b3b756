"""What an agent has to do first: at the beginning of a session, and again in each new generation of it.

A first tool counts when it is let through: a denied one does not. One that was let through and then failed does, since
not every host says what came of a call; whoever wanted only to get by could as well read a file and forget it. Each
agent of a session has to use its own, and one of each rulebook that wants one.

Calls beside the first one are judged by what was let through before they came: of two that come at once, the one that
is no first tool is refused, and may come again.
"""

from __future__ import annotations

from msgspec.structs import replace

from interpose.core.formats.plain_text import one_line
from interpose.core.types import ToolCall
from interpose.rules.governance.files.rulebook import Seat
from interpose.rules.governance.roles.agent_words import subject_of, tools_told
from interpose.rules.governance.roles.identity import host_of
from interpose.rules.governance.roles.role_tools import tool_fits
from interpose.rules.governance.rulings import RULE_PREFIX, Ruling
from interpose.rules.governance.sessions.session_bounds import short
from interpose.rules.governance.sessions.sessions import AgentNode, FirstUse, GovernedSession

FIRST_RULE = f"{RULE_PREFIX}first-tool"
_MOST_NAMED = 8
_MOST_BOOKS = 8


def first_tool_rulings(seat: Seat, session: GovernedSession, call: ToolCall) -> tuple[Ruling, ...]:
    """What is said about a call of an agent that still has to use a first tool."""
    form = due(seat, session)
    if seat.role is None or form is None or tool_fits(seat.book, form, call):
        return ()
    blocks = seat.role.first_tools is not None and seat.role.first_tools.mode == "block"
    tool = one_line((call.original_name or call.name)[:100])
    names = ", ".join(tools_told(seat.book, form, host_of(call.context.source))[:_MOST_NAMED])
    ruling = Ruling(
        said="deny" if blocks else "note",
        rule=FIRST_RULE,
        reason=f"{subject_of(seat)} has to use one of its first tools before {tool}",
        instead=f"Use one of these first: {names}",
        evidence=f"{seat.role.place('first_tools')}; none was let through since it began, was compacted or resumed",
        watch=seat.mode == "watch",
    )
    return (ruling,)


def due(seat: Seat, session: GovernedSession) -> tuple[str, ...] | None:
    """The tools of which one must still be used; None if there is nothing to do first."""
    form = None if seat.role is None else seat.role.first_tools
    if form is None or form.mode == "off":
        return None
    node = session.agent(short(seat.agent))
    used = FirstUse(_book(seat), session.generation)
    return None if node is not None and used in node.first_uses else form.any_of


def with_first_tool(session: GovernedSession, seat: Seat, call: ToolCall) -> GovernedSession:
    """The session after a call was let through. Where it is only warned, one warning is enough."""
    form = due(seat, session)
    if seat.role is None or seat.role.first_tools is None or form is None:
        return session
    if seat.role.first_tools.mode == "block" and not tool_fits(seat.book, form, call):
        return session
    id = short(seat.agent)
    node = session.agent(id)
    if node is None:
        node = AgentNode(id=id, name=short(seat.name), role=seat.role.name, depth=int(seat.is_sub_agent))
        session = replace(session, agents=(*session.agents, node))
    uses = tuple(one for one in node.first_uses if one.generation == session.generation)[-_MOST_BOOKS:]
    done = replace(
        node,
        first_generation=session.generation,
        first_uses=(*uses, FirstUse(_book(seat), session.generation)),
    )
    return replace(session, agents=tuple(done if one.id == id else one for one in session.agents))


def _book(seat: Seat) -> str:
    return short(f"{seat.book.level}:{seat.book.file}")
