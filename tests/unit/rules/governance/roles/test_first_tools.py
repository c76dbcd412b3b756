"""What has to come first, for whom, and when again."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from interpose.core.carried_calls import canonical
from interpose.core.types import Context, ToolCall
from interpose.rules.governance.files.file_model import FirstForm
from interpose.rules.governance.files.rulebook import Role, Rulebook, Seat
from interpose.rules.governance.roles.first_tools import due, first_tool_rulings, with_first_tool
from interpose.rules.governance.sessions.session_states import SessionEvent, after_event, new_session
from interpose.rules.governance.sessions.sessions import GovernedSession

NOON = 1_900_000_000 * 1_000_000_000
HOUR = 3600 * 1_000_000_000
FORM = FirstForm(any_of=("idumb-todo", "group:context", "read"))
BOOK = Rulebook(file="governance.yaml", tools={"context": ("idumb-context*", "glob")})


def seat(mode: Any = "block", agent: str = "", book: Rulebook = BOOK, form: FirstForm | None = FORM) -> Seat:
    first = None if form is None else replace(form, mode=mode)
    role = Role(
        name="planner", first_tools=first, places={"first_tools": "governance.yaml:9: roles.planner.first_tools"}
    )
    return Seat(book=book, role=role, agent=agent, name="plan" if agent else "", is_sub_agent=bool(agent))


def call(tool: str, **arguments: Any) -> ToolCall:
    return canonical(ToolCall(tool, arguments))


def session() -> GovernedSession:
    return new_session(Context(session_id="s"), NOON)


def said(seat: Seat, session: GovernedSession, tool: str) -> list[str]:
    return [ruling.said for ruling in first_tool_rulings(seat, session, call(tool))]


@pytest.mark.parametrize(
    ("note", "tool", "fits"),
    [
        ("by its name", "idumb-todo", True),
        ("by the host's name for it", "Read", True),
        ("by a group of the file", "Glob", True),
        ("by a glob", "idumb-context_summary", True),
        ("a name that only contains one", "spread_read", False),
        ("a name that only begins like one", "idumb-todo-delete", False),
        ("another's tool of that name", "mcp__x__read", False),
        ("any other", "Bash", False),
    ],
)
def test_which_tool_is_a_first_one(note: str, tool: str, fits: bool) -> None:
    assert said(seat(), session(), tool) == ([] if fits else ["deny"])
    after = with_first_tool(session(), seat(), call(tool))
    assert (due(seat(), after) is None) == fits


def test_the_words_say_what_to_use_first() -> None:
    (one,) = first_tool_rulings(seat(), session(), call("Bash"))
    assert one.reason == "This agent has to use one of its first tools before Bash"
    assert one.instead == "Use one of these first: idumb-todo, idumb-context*, glob, read"
    assert one.evidence.startswith("governance.yaml:9: roles.planner.first_tools")
    assert (one.rule, one.watch) == ("governance/first-tool", False)


def test_off_warn_and_block() -> None:
    assert said(seat("off"), session(), "Bash") == []
    assert said(seat(form=None), session(), "Bash") == []
    assert said(Seat(book=BOOK), session(), "Bash") == []
    assert said(seat("warn"), session(), "Bash") == ["note"]
    warned = with_first_tool(session(), seat("warn"), call("Bash"))
    assert said(seat("warn"), warned, "Bash") == [], "one warning is enough"
    watching = seat(book=replace(BOOK, mode="watch"))
    (one,) = first_tool_rulings(watching, session(), call("Bash"))
    assert (one.said, one.watch) == ("deny", True)
    assert said(watching, with_first_tool(session(), watching, call("Bash")), "Bash") == ["deny"], "it would be blocked"


def test_a_denied_call_is_no_first_tool_and_one_beside_it_has_to_come_again() -> None:
    """Two calls come at once: each is judged by what was let through before it came."""
    start = session()
    assert said(seat(), start, "Read") == []
    assert said(seat(), start, "Write") == ["deny"], "the read was not let through when this one came"
    assert said(seat(), start, "Write") == ["deny"], "nor if it was denied by another rule: nothing was let through"
    after = with_first_tool(start, seat(), call("Read"))
    assert said(seat(), after, "Write") == []


def test_each_agent_has_to_use_its_own() -> None:
    after = with_first_tool(session(), seat(), call("Read"))
    assert said(seat(agent="a"), after, "Bash") == ["deny"]
    after = with_first_tool(after, seat(agent="a"), call("Read"))
    assert said(seat(agent="a"), after, "Bash") == []
    assert said(seat(agent="b"), after, "Bash") == ["deny"]
    assert [(one.id, one.depth) for one in after.agents] == [("", 0), ("a", 1)]


def test_each_rulebook_has_first_tools_of_its_own() -> None:
    """What a project's file takes for a first tool is none for the organisation."""
    theirs = Rulebook(file="/repo/.interpose/governance.yaml", level="project")
    project = seat(book=theirs, form=FirstForm(any_of=("*",)))
    after = with_first_tool(session(), project, call("Bash"))
    assert said(project, after, "Bash") == []
    assert said(seat(), after, "Bash") == ["deny"]
    after = with_first_tool(after, seat(), call("Read"))
    assert said(seat(), after, "Bash") == []
    assert said(project, after, "Bash") == []


@pytest.mark.parametrize(
    ("event", "hours", "again"),
    [
        ("compact", 0, True), ("compacted", 0, True), ("clear", 0, True), ("call", 1, True), ("resume", 47, True),
        ("message", 49, True), ("start", 0, False), ("resume", 0, False), ("call", 0, False), ("idle", 3, False),
        ("end", 0, False), ("result", 5, False),
    ],
)  # fmt: skip
def test_when_it_is_due_again(event: SessionEvent, hours: int, again: bool) -> None:
    before = with_first_tool(session(), seat(), call("Read"))
    after = after_event(before, event, NOON + hours * HOUR).session
    assert (due(seat(), after) is not None) == again
    done = with_first_tool(after, seat(), call("Read"))
    assert due(seat(), done) is None
    assert len(done.agents[0].first_uses) == 1
