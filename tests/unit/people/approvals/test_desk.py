"""The desk: what a yes counts for, who gets it, and what a no and nobody's answer mean. On both stores."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

import pytest

from interpose.core.answers import Approved, Edited, Pending
from interpose.core.errors import AnsweredError, NoQuestionError, ScopeError, StoreError, TooLateError
from interpose.core.registry import create_interceptor_registry
from interpose.core.types import (
    Allow,
    Confirm,
    Context,
    Deny,
    Finding,
    Message,
    Params,
    PermissionRequest,
    ToolCall,
    ToolOutcome,
    Transform,
)
from interpose.engine.engine import Engine
from interpose.people.approvals import desk as desk_module
from interpose.people.approvals.desk import REST_SECONDS, Desk
from interpose.people.approvals.questions import Question
from interpose.people.approvals.scopes import ONCE, SESSION, Scope, scope
from interpose.people.approvals.seal import new_seal
from interpose.record.store import open_store
from interpose.record.store.protocols import Store

KEY = b"k" * 32
SEAL = new_seal()
SECOND = 1_000_000_000
START = datetime(2026, 1, 31, 8, tzinfo=UTC)
HERE = Context(session_id="s1", agent_id="main", principal="user:ann", cwd="/work", source="hook:x")


class Clock:
    """A time that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = round(START.timestamp()) * SECOND

    def __call__(self) -> int:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += round(seconds * SECOND)


def request(command: str = "git push", context: Context = HERE, tool: str = "exec", **more: Any) -> PermissionRequest:
    asked = Finding(
        interceptor="guard", said="ask", reason="It publishes", rule="publish", instead="git push --dry-run"
    )
    return PermissionRequest("It publishes", ToolCall(tool, {"command": command, **more}, context=context), (asked,))


def made(store: Store, clock: Callable[[], int], **options: Any) -> Desk:
    return Desk(store, timeout=300, key=KEY, clock=clock, **{"seal": SEAL} | options)


def ask(desk: Desk, asked: PermissionRequest | None = None, seconds: float = 0.0) -> Approved | Deny | Pending | Edited:
    return asyncio.run(desk.waiting(seconds).confirm(asked or request()))


def queued(desk: Desk, asked: PermissionRequest | None = None) -> str:
    """The id of a question that waits now."""
    answer = ask(desk, asked)
    assert isinstance(answer, Pending), answer
    return answer.approval


class Waiter:
    """Somebody who waits in a thread and can be waited for."""

    def __init__(self, desk: Desk, asked: PermissionRequest | None = None, seconds: float = 30.0) -> None:
        self._pool, self._start = ThreadPoolExecutor(1), monotonic()
        self._future = self._pool.submit(ask, desk, asked, seconds)
        until(lambda: desk._waiters._waiting)

    def answer(self) -> Approved | Deny | Pending | Edited:
        answer = self._future.result(40)
        self._pool.shutdown()
        assert monotonic() - self._start < 20, "it came because somebody answered, not because the time was up"
        return answer


def until(condition: Callable[[], object]) -> None:
    pause = threading.Event()
    for _ in range(3000):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it never happened")


def test_asked_approved_and_asked_again(store: Store) -> None:
    clock, heard = Clock(), list[Question]()
    desk = made(store, clock, on_question=heard.append)
    id = queued(desk)
    assert queued(desk) == id
    assert [question.id for question in heard] == [id]
    (shown,) = desk.asked()
    assert (shown.state, shown.tool, shown.arguments) == ("waiting", "exec", {"command": "git push"})
    assert (shown.session, shown.agent, shown.principal, shown.cwd) == ("s1", "main", "user:ann", "/work")
    assert (shown.message, shown.instead, shown.findings[0].rule) == ("It publishes", "git push --dry-run", "publish")
    assert (shown.asked, shown.expires) == (START, START + timedelta(seconds=300))

    answered = desk.approve(id.upper(), "ann", comment="go")
    assert answered.state == "approved"
    assert answered.answer is not None
    assert (answered.answer.by, answered.answer.scope, answered.answer.comment) == ("ann", ONCE, "go")
    assert desk.asked() == []
    assert desk.recent() == [answered] == [desk.question(id)]
    assert ask(desk) == Approved(f"grant:{id} of ann", "go")
    assert queued(desk) != id


