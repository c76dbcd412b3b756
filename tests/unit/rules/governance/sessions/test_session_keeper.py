"""Sessions in a store: shared, kept over restarts, never lost, never taken for new ones when they can't be read."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from interpose.core.errors import StoreError
from interpose.core.types import Context
from interpose.record.store import open_store
from interpose.record.store.protocols import SessionState, Spending, Store
from interpose.rules.governance.sessions.memory_sessions import MemoryCounters, MemorySessions
from interpose.rules.governance.sessions.session_bounds import (
    LONGEST_NAME,
    MOST_AGENTS,
    MOST_DELEGATIONS,
    MOST_STEPS,
    MOST_VIOLATIONS,
    bounded,
    short,
)
from interpose.rules.governance.sessions.session_keeper import PREFIX, SessionKeeper
from interpose.rules.governance.sessions.session_keys import kept_key, session_key
from interpose.rules.governance.sessions.session_states import new_session
from interpose.rules.governance.sessions.sessions import (
    AgentNode,
    Delegation,
    GovernedSession,
    Halt,
    SeenStep,
    SeenViolation,
    SessionCounts,
)
from tests.support.timing.patience import PATIENCE

ROOT = Path(__file__).parents[5]


def counting(last: GovernedSession | None) -> GovernedSession:
    """The session with one call more."""
    session = last or GovernedSession(id="s")
    return replace(session, counts=SessionCounts(calls=session.counts.calls + 1))


def named(id: str) -> Callable[[GovernedSession | None], GovernedSession]:
    return lambda last: last or GovernedSession(id=id)


def test_a_session_is_there_for_the_next_server(store: Store, place: str) -> None:
    halt = Halt(reason="r", by="ann", at_ns=7)
    keeper = SessionKeeper(store)
    assert keeper.read("s") is None
    assert (
        keeper.change("s", lambda _: GovernedSession(id="s", halt=halt, agents=(AgentNode(id="a", depth=2),))).id == "s"
    )
    other = open_store(place)
    found = SessionKeeper(other).read("s")
    other.close()
    assert found == GovernedSession(id="s", halt=halt, agents=(AgentNode(id="a", depth=2),))


def test_what_changes_nothing_is_not_written() -> None:
    store = MemorySessions()
    keeper = SessionKeeper(store)
    keeper.change("s", counting)
    before = store.load_session(PREFIX + "s")
    assert keeper.change("s", lambda last: last or GovernedSession(id="new")).counts.calls == 1
    assert store.load_session(PREFIX + "s") == before


def test_64_threads_on_one_session_take_turns(store: Store) -> None:
    """None of them is ever beaten by another: one attempt is enough for each."""
    keeper = SessionKeeper(store, attempts=1)
    start = threading.Barrier(64)

    def work(_number: int) -> None:
        start.wait()
        for _ in range(2):
            keeper.change("s", counting)

    with ThreadPoolExecutor(64) as pool:
        list(pool.map(work, range(64)))
    found = keeper.read("s")
    assert found is not None
    assert found.counts.calls == 128


_WORKER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from interpose.rules.governance.sessions.session_keeper import SessionKeeper
from interpose.record.store import open_store
from tests.unit.rules.governance.sessions.test_session_keeper import counting
store = open_store(sys.argv[1])
keeper = SessionKeeper(store)
sys.stdin.readline()
with ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda _: keeper.change("s", counting), range(40)))
store.close()
"""


