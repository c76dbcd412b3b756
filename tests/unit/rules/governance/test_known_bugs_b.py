"""Bugs of the governance that this one was built after, by their numbers: what sessions should have done.

3: two maps of sessions. 5: one slot for all parallel calls. 10: an argument that does not exist. 11: counters that
nobody asks. 13: reminders by keywords. 16: read, change and write without a lock.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from interpose.core.types import Context, ToolCall
from interpose.record.store import open_store
from interpose.rules.governance.files.file_model import AgentForm, DelegationForm
from interpose.rules.governance.files.rulebook import Role, Rulebook
from interpose.rules.governance.roles.delegation import (
    delegation_rulings,
    with_agent,
    with_delegation,
    with_delegation_ended,
)
from interpose.rules.governance.roles.identity import seat_of
from interpose.rules.governance.sessions.session_keeper import SessionKeeper
from interpose.rules.governance.sessions.session_keys import session_key
from interpose.rules.governance.sessions.session_states import SessionEvent, after_event, counted, new_session
from interpose.rules.governance.sessions.sessions import GovernedSession, SeenViolation

NOON = 1_900_000_000 * 1_000_000_000
MAIN = Context(session_id="s", cwd="/p", source="hook:opencode")
BOOK = Rulebook(
    file="governance.yaml",
    roles={
        "coordinator": Role(name="coordinator", delegates=DelegationForm(to=("builder",), at_most=2, at_once=2)),
        "builder": Role(name="builder", tier=1), "general": Role(name="general", tier=1),
    },
    agents=(
        AgentForm(role="coordinator", sub_agent=False), AgentForm(role="builder", agent="builder"),
        AgentForm(role="general", agent="general"),
    ),
)  # fmt: skip


class Server:
    """A process that hears of a session by its calls and by its host's events."""

    def __init__(self, place: Path) -> None:
        self.store = open_store(place)
        self.keeper = SessionKeeper(self.store)

    def hears(self, event: SessionEvent, context: Context = MAIN) -> str:
        told: list[str] = []

        def change(last: GovernedSession | None) -> GovernedSession:
            after = after_event(last or new_session(context, NOON), event, NOON)
            told[:] = [after.tell]
            return after.session

        self.keeper.change(session_key(context), change)
        return told[0]

    def session(self, context: Context = MAIN) -> GovernedSession:
        found = self.keeper.read(session_key(context))
        assert found is not None
        return found