def test_who_waits_gets_the_answer_and_it_is_used_up(store: Store) -> None:
    desk = made(store, Clock())
    waiter = Waiter(desk)
    desk.approve(desk.asked()[0].id, "ann")
    assert waiter.answer() == Approved("ann")
    assert desk.grants() == []
    queued(desk)


def test_an_answer_from_elsewhere_arrives(store: Store) -> None:
    clock = Clock()
    here, elsewhere = made(store, clock), made(store, clock)
    waiter = Waiter(here)
    elsewhere.deny(elsewhere.asked()[0].id, "bob", "not on a Friday")
    denied = waiter.answer()
    assert isinstance(denied, Deny)
    assert denied.rule == "approval-denied"
    assert denied.reason.startswith("Denied by bob")
    assert denied.reason.endswith("not on a Friday")


def test_one_yes_for_two_who_wait(store: Store) -> None:
    desk = made(store, Clock())
    waiters = [Waiter(desk, seconds=30), Waiter(desk, seconds=30)]
    until(lambda: any(len(waiting) == 2 for waiting in desk._waiters._waiting.values()))
    first = desk.asked()[0].id
    desk.approve(first, "ann")
    # The other one has asked again: it gets its own answer.
    until(lambda: desk.asked() and desk.asked()[0].id != first)
    desk.deny(desk.asked()[0].id, "ann")
    answers = [waiter.answer() for waiter in waiters]
    assert sorted(type(answer).__name__ for answer in answers) == ["Approved", "Deny"]


def test_a_no_stands_for_a_moment(store: Store) -> None:
    clock = Clock()
    desk = made(store, clock)
    id = queued(desk)
    desk.deny(id, "ann", "never")
    clock.pass_by(REST_SECONDS - 1)
    again = ask(desk)
    assert again == Deny(f"Denied by ann (question {id}): never", rule="approval-denied")
    assert isinstance(ask(desk, request("git fetch")), Pending)
    clock.pass_by(1)
    assert queued(desk) != id


def test_nobody_answers(store: Store) -> None:
    clock = Clock()
    desk = made(store, clock)
    id = queued(desk)
    clock.pass_by(299)
    assert queued(desk) == id
    clock.pass_by(1)
    assert ask(desk) == ask(desk, seconds=5) == Deny(f"Nobody answered question {id} in time", rule="approval-timeout")
    with pytest.raises(TooLateError, match="timed out at 2026-01-31 08:05:00 UTC"):
        desk.approve(id, "ann")
    with pytest.raises(TooLateError):
        desk.deny(id, "ann")
    assert desk.question(id).state == "expired"
    clock.pass_by(REST_SECONDS)
    assert queued(desk) != id


def test_a_time_limit_ends_the_wait_by_itself(store: Store) -> None:
    desk = Desk(store, timeout=0.2, key=KEY, seal=SEAL)
    queued(desk)  # by a caller that does not wait
    answer = ask(desk, seconds=30)
    assert isinstance(answer, Deny)
    assert answer.rule == "approval-timeout"
    assert isinstance(ask(made(store, Clock()), request("ls"), seconds=0.05), Pending)


@pytest.mark.parametrize(("waits", "then"), [(0.0, 0.0), (0.01, 0.0), (0.0, 240.0)])
def test_a_question_stays_open_for_its_time_after_its_caller_has_gone(store: Store, waits: float, then: float) -> None:
    clock = Clock()
    desk = made(store, clock)
    answer = asyncio.run(desk.waiting(waits, then=then).confirm(request()))
    assert isinstance(answer, Pending)
    clock.pass_by(waits + then + 299)
    desk.approve(answer.approval, "ann")
    assert ask(desk) == Approved(f"grant:{answer.approval} of ann")
    assert queued(desk) != answer.approval, "a late approval counts once"