def test_four_servers_lose_nothing(place: str) -> None:
    open_store(place).close()
    servers = [
        subprocess.Popen([sys.executable, "-c", _WORKER, place], cwd=ROOT, stdin=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for each in servers:
        each.communicate("go\n", timeout=PATIENCE)
    assert [each.returncode for each in servers] == [0] * 4
    store = open_store(place)
    found = SessionKeeper(store).read("s")
    store.close()
    assert found is not None
    assert found.counts.calls == 160


def test_who_is_beaten_without_end_is_told() -> None:
    store = MemorySessions()
    ours, theirs = SessionKeeper(store, attempts=3), SessionKeeper(store)
    tries = 0

    def beaten(last: GovernedSession | None) -> GovernedSession:
        nonlocal tries
        tries += 1
        theirs.change("s", counting)
        return counting(last)

    with pytest.raises(StoreError, match="others changed the session 's' 3 times"):
        ours.change("s", beaten)
    found = ours.read("s")
    assert found is not None
    assert (tries, found.counts.calls) == (3, 3)


@pytest.mark.parametrize(
    ("note", "body"),
    [
        ("no JSON", b"\xff\x00"),
        ("nothing", b""),
        ("another form", b'{"form":2,"session":{"id":"s"}}'),
        ("a field of a newer version", b'{"form":1,"session":{"id":"s","karma":1}}'),
        ("a field of a newer version, deeper", b'{"form":1,"session":{"id":"s","agents":[{"id":"a","karma":1}]}}'),
        ("a word of a newer version", b'{"form":1,"session":{"id":"s","state":"dreaming"}}'),
        ("another type", b'{"form":1,"session":{"id":"s","generation":"many"}}'),
        ("no session", b'{"form":1}'),
    ],
)
def test_what_cant_be_read_is_refused_and_left_as_it_is(note: str, body: bytes) -> None:
    rows = MemorySessions()
    assert rows.save_session(PREFIX + "s", body, version=0, now_ns=1)
    keeper = SessionKeeper(rows)
    assert keeper.recent() == [], "it hides no other session"
    with pytest.raises(StoreError, match="can't be read: it is damaged, or a newer version"):
        keeper.read("s")
    with pytest.raises(StoreError, match="can't be read: it is damaged, or a newer version"):
        keeper.change("s", counting)
    kept = rows.load_session(PREFIX + "s")
    assert kept is not None
    assert kept.body == body


def test_an_error_of_the_change_changes_nothing() -> None:
    store = MemorySessions()
    keeper = SessionKeeper(store)
    keeper.change("s", counting)

    def fails(_last: GovernedSession | None) -> GovernedSession:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        keeper.change("s", fails)
    assert keeper.change("s", counting).counts.calls == 2, "and nobody waits for a turn that was not given back"


def test_the_last_changed_come_first(store: Store) -> None:
    clock = iter(range(1, 100))
    keeper = SessionKeeper(store, clock=lambda: next(clock))
    store.save_session("hook:claude-code:x", b"{}", version=0, now_ns=999)
    for id in ("a", "b", "c", "a"):
        keeper.change(id, lambda last, id=id: counting(last or GovernedSession(id=id)))  # type: ignore[misc]  # bound
    assert [one.id for one in keeper.recent()] == ["a", "c", "b"]
    assert [one.id for one in keeper.recent(limit=1)] == ["a"]
    assert [one.id for one in keeper.recent(since_ns=3)] == ["a", "c"]


_HOSTILE = [
    "",
    "?",
    "\ufffd",
    "\0",
    "\ud800",
    "#" * 65,
    "#" + "0" * 64,
    "'; DROP TABLE sessions; --",
    "é" * 300,
    "x" * 1_000_000,
    "a\nb",
]


def test_any_id_is_a_session_of_its_own(store: Store) -> None:
    keeper = SessionKeeper(store)
    for id in _HOSTILE:
        context = Context(session_id=id, cwd="/p")
        key = session_key(context)
        assert len(key) <= 200
        assert kept_key(key) == key
        assert keeper.read(key) is None
        keeper.change(key, lambda last, context=context: last or new_session(context, 1))  # type: ignore[misc]  # bound
        found = keeper.read(key)
        assert found is not None
        assert found.key == key
        assert found.id == short(id)
    assert len(keeper.recent()) == len(_HOSTILE)


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.text(max_size=3), st.text(alphabet="#\n:1a", max_size=6)), min_size=2, max_size=2, unique=True
    )
)
def test_two_sessions_never_share_a_key(pair: list[tuple[str, str]]) -> None:
    contexts = [Context(principal=principal, session_id=id) for principal, id in pair]
    assert session_key(contexts[0]) != session_key(contexts[1])


def test_who_gives_no_id_shares_one_with_those_beside() -> None:
    one, same = (session_key(Context(cwd="/p", source="library")) for _ in range(2))
    assert one == same
    assert one != session_key(Context(cwd="/q", source="library"))
    assert one != session_key(Context(cwd="/p", source="http"))


@settings(max_examples=50)
@given(st.text(), st.text())
def test_two_names_are_never_kept_as_one(one: str, other: str) -> None:
    assert (short(one) == short(other)) == (one == other)
    assert len(short(one)) <= LONGEST_NAME
    assert short(short(one)) == short(short(one))


def test_half_a_character_in_a_text_keeps_nobody_out() -> None:
    store = MemorySessions()
    keeper = SessionKeeper(store)
    step = SeenViolation(at_ns=1, call_id="c\ud800", agent="", role="", tool="x\udfff", rule="", said="deny")
    keeper.change("s", lambda _: GovernedSession(id="s", violations=(step,)))
    found = keeper.read("s")
    assert found is not None
    assert found.violations[0].call_id == "c?"


