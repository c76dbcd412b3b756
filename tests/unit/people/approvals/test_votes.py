"""Four eyes: who must agree, who may not, what several agree to, and to whom a question goes after a time."""

from __future__ import annotations

import os
import pwd
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from interpose.core.answers import Approved, Approvers, Pending
from interpose.core.errors import AnsweredError, ScopeError, TooLateError, VoteError
from interpose.core.types import Confirm, Context, Deny, Finding, PermissionRequest, ToolCall
from interpose.engine.engine import Engine
from interpose.people.approvals import AutoApprove
from interpose.people.approvals.desk import Desk
from interpose.people.approvals.questions import Question
from interpose.people.approvals.scopes import SESSION
from interpose.people.approvals.seal import new_seal
from interpose.record.store.protocols import Store
from tests.unit.people.approvals.test_desk import HERE, Clock, ask, made, queued


def request(*approvers: Approvers, command: str = "deploy", context: Context = HERE) -> PermissionRequest:
    found = tuple(
        Finding(interceptor="policy", said="ask", reason=f"rule {number}", rule=f"r{number}", approvers=one)
        for number, one in enumerate(approvers)
    )
    return PermissionRequest("Deploy?", ToolCall("exec", {"command": command}, context=context), found)


TWO = Approvers(count=2)


def test_two_people_must_agree(store: Store) -> None:
    desk = made(store, Clock())
    id = queued(desk, request(TWO))
    first = desk.approve(id, "bob")
    assert (first.state, first.answer, desk.grants()) == ("waiting", None, [])
    assert isinstance(ask(desk, request(TWO)), Pending)
    assert [vote.by for vote in desk.kept(id)[1]] == ["bob"]
    done = desk.approve(id, "carol")
    assert done.answer is not None
    assert (done.state, done.answer.by) == ("approved", "bob, carol")
    assert ask(desk, request(TWO)) == Approved(f"grant:{id} of bob, carol")


@pytest.mark.parametrize("asker", ["ann", "user:ann", "ANN", " ann "])
def test_never_by_the_one_who_asked_and_never_twice_by_one(store: Store, asker: str) -> None:
    desk = made(store, Clock())
    id = queued(desk, request(TWO))
    with pytest.raises(VoteError, match="asked for this"):
        desk.approve(id, asker, role="operator")
    desk.approve(id, "bob")
    for again in ("bob", "user:bob", "BOB"):
        with pytest.raises(VoteError, match="has agreed already"):
            desk.approve(id, again, role="operator")
    assert desk.question(id).state == "waiting"


def test_whoever_claims_to_act_for_somebody_is_not_answered_by_them(store: Store) -> None:
    desk = made(store, Clock())
    id = queued(desk, request(Approvers(), context=replace(HERE, principal="ci-bot", claimed="user:dora")))
    with pytest.raises(VoteError, match="asked for this"):
        desk.approve(id, "dora")
    desk.approve(id, "bob")


def test_it_must_be_known_who_asked(store: Store) -> None:
    desk = made(store, Clock())
    id = queued(desk, request(Approvers(), context=replace(HERE, principal="", source="intercept")))
    with pytest.raises(VoteError, match="not known who asked"):
        desk.approve(id, "bob")
    desk.deny(id, "bob")


def test_a_hook_that_says_no_name_is_of_the_user_of_this_machine(store: Store) -> None:
    """No host says whose agent it is. Only our own user reaches the hooks' socket: they asked, and others may agree."""
    desk = made(store, Clock())
    id = queued(desk, request(Approvers(), context=replace(HERE, principal="")))
    here = pwd.getpwuid(os.geteuid()).pw_name
    for by in (here, f"user:{here}"):
        with pytest.raises(VoteError, match="asked for this"):
            desk.approve(id, by, role="operator")
    done = desk.approve(id, "somebody-else")
    assert done.state == "approved"


def test_a_role_that_must_agree(store: Store) -> None:
    desk = made(store, Clock())
    id = queued(desk, request(Approvers("operator", 1)))
    with pytest.raises(VoteError, match="of the role operator"):
        desk.approve(id, "bob", role="approver")
    assert desk.approve(id, "carol", role="operator").state == "approved"