def test_who_asks_the_same_again_does_not_keep_a_question_open(store: Store) -> None:
    clock = Clock()
    desk = made(store, clock)
    id = queued(desk)
    clock.pass_by(200)
    assert asyncio.run(desk.waiting(0.0, then=240.0).confirm(request())) == Pending(id)
    clock.pass_by(101)
    with pytest.raises(TooLateError):
        desk.approve(id, "ann")


def test_who_waits_hears_of_the_question_and_the_time_that_there_is(store: Store) -> None:
    heard: list[tuple[Question, float]] = []
    desk = made(store, Clock())

    def answer(question: Question, seconds: float) -> None:
        heard.append((question, seconds))
        desk.deny(question.id, "ann")

    assert isinstance(asyncio.run(desk.waiting(60, on_wait=answer).confirm(request())), Deny)
    ((question, seconds),) = heard
    assert question.message == desk.question(question.id).message
    assert 0 < seconds <= 60


def test_a_question_is_answered_once(store: Store) -> None:
    desk = made(store, Clock())
    id = queued(desk)
    desk.approve(id, "ann")
    with pytest.raises(AnsweredError, match=f"question {id} was approved by ann already"):
        desk.deny(id, "bob")
    with pytest.raises(AnsweredError):
        desk.approve(id, "bob", SESSION)
    assert [grant.by for grant in desk.grants()] == ["ann"]
    for answer in (desk.approve, desk.deny):
        with pytest.raises(NoQuestionError, match="there is no question zzzzzzzz"):
            answer("zzzzzzzz", "ann")


OTHER_SESSION = Context(session_id="s2", agent_id="main", principal="user:ann", cwd="/work")
UNTIL_NOON = scope("until", until=START + timedelta(hours=4))

SCOPES = [
    ("once is once", ONCE, [(request(), True), (request(), False)]),
    ("three times", scope("uses", uses=3), [(request(), True)] * 3 + [(request(), False)]),
    ("for the session", SESSION, [(request(), True)] * 5),
    ("the agent's names for things don't matter", SESSION, [(request(context=Context(
        session_id="s1", agent_id="sub", role="x", principal="user:ann", cwd="/work", trace_id="t", source="cli"
    )), True)]),
    *(
        (f"{chosen.kind} holds for nothing else", chosen, [
            (request("git push --force"), False), (request(tool="write"), False), (request(timeout=1), False),
            (request(context=Context(session_id="s1", principal="user:bob", cwd="/work")), False),
            (request(context=Context(session_id="s1", principal="user:ann", cwd="/")), False),
            (request(), True),
        ]) for chosen in (ONCE, scope("uses", uses=2), SESSION, UNTIL_NOON)
    ),
    *(
        (f"{chosen.kind} holds in its session only", chosen, [(request(context=OTHER_SESSION), False)])
        for chosen in (ONCE, scope("uses", uses=2), SESSION)
    ),
    ("until holds in every session", UNTIL_NOON, [(request(context=OTHER_SESSION), True), (request(), True)]),
]  # fmt: skip


@pytest.mark.parametrize(("note", "chosen", "calls"), SCOPES, ids=[note for note, _, _ in SCOPES])
def test_what_a_yes_counts_for(
    tmp_path: Any, note: str, chosen: Scope, calls: list[tuple[PermissionRequest, bool]]
) -> None:
    store = open_store(tmp_path / "ledger.db")
    desk = made(store, Clock())
    desk.approve(queued(desk), "ann", chosen)
    assert [isinstance(ask(desk, call), Approved) for call, _ in calls] == [want for _, want in calls], note
    store.close()