StartServer = Callable[[], Server]


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Starts a server on the store of this test."""
    started: list[Server] = []

    def start() -> Server:
        started.append(Server(tmp_path / "ledger.db"))
        return started[-1]

    yield start
    for server in started:
        server.store.close()


def test_bug_3_calls_and_events_of_a_host_find_the_same_session(start_server: StartServer) -> None:
    """What calls fill is what a compaction, an idle host and an archive look at, in whatever process."""
    calls, events = start_server(), start_server()
    assert calls.hears("call") == "prefix"
    assert events.hears("compact") == "reminder"
    assert calls.session().counts.calls == 1
    assert calls.session().state == "compacted"
    events.hears("idle")
    assert (calls.session().state, calls.session().generation) == ("idle", 2)


def test_bug_5_parallel_calls_have_a_place_each(start_server: StartServer) -> None:
    """Each denial and each delegation is kept under its own call, however many come at once."""
    server = start_server()
    server.hears("start")
    seat = seat_of(replace(BOOK, mode="watch"), MAIN)

    def one_call(number: int) -> None:
        call = ToolCall("task", {"subagent_type": "builder"}, f"c{number}", MAIN)
        seen = SeenViolation(at_ns=1, call_id=call.call_id, agent="", role="", tool="task", rule="r", said="deny")

        def change(last: GovernedSession | None) -> GovernedSession:
            assert last is not None
            session = with_delegation(last, seat, call, f"key-{number}", NOON)
            return replace(session, violations=(*session.violations, seen))

        server.keeper.change("s", change)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one_call, range(40)))
    session = server.session()
    wanted = {f"c{number}" for number in range(40)}
    assert {one.call_id for one in session.violations} == wanted
    assert {one.id for one in session.delegations} == wanted
    assert {one.key for one in session.delegations} == {f"key-{number}" for number in range(40)}
    after = with_delegation_ended(session, "c7", failed=True, now_ns=NOON)
    assert [one.id for one in after.delegations if one.state != "pending"] == ["c7"], "and no other is ended by it"


@pytest.mark.parametrize("argument", ["subagent_type", "agent", "agent_type", "agentId", "agent_name"])
def test_bug_10_whom_a_call_asks_for_is_read_from_the_argument_that_hosts_have(argument: str) -> None:
    seat, session = seat_of(BOOK, MAIN), new_session(MAIN, NOON)
    allowed = ToolCall("task", {argument: "builder"}, context=MAIN)
    refused = ToolCall("task", {argument: "general"}, context=MAIN)
    assert delegation_rulings(seat, session, allowed, NOON) == ()
    assert [one.said for one in delegation_rulings(seat, session, refused, NOON)] == ["deny"]
    (kept,) = with_delegation(session, seat, allowed, "", NOON).delegations
    assert (kept.target, kept.to_role) == ("builder", "builder"), "and not always `general`"


def test_bug_10_an_argument_that_no_host_has_names_nobody() -> None:
    call = ToolCall("task", {"all_type": "builder"}, context=MAIN)
    rulings = delegation_rulings(seat_of(BOOK, MAIN), new_session(MAIN, NOON), call, NOON)
    assert [one.said for one in rulings] == ["deny"]
    assert "does not name" in rulings[0].reason


def test_bug_11_what_is_counted_is_asked(start_server: StartServer) -> None:
    """Spawns are counted and refused at their limit; another session of the project resets nothing."""
    server = start_server()
    seat = seat_of(BOOK, MAIN)
    server.hears("start")

    def start(id: str) -> list[str]:
        call = ToolCall("task", {"subagent_type": "builder"}, id, MAIN)
        said: list[str] = [one.said for one in delegation_rulings(seat, server.session(), call, NOON)]
        if not said:
            server.keeper.change(
                "s", lambda last: with_delegation(last or new_session(MAIN, NOON), seat, call, "", NOON)
            )
            agent = replace(MAIN, agent_id=f"a-{id}", agent_type="builder")
            server.keeper.change(
                "s", lambda last: with_agent(last or new_session(MAIN, NOON), agent, seat_of(BOOK, agent), NOON)
            )
        return said

    assert [start("1"), start("2")] == [[], []]
    server.hears("start", replace(MAIN, session_id="another"))
    server = start_server()
    assert server.session().counts.spawns == 2
    assert [(one.id, one.depth, one.parent) for one in server.session().agents] == [("a-1", 1, ""), ("a-2", 1, "")]
    assert start("3") == ["deny", "deny"], "no more in this session, and no more at the same time"


def test_bug_13_words_trigger_nothing_and_a_reminder_comes_once(start_server: StartServer) -> None:
    """Events alone make a reminder: no function of a session is given a text that somebody wrote."""
    server = start_server()
    server.hears("start")
    ordinary = [server.hears("message") for _ in range(50)]  # "the context window", "i'm not sure", "what file"
    assert set(ordinary) == {""}
    assert server.hears("compact") == "reminder"
    assert {server.hears("message") for _ in range(50)} == {""}, "not again with each turn"
    assert server.session().counts.compactions == 1
    assert "text" not in inspect.signature(after_event).parameters


def test_bug_16_nothing_is_lost_between_reading_and_writing(start_server: StartServer) -> None:
    servers = [start_server(), start_server()]

    def count(number: int) -> None:
        servers[number % 2].keeper.change(
            "s", lambda last: counted(last or new_session(MAIN, NOON), denials=1, errors=number % 2)
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(60)))
    found = servers[0].session()
    assert (found.counts.denials, found.counts.errors) == (60, 30), "also the first, when there was no session yet"