def test_all_that_rules_want_must_be_there(store: Store) -> None:
    """Two approvers, and one operator: an operator counts for both."""
    desk = made(store, Clock())
    asked = request(TWO, Approvers("operator", 1))
    id = queued(desk, asked)
    assert desk.approve(id, "bob").state == "waiting"
    assert desk.approve(id, "carol").state == "waiting", "two, and none of them is an operator"
    assert desk.approve(id, "dora", role="operator").state == "approved"
    other = queued(desk, request(TWO, Approvers("operator", 1), command="deploy again"))
    desk.approve(other, "bob")
    assert desk.approve(other, "dora", role="operator").state == "approved"


def test_one_no_is_enough(store: Store) -> None:
    desk = made(store, Clock())
    id = queued(desk, request(TWO))
    desk.approve(id, "bob")
    desk.deny(id, "carol", "not today")
    with pytest.raises(AnsweredError):
        desk.approve(id, "dora")
    answer = ask(desk, request(TWO))
    assert isinstance(answer, Deny)
    assert "not today" in answer.reason


def test_votes_end_with_their_question(store: Store) -> None:
    clock = Clock()
    desk = made(store, clock)
    id = queued(desk, request(TWO))
    desk.approve(id, "bob")
    clock.pass_by(300)
    with pytest.raises(TooLateError):
        desk.approve(id, "carol")
    refused = ask(desk, request(TWO))
    assert isinstance(refused, Deny)
    assert refused.rule == "approval-timeout"
    clock.pass_by(60)
    again = queued(desk, request(TWO))
    assert again != id
    assert desk.approve(again, "carol").state == "waiting", "the vote was for the other question"


def test_several_agree_to_the_same_call_and_once(store: Store) -> None:
    desk = made(store, Clock())
    id = queued(desk, request(TWO))
    with pytest.raises(ScopeError, match="approved once"):
        desk.approve(id, "bob", SESSION)
    desk.approve(id, "bob", arguments={"command": "deploy --dry-run"})
    for other in (None, {"command": "deploy --force"}):
        with pytest.raises(VoteError, match="other arguments"):
            desk.approve(id, "carol", arguments=other)
    done = desk.approve(id, "carol", arguments={"command": "deploy --dry-run"})
    assert done.answer is not None
    assert done.answer.arguments == {"command": "deploy --dry-run"}


def test_a_question_goes_to_others_after_a_time(store: Store) -> None:
    clock, told = Clock(), list[Question]()
    desk = made(store, clock, on_escalated=told.append)
    waits = Approvers("operator", 1, 600.0, "approver")
    id = queued(desk, request(waits))
    assert (desk.question(id).expires - desk.question(id).asked).total_seconds() == 900, "long enough for the others"
    desk.escalate()
    clock.pass_by(599)
    with pytest.raises(VoteError):
        desk.approve(id, "bob", role="approver")
    assert told == []
    clock.pass_by(1)
    desk.escalate()
    made(store, clock, on_escalated=told.append).escalate()
    assert [question.id for question in told] == [id], "once, whoever looks"
    assert desk.approve(id, "bob", role="approver").state == "approved"


def test_of_many_who_vote_at_the_same_time_each_counts_once(store: Store) -> None:
    clock = Clock()
    desks = [made(store, clock) for _ in range(4)]
    id = queued(desks[0], request(Approvers(count=4)))
    start = threading.Barrier(8)

    def vote(number: int) -> str:
        start.wait()
        try:
            return desks[number % 4].approve(id, f"p{number % 4}").state
        except (VoteError, AnsweredError) as error:
            return type(error).__name__

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(vote, range(8)))
    assert said.count("approved") >= 1
    answer = desks[0].question(id).answer
    assert answer is not None
    assert sorted(answer.by.split(", ")) == ["p0", "p1", "p2", "p3"]
    assert isinstance(ask(desks[1], request(Approvers(count=4))), Approved)
    assert isinstance(ask(desks[2], request(Approvers(count=4))), Pending)