@pytest.mark.parametrize(
    ("note", "chosen", "hours"),
    [
        ("nobody came back for it", ONCE, 1),
        ("uses are for a day", scope("uses", uses=2), 24),
        ("sessions end", SESSION, 24),
        ("as it was said", UNTIL_NOON, 4),
    ],
)
def test_grants_end(tmp_path: Any, note: str, chosen: Scope, hours: float) -> None:
    store, clock = open_store(tmp_path / "ledger.db"), Clock()
    desk = made(store, clock)
    desk.approve(queued(desk), "ann", chosen)
    (given,) = desk.grants()
    assert given.ends == START + timedelta(hours=hours), note
    clock.pass_by(hours * 3600 - 1)
    assert desk.grants() == [given]
    clock.pass_by(1)
    assert desk.grants() == []
    assert isinstance(ask(desk), Pending)
    store.close()


@pytest.mark.parametrize(
    ("chosen", "context", "why"),
    [
        (SESSION, Context(cwd="/work"), "names no session"),
        (scope("until", until=START), HERE, "over already"),
        (scope("until", until=START + timedelta(days=32)), HERE, "31 days at most"),
    ],
)
def test_a_yes_that_can_not_count(store: Store, chosen: Scope, context: Context, why: str) -> None:
    desk = made(store, Clock())
    id = queued(desk, request(context=context))
    with pytest.raises(ScopeError, match=why):
        desk.approve(id, "ann", chosen)
    assert desk.question(id).state == "waiting"


@pytest.mark.parametrize(
    ("kind", "options", "why"),
    [
        ("uses", {}, "needs a number"),
        ("uses", {"uses": 0}, "between 1 and"),
        ("once", {"uses": 2}, "'once' takes no uses"),
        ("until", {}, "needs a time"),
        ("session", {"until": START}, "'session' takes no time"),
        ("until", {"until": datetime(2026, 1, 1)}, "time zone"),  # noqa: DTZ001 - what is refused
    ],
)
def test_scopes_whose_parts_do_not_fit(kind: Any, options: dict[str, Any], why: str) -> None:
    with pytest.raises(ScopeError, match=why):
        scope(kind, **options)


def test_grants_are_listed_and_revoked(store: Store) -> None:
    desk = made(store, Clock())
    once, session = queued(desk), queued(desk, request("git tag"))
    desk.approve(once, "ann")
    desk.approve(session, "bob", SESSION, comment="releases")
    listed = {given.id: given for given in desk.grants()}
    assert (listed[once].uses_left, listed[once].by, listed[once].arguments) == (1, "ann", {"command": "git push"})
    assert (listed[session].uses_left, listed[session].comment, listed[session].session) == (None, "releases", "s1")
    assert desk.revoke(once.upper())
    assert not desk.revoke(once)
    assert isinstance(ask(desk), Pending)
    assert ask(desk, request("git tag")) == Approved(f"grant:{session} of bob", "releases")
    assert ask(desk, request("git tag")) == Approved(f"grant:{session} of bob"), (
        "what is said to the agent is said once"
    )


def test_secrets_stay_out_of_the_store(store: Store) -> None:
    desk = made(store, Clock())
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    asked = request(f"curl -H 'Authorization: Bearer {token}' https://example.com")
    texts: dict[str, Any] = dict.fromkeys(("reason", "part", "instead", "detail", "summary"), f"sends {token}")
    said = Finding(interceptor="judge", said="ask", **texts)
    id = queued(desk, PermissionRequest(f"sends {token}", asked.subject, (said,)))
    row = store.approval(id)
    assert row is not None
    assert token.encode() not in row.body
    shown = desk.question(id)
    assert "[redacted:" in shown.message
    assert "[redacted:" in shown.arguments["command"]
    desk.approve(id, "ann")
    assert token not in str(desk.grants())
    other = request(asked.arguments["command"].replace("a1B2", "z1B2"))
    assert isinstance(ask(desk, other), Pending), "what is hidden counts all the same"


