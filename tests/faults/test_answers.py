"""What goes wrong while people answer: the store is gone, rules change, two answer at once, rows are replayed.

Each of these leaves a no, a question, or one answer that counts once. Never a call that nobody agreed to.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from interpose.composition.service import pause_records, people_answers
from interpose.composition.service.people_answers import Yes
from interpose.composition.service.service import Service
from interpose.core.answers import Approved, Edited, Pending
from interpose.core.errors import AnsweredError, StoreError
from interpose.core.types import Context, ToolCall, Verdict
from interpose.engine.flow.hosted import Abilities, GoWith, Refuse, WaitFor
from interpose.people.approvals.desk import Desk
from interpose.people.approvals.scopes import scope
from tests.support.servers.servers import service_in

RULES = """\
version: 1
rules:
  - {id: pushing, on: {tools: [exec]}, when: 'args.command.startsWith("git push")', action: ask, message: Push?}
"""
NEVER = """\
  - {id: never, on: {tools: [exec]}, when: 'args.command.contains("main")', action: deny, message: Never}
"""
HERE = Context(session_id="s1", agent_id="main", principal="user:dora", cwd="/work", source="hook:x")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path, RULES, packs=()) as opened:
        yield opened


def before(service: Service, command: str) -> Verdict[ToolCall]:
    return service.run(HERE).before(ToolCall("Bash", {"command": command}, context=HERE))


def asked(service: Service, command: str) -> str:
    verdict = before(service, command)
    assert verdict.outcome == "ask", verdict
    return verdict.approval


def test_an_edited_call_that_is_refused_by_now_is_refused(service: Service, tmp_path: Path) -> None:
    """The rules were others when the person looked. What holds is what holds when it would run."""
    id = asked(service, "git push topic")
    people_answers.approve(service, id, "ann", "operator", Yes(arguments={"command": "git push main"}))
    (tmp_path / "policy" / "rules.yaml").write_text(RULES + NEVER, encoding="utf-8")
    service.reload()
    refused = before(service, "git push topic")
    assert (refused.outcome, refused.rule) == ("deny", "never")
    assert before(service, "git push main").outcome == "deny"


def test_a_kind_that_was_granted_never_passes_a_refusal(service: Service, tmp_path: Path) -> None:
    id = asked(service, "git push origin feature/x")
    people_answers.approve(service, id, "ann", "operator", Yes(scope=scope("kind"), kind="W1"))
    assert before(service, "git push origin feature/main").outcome == "allow"
    (tmp_path / "policy" / "rules.yaml").write_text(RULES + NEVER, encoding="utf-8")
    service.reload()
    assert before(service, "git push origin feature/main").outcome == "deny"
    assert before(service, "git push origin feature/y").outcome == "allow"


def test_a_rule_that_is_new_has_its_own_question(service: Service, tmp_path: Path) -> None:
    id = asked(service, "git push origin feature/x")
    people_answers.approve(service, id, "ann", "operator", Yes(scope=scope("kind"), kind="W1"))
    more = NEVER.replace("deny", "ask").replace("never", "careful")
    (tmp_path / "policy" / "rules.yaml").write_text(RULES + more, encoding="utf-8")
    service.reload()
    assert before(service, "git push origin feature/main").outcome == "ask"
    assert before(service, "git push origin feature/y").outcome == "allow"


def test_of_two_who_answer_at_once_one_is_the_answer(service: Service) -> None:
    """One edits, the other agrees to the call as it is: exactly one of the two calls runs, once."""
    for number in range(10):
        id, start = asked(service, f"git push {number}"), threading.Barrier(2)

        def answer(arguments: dict[str, Any] | None, id: str = id, start: threading.Barrier = start) -> bool:
            start.wait()
            try:
                service.desk.approve(id, "ann", arguments=arguments)
            except AnsweredError:
                return False
            return True

        with ThreadPoolExecutor(2) as pool:
            counts = list(pool.map(answer, [None, {"command": f"git push --dry-run {number}"}]))
        assert counts.count(True) == 1
        verdict = before(service, f"git push {number}")
        assert verdict.outcome == ("allow" if counts[0] else "rewrite")
        assert before(service, f"git push {number}").outcome == "ask"
        assert before(service, f"git push --dry-run {number}").outcome == "ask"


def test_many_who_ask_for_an_edited_call_get_it_once(service: Service) -> None:
    id = asked(service, "git push a")
    service.desk.approve(id, "ann", arguments={"command": "git push b"})
    start = threading.Barrier(6)

    def go(number: int) -> str:
        start.wait()
        return before(service, "git push a" if number % 2 else "git push b").outcome

    with ThreadPoolExecutor(6) as pool:
        said = list(pool.map(go, range(6)))
    assert len([one for one in said if one in ("allow", "rewrite")]) == 1, said


def test_a_grant_of_an_edit_that_is_put_back_is_spent(service: Service) -> None:
    id = asked(service, "git push a")
    service.desk.approve(id, "ann", arguments={"command": "git push b"})
    (row,) = service.store.grants(now_ns=0)
    assert before(service, "git push a").outcome == "rewrite"
    service.store.revoke(id)
    service.store.give(row)
    assert before(service, "git push a").outcome == "ask"
    assert before(service, "git push b").outcome == "ask"


def test_an_answer_that_is_put_to_another_question_is_none(service: Service) -> None:
    """Who can write the store copies the signed edit of one question to another."""
    one, other = asked(service, "git push a"), asked(service, "git push main")
    service.desk.approve(one, "ann", arguments={"command": "git push b"})
    row, open_one = service.store.approval(one), service.store.approval(other)
    assert row is not None
    assert open_one is not None
    assert service.store.answer(other, row.answer, body=open_one.body, approver="ann", now_ns=row.answered_ns)
    verdict = before(service, "git push main")
    assert (verdict.outcome, verdict.rule) == ("deny", "approval-invalid")


class Gone:
    """A store that is gone from some call on."""

    def __init__(self, store: Any, *names: str) -> None:
        self._store, self._names = store, names

    def __getattr__(self, name: str) -> Any:
        if name in self._names:
            return self._fail
        return getattr(self._store, name)

    def _fail(self, *_args: Any, **_kwargs: Any) -> Any:
        raise StoreError("gone")


@pytest.mark.parametrize("name", ["grants", "use", "approval", "ask", "spent"])
def test_a_store_that_is_gone_is_a_no(service: Service, name: str) -> None:
    id = asked(service, "git push origin feature/x")
    service.desk.approve(id, "ann", scope("kind"), kind="W1")
    answering = service.answering
    assert answering is not None
    service.desk = Desk(Gone(service.store, name), timeout=300, key=service.ledger.keys.digests, **answering.of_desk())
    command = "git push origin feature/y" if name in ("grants", "use") else "git push elsewhere"
    verdict = before(service, command)
    assert (verdict.outcome, verdict.rule) == ("deny", "confirmation-failed")


@pytest.mark.parametrize("name", ["load_session", "save_session", "approve"])
def test_votes_and_answers_that_can_not_be_kept_are_none(service: Service, name: str) -> None:
    id = asked(service, "git push a")
    answering = service.answering
    assert answering is not None
    broken = Desk(Gone(service.store, name), timeout=300, key=service.ledger.keys.digests, **answering.of_desk())
    if name == "approve":
        with pytest.raises(StoreError):
            broken.approve(id, "ann")
    else:
        with pytest.raises(StoreError):
            broken._votes.cast(*broken._book.asked(id), _vote(), broken.seal(), now_ns=1)
    assert service.desk.question(id).state == "waiting"
    assert service.desk.grants() == []


def _vote() -> Any:
    from interpose.people.approvals.questions import moment
    from interpose.people.approvals.votes import Vote

    return Vote(by="ann", role="operator", at=moment(1))


def test_a_pause_that_can_not_be_recorded_is_none(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import UTC, datetime, timedelta

    from interpose.core.errors import AuditUnavailableError

    def fail(_verdict: object) -> None:
        raise AuditUnavailableError("the disk is full")

    monkeypatch.setattr(service.ledger.recorder, "decided", fail)
    with pytest.raises(StoreError, match="could not be recorded"):
        pause_records.pause(service, "ann", datetime.now(UTC) + timedelta(minutes=5))
    assert service.desk.pauses.standing() == []


def test_a_pause_whose_store_is_gone_asks_at_the_host(service: Service) -> None:
    """The host's own prompt is there: it asks, as if there were no pauses."""
    answering = service.answering
    assert answering is not None
    service.desk = Desk(
        Gone(service.store, "grants"), timeout=300, key=service.ledger.keys.digests, **answering.of_desk()
    )
    from interpose.core.driving import drive

    answer = drive(service.hosted(HERE, Abilities(ask=True)).before(ToolCall("Bash", {"command": "git push"})))
    assert answer.verdict.outcome == "ask"


