"""Sessions, approvals, grants and counters: what they promise, alone and under races."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from interpose.record.store import open_store
from interpose.record.store.protocols import NEVER, Approval, Grant, Kind, SessionTally, Spending, Store, StoredEntry

R = TypeVar("R")
WORKERS = 64


def race(work: Callable[[int], R], workers: int = WORKERS) -> list[R]:
    """What everybody got who started at the same moment."""
    start = threading.Barrier(workers)

    def run(number: int) -> R:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(run, range(workers)))


def test_a_session_is_changed_by_those_who_saw_it(store: Store) -> None:
    assert store.load_session("s") is None
    assert not store.save_session("s", b"x", version=1, now_ns=1)
    assert store.save_session("s", b"one", version=0, now_ns=1)
    assert not store.save_session("s", b"two", version=0, now_ns=2)
    assert store.save_session("s", b"two", version=1, now_ns=3)
    assert not store.save_session("s", b"three", version=1, now_ns=4)
    state = store.load_session("s")
    assert state is not None
    assert (state.version, state.body, state.updated_ns) == (2, b"two", 3)
    assert store.save_session("t", b"t", version=0, now_ns=9)
    assert [each.session for each in store.sessions()] == ["t", "s"]
    assert [each.session for each in store.sessions(since_ns=4)] == ["t"]


def test_sessions_of_one_kind_are_found_however_many_others_there_are(store: Store) -> None:
    for number in range(5):
        store.save_session(f"hook:{number}", b"", version=0, now_ns=number + 10)
    for name in ("gov:old", "gov:new", "gov%", "go"):
        store.save_session(name, b"", version=0, now_ns=len(name))
    assert [each.session for each in store.sessions(prefix="gov:", limit=2)] == ["gov:new", "gov:old"]
    assert [each.session for each in store.sessions(prefix="gov%")] == ["gov%"], "no letter of it is a pattern"
    assert len(store.sessions(limit=100)) == 9


def test_no_change_of_a_session_is_lost(store: Store) -> None:
    store.save_session("s", b"0", version=0, now_ns=0)

    def count_up(_number: int) -> None:
        while True:
            state = store.load_session("s")
            assert state is not None
            if store.save_session("s", b"%d" % (int(state.body) + 1), version=state.version, now_ns=0):
                return

    race(count_up, 16)
    state = store.load_session("s")
    assert state is not None
    assert (state.body, state.version) == (b"16", 17)


def test_a_question_is_answered_once_and_in_time(store: Store) -> None:
    assert store.ask(Approval(id="q", session="s", created_ns=1, expires_ns=100, body=b"may I?"))
    assert not store.ask(Approval(id="q", created_ns=2, body=b"other"))
    assert store.ask(Approval(id="late", created_ns=0, expires_ns=50, body=b""))
    assert [each.id for each in store.waiting(now_ns=10)] == ["late", "q"]
    assert [each.id for each in store.waiting(now_ns=50)] == ["q"]
    assert not store.answer("late", "yes", body=b"", approver="ann", now_ns=50)
    assert not store.answer("nope", "yes", body=b"", approver="ann", now_ns=1)
    assert not store.answer("q", "", body=b"may I?", approver="ann", now_ns=1)
    assert not store.answer("q", "yes", body=b"another question", approver="ann", now_ns=60)
    assert store.answer("q", "yes", body=b"may I?", approver="ann", now_ns=60)
    assert not store.answer("q", "no", body=b"may I?", approver="bob", now_ns=61)
    question = store.approval("q")
    assert question is not None
    assert (question.answer, question.approver, question.answered_ns, question.body) == ("yes", "ann", 60, b"may I?")
    assert store.approval("nope") is None
    assert store.waiting(now_ns=10) == store.waiting(now_ns=10, limit=1)


def test_of_many_answers_one_counts(store: Store) -> None:
    store.ask(Approval(id="q", created_ns=1, body=b""))
    counted = race(lambda number: store.answer("q", "yes", body=b"", approver=f"p{number}", now_ns=2))
    assert counted.count(True) == 1
    question = store.approval("q")
    assert question is not None
    assert question.approver == f"p{counted.index(True)}"


def test_a_yes_and_what_it_grants_are_one(store: Store) -> None:
    for id in ("q", "taken", "late"):
        store.ask(Approval(id=id, created_ns=1, expires_ns=5 if id == "late" else 100, body=b""))
    store.give(Grant(id="taken", subject="x", created_ns=0))
    yes = [
        store.approve(id, "yes", Grant(id=id, subject="y", created_ns=1), body=b"", approver="ann", now_ns=10)
        for id in ("q", "q", "taken", "late", "nope")
    ]
    assert yes == [True, False, False, False, False]
    assert [grant.id for grant in store.grants("y", now_ns=10)] == ["q"]
    assert [each.id for each in store.waiting(now_ns=10)] == ["taken"], "without its grant there is no yes"
    assert not store.approve("taken", "", Grant(id="g", subject="y", created_ns=1), body=b"", approver="ann", now_ns=10)
    assert sorted(store.settled(["q", "taken", "late", "nope"], now_ns=10)) == ["late", "q"]
    assert store.settled([], now_ns=10) == []
    assert len(store.approvals()) == 3
    assert len(store.approvals(limit=2)) == 2


def test_a_question_is_put_off_while_it_is_the_same_one_and_open(store: Store) -> None:
    store.ask(Approval(id="q", session="s", created_ns=1, expires_ns=100, body=b"first"))
    later = Approval(id="q", created_ns=1, expires_ns=500, body=b"later", approver="ann")
    assert not store.postpone(later, body=b"second", now_ns=10), "it is another question"
    assert not store.postpone(later, body=b"first", now_ns=100), "it is over"
    assert store.settled(["q"], now_ns=10) == []
    assert store.postpone(later, body=b"first", now_ns=10)
    assert store.settled(["q"], now_ns=10) == ["q"], "whoever waits for it need not"
    assert [(each.expires_ns, each.body, each.approver) for each in store.waiting(now_ns=200)] == [
        (500, b"later", "ann")
    ]
    assert not store.answer("q", "yes", body=b"first", approver="bob", now_ns=200)
    assert store.answer("q", "yes", body=b"later", approver="bob", now_ns=200)
    assert not store.postpone(later, body=b"later", now_ns=200), "it was answered"


def test_of_many_who_say_yes_one_grants(store: Store) -> None:
    store.ask(Approval(id="q", created_ns=1, body=b""))

    def approve(number: int) -> bool:
        grant = Grant(id=f"g{number}", subject="x", created_ns=1)
        return store.approve("q", "yes", grant, body=b"", approver="p", now_ns=2)

    assert race(approve).count(True) == 1
    assert len(store.grants("x", now_ns=2)) == 1


def test_thousands_of_questions_are_looked_after_at_once(store: Store) -> None:
    ids = [f"q{number}" for number in range(1200)]
    store.ask(Approval(id=ids[0], created_ns=1, expires_ns=2, body=b""))
    store.ask(Approval(id=ids[-1], created_ns=1, expires_ns=2, body=b""))
    assert store.settled(ids, now_ns=2) == [ids[0], ids[-1]]


def test_what_is_long_over_is_forgotten(store: Store) -> None:
    for id, end in (("old", 10), ("new", 20), ("endless", NEVER)):
        store.ask(Approval(id=id, created_ns=1, expires_ns=end, body=b""))
        store.give(Grant(id=id, subject="x", created_ns=1, expires_ns=end))
    assert store.forget_approvals(20) == 1
    assert sorted(each.id for each in store.approvals()) == ["endless", "new"]
    assert sorted(grant.id for grant in store.grants(now_ns=5)) == ["endless", "new"]


def test_sessions_that_the_ledger_saw(store: Store) -> None:
    def entry(seq: int, session: str, decision: str, kind: Kind = "decided") -> StoredEntry:
        return StoredEntry(
            writer="w", seq=seq, kind=kind, time_ns=seq * 10, prev=b"", hash=b"", body=b"{}", session=session,
            agent="main" if session else "", decision=decision, call_id=f"c{seq}",
        )  # fmt: skip

    said = [("s1", "allow"), ("s2", "deny"), ("s1", "ask"), ("s1", "allow"), ("", "allow"), ("s2", "rewrite")]
    store.append([entry(seq, session, decision) for seq, (session, decision) in enumerate(said, 1)])
    store.append([entry(7, "s1", "success", "finished")])
    s1, s2 = SessionTally("s1", "main", 10, 40, 3, 2, 0, 1, 0), SessionTally("s2", "main", 20, 60, 2, 0, 1, 0, 1)
    assert store.session_tallies() == [s2, s1]
    assert store.session_tallies(limit=1) == [s2]
    assert store.session_tallies(session="s1") == [s1]
    assert [each.session for each in store.session_tallies(since_ns=41)] == ["s2"]
    assert store.session_tallies(session="s3") == []


def test_grants_are_used_up(store: Store) -> None:
    assert store.give(Grant(id="long", subject="x", uses=2, created_ns=1))
    assert store.give(Grant(id="short", subject="x", expires_ns=100, created_ns=2, body=b"b"))
    assert not store.give(Grant(id="short", subject="y", created_ns=3))
    assert store.give(Grant(id="over", subject="x", expires_ns=5, created_ns=0))
    assert [grant.id for grant in store.grants(now_ns=5)] == ["long", "short"]
    assert store.grants("y", now_ns=5) == []
    taken = [store.use(id, now_ns=10) for id in ("short", "short", "long", "long", "long", "over", "none")]
    assert [grant.uses if grant else None for grant in taken] == [0, None, 1, 0, None, None, None]
    store.give(Grant(id="many", subject="z", uses=9, created_ns=1))
    for most in (12, 4, 6):
        store.lower("many", most)
    assert [grant.uses for grant in store.grants("z", now_ns=5)] == [4]
    store.give(Grant(id="again", subject="x", created_ns=1))
    assert store.revoke("again")
    assert not store.revoke("again")
    assert store.use("again", now_ns=10) is None


def test_the_latest_time_is_that_of_the_last_question_or_answer(store: Store) -> None:
    assert store.latest_ns() == 0
    store.ask(Approval(id="q", created_ns=70, expires_ns=900, body=b""))
    assert store.latest_ns() == 70
    store.answer("q", "yes", body=b"", approver="ann", now_ns=80)
    assert store.latest_ns() == 80


def test_a_grant_is_used_exactly_as_often_as_it_may(place: str, store: Store) -> None:
    second = open_store(place)
    store.give(Grant(id="g", subject="x", uses=21, created_ns=0))
    taken = race(lambda number: (store, second)[number % 2].use("g", now_ns=1))
    second.close()
    assert sum(grant is not None for grant in taken) == 21
    assert store.use("g", now_ns=1) is None


def test_a_counter_stops_at_its_budget(store: Store) -> None:
    assert store.spent("c") == 0
    assert store.spend("c", 6, budget=5) is None
    assert store.spend("c", 3, budget=5) == 3
    assert store.spend("c", 3, budget=5) is None
    assert store.spend("c", 2, budget=5) == 5
    assert store.spend("c", 0, budget=5) == 5
    assert store.spend("c", 1, budget=4) is None
    with pytest.raises(ValueError, match="negative"):
        store.spend("c", -1, budget=5)


def test_a_counter_never_exceeds_its_budget(place: str, store: Store) -> None:
    second = open_store(place)

    def spend(number: int) -> list[int | None]:
        return [(store, second)[number % 2].spend("c", 3, budget=100) for _ in range(3)]

    got = [total for totals in race(spend) for total in totals if total is not None]
    second.close()
    assert sorted(got) == list(range(3, 100, 3))
    assert store.spent("c") == 99


def test_several_counters_are_added_to_or_none_is(store: Store) -> None:
    assert store.spend_all([]) == ()
    assert store.spend_all([Spending("a", 2, 3), Spending("b", 1, 9)]) == ()
    assert store.spend_all([Spending("b", 1, 9), Spending("a", 2, 3), Spending("c", 1, 1)]) == ("a",)
    assert store.spend_all([Spending("d", 5, 4), Spending("b", 1, 9)]) == ("d",)
    assert store.spend_all([Spending("c", 0, -1)]) == ("c",)
    assert store.spent_of(["c", "b", "a", "d"]) == {"c": 0, "b": 1, "a": 2, "d": 0}
    assert store.spend_all([Spending("a", 1, 3), Spending("b", 8, 9)]) == ()
    assert set(store.spend_all([Spending("a", 0, 2), Spending("b", 1, 9), Spending("c", 1, 1)])) == {"a", "b"}
    assert store.spent_of(["a", "b", "c"]) == {"a": 3, "b": 9, "c": 0}
    assert store.spent_of([]) == {}
    with pytest.raises(ValueError, match="negative"):
        store.spend_all([Spending("a", -1, 5)])
    with pytest.raises(ValueError, match="once"):
        store.spend_all([Spending("a", 1, 5), Spending("a", 1, 9)])


def test_a_counter_holds_any_name_and_the_largest_amount(store: Store) -> None:
    hostile = "\0\ud800' OR 1=1 --"
    assert store.spend_all([Spending(hostile, NEVER, NEVER), Spending("x" * 5000, 1, 1)]) == ()
    assert store.spend_all([Spending(hostile, 1, NEVER)]) == (hostile,), "and never more than a number can be"
    assert store.spent_of([hostile]) == {hostile: NEVER}


def test_counters_that_are_taken_in_any_order_never_wait_for_each_other(place: str, store: Store) -> None:
    """Everybody takes the same counters, each in another order: together they use up exactly what there is."""
    second = open_store(place)
    names = [f"c{number}" for number in range(6)]

    def spend(number: int) -> int:
        mine = names[number % 6 :] + names[: number % 6]
        mine = mine[::-1] if number % 4 < 2 else mine
        return sum(
            (store, second)[number % 2].spend_all([Spending(name, 1, 150) for name in mine]) == () for _ in range(3)
        )

    got = race(spend)
    second.close()
    assert sum(got) == 150
    assert set(store.spent_of(names).values()) == {150}