STRANGE: list[tuple[str, Any]] = [
    ("half a character", "\ud800 \udc80"),
    ("NUL and escapes", "a\0b\x1b[2J"),
    ("a million letters", "x" * 1_000_000),
    ("nested", [[[{"a": [1, 2.5, None, True]}]]]),
]


@pytest.mark.parametrize(("note", "value"), STRANGE, ids=[note for note, _ in STRANGE])
def test_strange_arguments_can_be_asked_about(store: Store, note: str, value: Any) -> None:
    desk = made(store, Clock())
    odd = Context(session_id="s\0\ud800", cwd="/w\udcff", principal="p\0")
    id = queued(desk, request(value=value, context=odd))
    assert queued(desk, request(value=value, context=odd)) == id, note
    (shown,) = desk.asked()
    assert len(str(shown.arguments)) < 70_000
    desk.approve(id, "ann")
    assert isinstance(ask(desk, request(value=value, context=odd)), Approved)


@pytest.mark.parametrize(
    ("note", "subject"),
    [
        ("an object", ToolCall("exec", {"value": object()})),
        ("bytes", ToolCall("exec", {"value": b"x"})),
        ("not a number", ToolCall("exec", {"value": float("nan")})),
        ("a result without a form", ToolOutcome(ToolCall("exec"), {1, 2})),
        ("nothing", None),
    ],
)
def test_what_has_no_exact_form_is_refused(store: Store, note: str, subject: Any) -> None:
    desk = made(store, Clock())
    answer = ask(desk, PermissionRequest("really?", subject))
    assert isinstance(answer, Deny), note
    assert answer.rule == "approval-impossible"
    assert desk.recent() == []


@pytest.mark.parametrize(
    ("subject", "other"),
    [
        (ToolOutcome(ToolCall("exec"), {"out": "a"}), ToolOutcome(ToolCall("exec"), {"out": "b"})),
        (Message("hello"), Message("hello", model="m")),
        (Params(model="a"), Params(model="a", extras={"x": 1})),
        (ToolCall("exec", {"arguments": {}, "result": 1}), ToolOutcome(ToolCall("exec", {}), 1)),
    ],
)
def test_other_things_than_calls_are_asked_about(store: Store, subject: Any, other: Any) -> None:
    desk = made(store, Clock())
    desk.approve(queued(desk, PermissionRequest("really?", subject)), "ann")
    assert isinstance(ask(desk, PermissionRequest("really?", other)), Pending)
    assert isinstance(ask(desk, PermissionRequest("really?", subject)), Approved)


def test_everybody_who_asks_at_once_gets_the_same_question(place: str, store: Store) -> None:
    """Also when the question before is over, and over several connections."""
    second, clock, heard = open_store(place), Clock(), list[str]()
    desks = [made(each, clock, on_question=lambda question: heard.append(question.id)) for each in (store, second)]
    for round_ in range(3):
        start = threading.Barrier(32)

        def put(number: int, start: threading.Barrier = start) -> Any:
            start.wait()
            return ask(desks[number % 2])

        with ThreadPoolExecutor(32) as pool:
            assert len(set(pool.map(put, range(32)))) == 1
        assert len(heard) == round_ + 1
        clock.pass_by(300 + REST_SECONDS)
    second.close()


def test_once_is_once_for_all_who_race(place: str, store: Store) -> None:
    second, clock = open_store(place), Clock()
    desks = [made(store, clock), made(second, clock)]
    id = queued(desks[0])
    desks[1].approve(id, "ann", scope("uses", uses=7))
    start = threading.Barrier(64)

    def take(number: int) -> Any:
        start.wait()
        return ask(desks[number % 2])

    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(take, range(64)))
    second.close()
    assert answers.count(Approved(f"grant:{id} of ann")) == 7
    assert sum(isinstance(answer, Pending) for answer in answers) == 57