def hosted(service: Service, can: Abilities, command: str) -> Any:
    from interpose.core.driving import drive

    return drive(service.hosted(HERE, can).before(ToolCall("Bash", {"command": command}, context=HERE)))


def test_hosts_that_rewrite_and_hosts_that_do_not(service: Service) -> None:
    can, can_not = Abilities(rewrite=True), Abilities()
    asking = hosted(service, can, "git push a")
    assert isinstance(asking, WaitFor)
    service.desk.approve(asking.verdict.approval, "ann", arguments={"command": "git push b", "timeout": 3})
    shown = hosted(service, can_not, "git push a")
    assert isinstance(shown, Refuse)
    assert shown.other_form is not None
    assert shown.other_form.arguments == {"command": "git push b", "timeout": 3}
    runs = hosted(service, can, "git push a")
    assert isinstance(runs, GoWith)
    assert runs.arguments == {"command": "git push b", "timeout": 3}
    assert isinstance(hosted(service, can, "git push a"), WaitFor)


def test_a_wrapper_whose_call_was_edited_gets_its_own_arguments_back(service: Service) -> None:
    from interpose.core.driving import drive

    def wrapped(can: Abilities) -> Any:
        call = ToolCall("tool_call", {"name": "bash", "arguments": {"command": "git push a"}}, context=HERE)
        return drive(service.hosted(HERE, can).before(call))

    asking = wrapped(Abilities(rewrite=True, rewrite_carried=True))
    assert isinstance(asking, WaitFor)
    service.desk.approve(asking.verdict.approval, "ann", arguments={"command": "git push b"})
    assert isinstance(wrapped(Abilities(rewrite=True)), Refuse), "it can change a call, and not one inside another"
    runs = wrapped(Abilities(rewrite=True, rewrite_carried=True))
    assert isinstance(runs, GoWith)
    assert runs.arguments == {"name": "bash", "arguments": {"command": "git push b"}}