def test_a_session_stays_small() -> None:
    agents = tuple(AgentNode(id=f"a{number}", depth=1, seen_ns=number) for number in range(3000))
    work = tuple(Delegation(id=f"d{number}", state="done") for number in range(3000))
    session = GovernedSession(
        id="s", agents=agents, delegations=work, steps=(SeenStep(tool="t"),) * 3000,
        violations=(SeenViolation(at_ns=1, call_id="", agent="", role="", tool="", rule="", said=""),) * 3000,
    )  # fmt: skip
    kept = bounded(session)
    assert len(kept.agents) == MOST_AGENTS
    assert len(kept.delegations) == MOST_DELEGATIONS
    assert (len(kept.steps), len(kept.violations)) == (MOST_STEPS, MOST_VIOLATIONS)
    assert kept.agents[-1].id == "a2999"
    assert kept.delegations[-1].id == "d2999"
    assert bounded(kept) is kept
    assert len(msgspec.json.encode(kept)) < 300_000


def test_nobody_gets_more_rights_by_being_forgotten() -> None:
    """What is open is kept, main agents are kept, and how deep and until when the others were stays known."""
    working = tuple(Delegation(id=f"d{number}", state="working") for number in range(10))
    over = tuple(Delegation(id=f"x{number}", state="done") for number in range(MOST_DELEGATIONS))
    main = AgentNode(id="", depth=0, seen_ns=0)
    busy = tuple(AgentNode(id=f"b{number}", depth=1, delegation=f"d{number}", seen_ns=1) for number in range(10))
    rest = tuple(
        AgentNode(id=f"r{number}", depth=1 + number % 5, seen_ns=10 + number, expires_ns=number * 100)
        for number in range(MOST_AGENTS)
    )
    kept = bounded(GovernedSession(id="s", agents=(main, *busy, *rest), delegations=(*working, *over)))
    ids = {agent.id for agent in kept.agents}
    assert {"", *(agent.id for agent in busy)} <= ids
    assert "r0" not in ids
    assert (kept.forgotten_depth, kept.forgotten_expires_ns) == (5, 100)
    assert {one.id for one in working} <= {one.id for one in kept.delegations}
    again = bounded(replace(kept, agents=(*kept.agents, AgentNode(id="new", depth=1, seen_ns=9999))))
    assert (again.forgotten_depth, again.forgotten_expires_ns) == (5, 100)


def test_memory_keeps_what_is_halted_and_refuses_when_there_is_no_room() -> None:
    rows = MemorySessions(most=3)
    keeper = SessionKeeper(rows, clock=lambda: 1)
    keeper.change("halted", lambda _: GovernedSession(id="halted", halt=Halt(reason="r", by="b", at_ns=1)))
    for id in ("a", "b", "c", "d"):
        keeper.change(id, named(id))
    assert keeper.read("halted") is not None
    assert keeper.read("a") is None
    for id in ("c", "d"):
        keeper.change(
            id, lambda last: replace(last, halt=Halt(reason="r", by="b", at_ns=1)) if last else GovernedSession(id="")
        )
    with pytest.raises(StoreError, match="no room"):
        keeper.change("e", named("e"))
    assert not rows.save_session(PREFIX + "c", b"", version=1, now_ns=1)


def test_memory_counters_are_bounded_and_forget_only_what_has_ended() -> None:
    from interpose.rules.governance.budgets.counter_names import counter_name

    now = [5_000_000_000]
    counters = MemoryCounters(most=3, clock=lambda: now[0])
    ended, endless = counter_name("a", ends_ns=9_000_000_000), counter_name("b")
    assert counters.spend_all([Spending(ended, 1, 5), Spending(endless, 1, 5), Spending("pins:x", 1, 5)]) == ()
    with pytest.raises(StoreError, match="no room"):
        counters.spend("more", 1, budget=5)
    now[0] = 9_000_000_000
    assert counters.spend("more", 1, budget=5) == 1
    assert counters.spent_of([ended, endless, "pins:x"]) == {ended: 0, endless: 1, "pins:x": 1}
    assert counters.spend("more", 5, budget=5) is None


class Forgetful:
    """Rows of a store that loses the answer to a save."""

    def load_session(self, session: str) -> SessionState | None:
        return None

    def save_session(self, session: str, body: bytes, *, version: int, now_ns: int) -> bool:
        json.loads(body)
        raise StoreError("the answer was lost")

    def sessions(self, *, since_ns: int = 0, limit: int = 1000, prefix: str = "") -> list[SessionState]:
        return []


def test_a_store_that_fails_is_heard_of() -> None:
    with pytest.raises(StoreError, match="the answer was lost"):
        SessionKeeper(Forgetful()).change("s", counting)