def forged(desk: Desk, id: str, other: Desk) -> None:
    """Votes that another seal wrote beside a question of ours."""
    row = other._store.approval(id)
    kept = desk.kept(id)[0]
    assert row is not None
    from interpose.people.approvals.questions import moment
    from interpose.people.approvals.votes import Vote

    vote = Vote(by="carol", role="operator", at=moment(row.created_ns))
    other._votes.cast(row, kept, vote, other.seal(), now_ns=row.created_ns)


def test_a_vote_that_no_server_of_ours_signed_is_none(store: Store) -> None:
    clock = Clock()
    desk, stranger = made(store, clock), made(store, clock, seal=new_seal())
    id = queued(desk, request(TWO))
    forged(desk, id, stranger)
    assert desk.approve(id, "bob").state == "waiting"
    assert "a vote on question" in "".join(desk.alarms.texts())
    assert desk.approve(id, "dora").state == "approved"


def test_a_vote_for_another_question_is_none(store: Store) -> None:
    clock = Clock()
    desk = made(store, clock)
    one, other = queued(desk, request(TWO)), queued(desk, request(TWO, command="destroy"))
    desk.approve(one, "bob")
    votes = store.load_session(f"votes:{one}")
    assert votes is not None
    store.save_session(f"votes:{other}", votes.body, version=0, now_ns=clock())
    assert desk.approve(other, "carol").state == "waiting"


class Asks:
    """A rule that certain people must answer."""

    def intercept(self, _call: ToolCall) -> Confirm:
        return Confirm("Deploy?", rule="deploying", approvers=TWO)


class Standing:
    def answer(self, _request: PermissionRequest, /) -> str:
        return "policy:everything"


@pytest.mark.parametrize("handler", [AutoApprove(), lambda _request: True, None], ids=["auto", "function", "nobody"])
def test_one_person_at_a_prompt_is_not_several(handler: object) -> None:
    engine = Engine(confirm=handler, standing=[Standing()])  # type: ignore[arg-type]
    engine.interceptors.add(id="asks", name="tool.before", interceptor=Asks())  # type: ignore[attr-defined]
    verdict = engine.run(HERE).before(ToolCall("exec", {"command": "deploy"}, context=HERE))
    wanted = "no-confirmation-handler" if handler is None else "needs-approvers"
    assert (verdict.outcome, verdict.rule) == ("deny", wanted)


def test_nothing_answers_in_advance(store: Store) -> None:
    """Neither an `allow` rule nor a grant of the time before the rule wanted certain people."""
    desk = made(store, Clock())
    before = replace(request(TWO), findings=(Finding(interceptor="policy", said="ask", reason="?", rule="r0"),))
    desk.approve(queued(desk, before), "dora", SESSION)
    assert isinstance(ask(desk, before), Approved)
    assert isinstance(ask(desk, request(TWO)), Pending)
    engine = Engine(confirm=desk.waiting(), standing=[Standing()])
    engine.interceptors.add(id="asks", name="tool.before", interceptor=Asks())  # type: ignore[attr-defined]
    assert engine.run(HERE).before(ToolCall("exec", {"command": "deploy x"}, context=HERE)).outcome == "ask"


@pytest.mark.parametrize("approvers", ["two", 2, Approvers(count=0), Approvers(count=True), {"count": 2}])
def test_garbage_is_a_failure_of_whoever_asked(approvers: object) -> None:
    class Garbage:
        def intercept(self, _call: ToolCall) -> Confirm:
            return Confirm("Deploy?", rule="deploying", approvers=approvers)  # type: ignore[arg-type]

    engine = Engine(confirm=AutoApprove())
    engine.interceptors.add(id="garbage", name="tool.before", interceptor=Garbage())  # type: ignore[attr-defined]
    verdict = engine.run(HERE).before(ToolCall("exec", {"command": "deploy"}, context=HERE))
    assert (verdict.outcome, verdict.rule) == ("deny", "interceptor-error")