def test_a_remote_desk_hands_edits_and_words_on(service: Service) -> None:
    """The gateway that an agent started: it asks over the socket, and decides about the edited call itself."""
    from interpose.core.types import Finding, PermissionRequest
    from interpose.doors.hooks.clients.questions import question_of, request_of
    from interpose.doors.server.question_routes import _answer

    def put(command: str, *found: Finding) -> Any:
        call = ToolCall("exec", {"command": command}, context=HERE, original_name="bash")
        question = request_of(question_of(PermissionRequest("Push?", call, found), 0.0))
        return asyncio.run(_answer(service, question, 0.0, hears=True, rewrites=True))

    told = Finding(interceptor="policy", said="ask", reason="Push?", rule="pushing")
    waiting = put("git push a", told)
    assert waiting.said == "pending"
    service.desk.approve(waiting.approval, "ann", arguments={"command": "git push b"}, comment="careful")
    edited = put("git push a", told)
    assert (edited.said, edited.arguments, edited.by) == ("edited", {"command": "git push b"}, "ann")
    own = Finding(interceptor="interpose:edit", said="ask", reason="ann wrote this call in the place of another")
    done = put("git push b", told, own)
    assert (done.said, done.by, done.word) == ("approved", f"grant:{waiting.approval} of ann", "careful")


def test_values_that_are_no_answers_let_nothing_run() -> None:
    from interpose.core.types import Confirm
    from interpose.engine.engine import Engine

    class Handler:
        immediate = True

        def __init__(self, answer: object) -> None:
            self._answer = answer

        def confirm(self, _request: object) -> Any:
            return self._answer

    class Asking:
        def intercept(self, _call: ToolCall) -> Confirm:
            return Confirm("?", rule="r")

    for answer in (
        Edited("no dict", "ann"), Edited({"command": "x"}, ""), Edited({"command": "x"}, 7), Approved(""),  # type: ignore[arg-type]
        {"command": "x"}, "ann", Pending(),
    ):  # fmt: skip
        engine = Engine(confirm=Handler(answer))
        engine.interceptors.add(id="asking", name="tool.before", interceptor=Asking())  # type: ignore[attr-defined]
        assert not engine.run(HERE).before(ToolCall("exec", {"command": "y"}, context=HERE)).allowed, answer