def test_an_id_that_is_taken_is_not_mistaken(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ids: dict[str, str] = {}
    monkeypatch.setattr(
        desk_module, "question_id", lambda seed: ids.setdefault(seed, ("same", "same", "other")[len(ids)])
    )
    desk = made(store, Clock())
    assert queued(desk) == "same"
    assert queued(desk, request("rm -rf /")) == "other"


class Hasty:
    """A store in which somebody approves between two looks of who asks."""

    def __init__(self, store: Store, approve: Callable[[str], object]) -> None:
        self._store, self._approve = store, approve

    def approval(self, id: str) -> Any:
        if (row := self._store.approval(id)) is not None and not row.answer:
            self._approve(id)
        return self._store.approval(id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def test_an_approval_between_two_looks_is_found(store: Store) -> None:
    clock = Clock()
    slow = made(store, clock)
    id = queued(slow)
    hasty = made(Hasty(store, lambda id: slow.approve(id, "ann")), clock)
    assert ask(hasty) == Approved(f"grant:{id} of ann")


class Away:
    """A store that can't be reached."""

    def __getattr__(self, name: str) -> Any:
        def refuse(*_args: object, **_options: object) -> Any:
            raise StoreError("the store is away")

        return refuse


class Pushing:
    """Asks about every call, after a rewrite."""

    def intercept(self, call: ToolCall) -> Allow | Transform[ToolCall] | Confirm:
        command = call.arguments["command"]
        if command == "safe":
            return Allow()
        return (
            Transform(call.with_arguments({"command": f"{command} --dry-run"})) if command == "push" else Confirm("?")
        )


def engine(desk: Desk, seconds: float = 0.0) -> Engine:
    registry = create_interceptor_registry()
    registry.add(id="rewrite", name="tool.before", interceptor=Pushing(), priority=2)
    registry.add(id="ask", name="tool.before", interceptor=Pushing(), priority=1)
    return Engine(registry, confirm=desk.waiting(seconds))


def test_the_engine_asks_about_what_would_really_run(store: Store) -> None:
    desk = made(store, Clock())
    run = engine(desk).run(HERE)
    open_question = run.before(ToolCall("exec", {"command": "push"}))
    assert (open_question.outcome, open_question.approval) == ("ask", desk.asked()[0].id)
    assert desk.asked()[0].arguments == {"command": "push --dry-run"}
    desk.approve(open_question.approval, "ann", SESSION)
    allowed = run.before(ToolCall("exec", {"command": "push"}))
    assert (allowed.outcome, allowed.approver) == ("rewrite", f"grant:{open_question.approval} of ann")
    assert allowed.payload.arguments == {"command": "push --dry-run"}
    smuggled = {"command": "other", "approval": open_question.approval, "approval_id": open_question.approval}
    assert run.before(ToolCall("exec", smuggled)).outcome == "ask"


def test_a_store_that_is_away_denies() -> None:
    desk = made(Away(), Clock())
    verdict = engine(desk, 5).run(HERE).before(ToolCall("exec", {"command": "x"}))
    assert verdict.outcome == "deny"
    assert "the store is away" in verdict.reason


def test_who_goes_away_leaves_nothing_behind(store: Store) -> None:
    desk = made(store, Clock())

    async def gone() -> None:
        waiting = asyncio.create_task(desk.waiting(30).confirm(request()))
        while not desk._waiters._waiting:
            await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(gone())
    assert desk._waiters._waiting == {}
    until(lambda: desk._waiters._thread is None)
    desk.approve(desk.asked()[0].id, "ann")
    assert isinstance(ask(desk), Approved), "the yes that nobody waited for is there for who asks again"


def test_what_is_long_over_is_forgotten(store: Store) -> None:
    clock = Clock()
    desk = made(store, clock)
    desk.approve(queued(desk), "ann")
    clock.pass_by(40 * 24 * 3600)
    queued(made(store, clock), request("other"))
    assert [question.arguments["command"] for question in desk.recent()] == ["other"]
