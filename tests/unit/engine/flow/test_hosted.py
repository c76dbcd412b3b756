"""Calls that somebody else runs: one closed set of answers, one record, one question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose import Confirm, Context, Deny, ToolCall, ToolOutcome, Transform
from interpose.composition.build import record_undecided
from interpose.composition.service.service import Service
from interpose.core.driving import drive
from interpose.core.types import Allow, Decision
from interpose.engine.flow.hosted import (
    FAIL_OPEN,
    RAN_REFUSED,
    REWRITTEN,
    Abilities,
    AskThem,
    Go,
    GoWith,
    HostedAnswer,
    Refuse,
    WaitFor,
)
from interpose.engine.flow.pending_calls import PendingCalls
from interpose.engine.flow.run_parts import ToolRun
from interpose.record.ledger import ran_unapproved, search
from interpose.record.ledger.record import Record
from interpose.record.store.protocols import Query
from tests.support.servers.servers import config_in, service_in

HOOK = Context(session_id="s", source="hook:claude-code", cwd="/w")
GATEWAY = Context(session_id="s", source="gateway", cwd="/w")
ALL = Abilities(ask=True, rewrite=True)
NOTHING = Abilities()


class ByCommand:
    """Says what the command says."""

    def intercept(self, call: ToolCall) -> Decision[ToolCall]:
        match call.arguments.get("command", ""):
            case "deny":
                return Deny("No.", "r")
            case "ask" | "rewrite and ask":
                return Confirm("Sure?", "q")
            case "rewrite":
                return Transform(call.with_arguments({"command": "echo safe"}), "safer", "w")
            case _:
                return Allow()


class RefusesAll:
    """Refuses whatever comes."""

    def intercept(self, _call: ToolCall) -> Decision[ToolCall]:
        return Deny("Not now.", "later")


class RewritesToo:
    """Rewrites what another asks about."""

    def intercept(self, call: ToolCall) -> Decision[ToolCall]:
        if call.arguments.get("command") == "rewrite and ask":
            return Transform(call.with_arguments({"command": "ask"}))
        return Allow()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path, packs=()) as opened:
        registry: Any = opened.policies.shared.engine.interceptors
        registry.clear()
        registry.add(id="by-command", name="tool.before", interceptor=ByCommand(), priority=5)
        registry.add(id="rewrites", name="tool.before", interceptor=RewritesToo(), priority=9)
        yield opened


def put(service: Service, command: str, can: Abilities = ALL, context: Context = HOOK, key: str = "") -> HostedAnswer:
    call = ToolCall("Bash", {"command": command}, context=context)
    return drive(service.hosted(context, can).before(call, key=key))


def kept(service: Service) -> list[Record]:
    service.ledger.flush()
    return search(service.store, Query(), 10)


ANSWERS = [
    ("nobody objects", "ls", ALL, Go),
    ("refused", "deny", ALL, Refuse),
    ("they ask their person", "ask", ALL, AskThem),
    ("they can't ask: our queue", "ask", NOTHING, WaitFor),
    ("they can run other arguments", "rewrite", ALL, GoWith),
    ("they can't: refused, with what could run", "rewrite", NOTHING, Refuse),
    ("they would ask about the call as it came", "rewrite and ask", ALL, Refuse),
    ("they show their person what would run", "rewrite and ask", replace(ALL, asks_rewritten=True), AskThem),
    ("our queue shows what would run", "rewrite and ask", NOTHING, WaitFor),
]


@pytest.mark.parametrize(("note", "command", "can", "kind"), ANSWERS, ids=[case[0] for case in ANSWERS])
def test_the_closed_set_of_answers(service: Service, note: str, command: str, can: Abilities, kind: type) -> None:
    answer = put(service, command, can)
    assert type(answer) is kind, note
    if isinstance(answer, GoWith):
        assert answer.arguments == {"command": "echo safe"}
    if isinstance(answer, AskThem):
        shown = answer.verdict.payload.arguments if answer.verdict.rewritten else None
        assert answer.arguments == shown
        assert (shown is None) is (command == "ask")
    if isinstance(answer, Refuse) and answer.other_form is not None:
        assert (answer.verdict.rule, answer.verdict.reason) == ("rewritten", REWRITTEN)
        assert answer.verdict.instead == answer.other_form.arguments["command"]
    if isinstance(answer, WaitFor):
        assert answer.verdict.approval


def test_a_carried_call_gets_its_wrapper_back_where_that_can_be_run(service: Service) -> None:
    call = ToolCall("tool_call", {"name": "bash", "arguments": {"command": "rewrite"}}, context=HOOK)
    assert isinstance(drive(service.hosted(HOOK, ALL).before(call)), Refuse)
    answer = drive(service.hosted(HOOK, replace(ALL, rewrite_carried=True)).before(call))
    assert isinstance(answer, GoWith)
    assert answer.arguments == {"name": "bash", "arguments": {"command": "echo safe"}}


def test_two_surfaces_that_see_one_call_share_its_decision_and_its_record(service: Service) -> None:
    first, second = put(service, "ls", key="toolu_1"), put(service, "ls", context=GATEWAY, key="toolu_1")
    assert isinstance(first, Go)
    assert isinstance(second, Go)
    assert second.verdict.payload.call_id == first.verdict.payload.call_id
    outcome = ToolOutcome(ToolCall("Bash", {"command": "ls"}), "a b")
    drive(service.hosted(GATEWAY, NOTHING).after(outcome, key="toolu_1"))
    [record] = kept(service)
    assert (record.call_id, record.outcome) == (first.verdict.payload.call_id, "success")


def test_a_question_that_their_person_answers_is_put_once(service: Service) -> None:
    assert isinstance(put(service, "ask", key="toolu_2"), AskThem)
    joined = put(service, "ask", context=GATEWAY, key="toolu_2")
    assert isinstance(joined, Go), "the person was asked where the call was seen first"


def test_the_same_text_without_the_hosts_name_is_another_call(service: Service) -> None:
    first, second = put(service, "ls"), put(service, "ls", context=GATEWAY)
    assert first.verdict.payload.call_id != second.verdict.payload.call_id


SAYS = replace(ALL, says_it_asks=True, holds=True)
"""A host that says when it shows its prompt."""


def ran(service: Service, can: Abilities, key: str) -> None:
    drive(service.hosted(HOOK, can).after(ToolOutcome(ToolCall("Bash", {"command": "ask"}), "done"), key=key))


PROMPTS = [
    ("the host said that it asks its person, and ran it", SAYS, True, "host:claude-code", 0),
    ("it ran it and never said that it asks: an alarm", SAYS, False, "", 1),
    ("a host that never says so is known to ask by its mode", ALL, False, "host:claude-code", 0),
    ("it had to wait for our queue, and ran all the same: an alarm", Abilities(holds=True), False, "", 1),
    ("what waits for our queue is approved there, whatever the host says", Abilities(holds=True), True, "", 1),
]


@pytest.mark.parametrize(("note", "can", "says", "approver", "alarms"), PROMPTS, ids=[case[0] for case in PROMPTS])
def test_what_ran_after_a_question_has_an_approver_or_is_an_alarm(
    service: Service, note: str, can: Abilities, says: bool, approver: str, alarms: int
) -> None:
    put(service, "ask", can, key="toolu_3")
    if says:
        drive(service.hosted(HOOK, can).asking(ToolCall("Bash", {"command": "ask"})))
    ran(service, can, "toolu_3")
    [record] = kept(service)
    assert (record.decision, record.outcome, record.approver) == ("ask", "success", approver), note
    assert len(ran_unapproved(service.store, 0)) == alarms
    assert service.activity.snapshot().unapproved == alarms


def test_a_question_that_was_refused_or_is_still_open_is_no_alarm(service: Service) -> None:
    put(service, "ask", SAYS, key="toolu_4")
    put(service, "ask", Abilities(holds=True), key="toolu_5")
    assert kept(service)
    assert ran_unapproved(service.store, 0) == []


def test_what_a_person_approved_in_our_queue_is_no_alarm(service: Service) -> None:
    held = Abilities(holds=True)
    waiting = put(service, "ask", held, key="toolu_6")
    service.desk.approve(waiting.verdict.approval, by="ann")
    assert isinstance(put(service, "ask", held, key="toolu_7"), Go)
    ran(service, held, "toolu_7")
    assert {record.approver for record in kept(service) if record.outcome == "success"} != {""}
    assert ran_unapproved(service.store, 0) == []
    assert service.activity.snapshot().unapproved == 0


def test_questions_that_nobody_may_be_asked_are_refused(service: Service) -> None:
    service.policies.shared.engine.refuse_questions = True  # as `approvals.ask: refuse` opens it
    for can in (ALL, NOTHING):
        answer = put(service, "ask", can)
        assert isinstance(answer, Refuse)
        assert answer.verdict.rule == "questions-refused"
        assert "Sure?" in answer.verdict.reason
    assert service.desk.asked() == []


def test_what_is_let_through_undecided_is_in_the_ledger(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    call = ToolCall("exec", {"command": "ls"}, context=HOOK)
    record_undecided(config, call, "the disk is full")
    with service_in(tmp_path) as service:
        [record] = kept(service)
    assert (record.call_id, record.decision, record.rule) == (call.call_id, "allow", FAIL_OPEN)
    assert "let through undecided: the disk is full" in record.findings[0].reason


def after(service: Service, command: str, key: str, result: str = "done") -> ToolRun:
    outcome = ToolOutcome(ToolCall("Bash", {"command": command}), result)
    return drive(service.hosted(HOOK, ALL).after(outcome, key=key))


def test_what_was_refused_and_ran_all_the_same_is_withheld_and_an_alarm(service: Service) -> None:
    refused = put(service, "deny", key="toolu_9")
    done = after(service, "deny", "toolu_9", "what it printed")
    assert done.response["status"] == "withheld"
    assert "No. (r)" in done.response["reason"]
    assert "what it printed" not in str(done.outcome.result)
    service.ledger.flush()
    [alarm] = ran_unapproved(service.store, 0)
    assert (alarm.call_id, alarm.decision) == (refused.verdict.payload.call_id, "deny")
    assert RAN_REFUSED in [finding.rule for finding in (alarm.after.said.findings if alarm.after else ())]
    assert service.activity.snapshot().unapproved == 1


def test_parallel_calls_never_get_each_others_refusal(service: Service) -> None:
    put(service, "deny", key="toolu_a")
    put(service, "ls", key="toolu_b")
    assert after(service, "ls", "toolu_b", "a b").response == "a b"
    assert after(service, "ls", "toolu_c", "unknown").response == "unknown", "a call that nobody asked about"
    assert after(service, "deny", "toolu_a").response["status"] == "withheld"
    assert after(service, "deny", "toolu_a", "again").response["status"] == "withheld", "told twice, withheld twice"


def test_an_ordinary_call_asks_the_store_for_no_refusal(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look for one costs only those whose call was not let through here."""
    looked: list[str] = []
    find = type(service.store).refusal

    def refusal(store: Any, place: str) -> bytes | None:
        looked.append(place)
        return find(store, place)

    monkeypatch.setattr(type(service.store), "refusal", refusal)
    put(service, "ls", key="toolu_1")
    assert after(service, "ls", "toolu_1").response == "done"
    assert looked == []
    assert after(service, "ls", "toolu_2").response == "done"
    assert len(looked) == 1


def test_what_is_refused_after_it_was_let_through_is_withheld(service: Service) -> None:
    """A host may ask twice about one call: the refusal counts."""
    put(service, "ls", key="toolu_1")
    registry: Any = service.policies.shared.engine.interceptors
    registry.add(id="all", name="tool.before", interceptor=RefusesAll())
    put(service, "ls", key="toolu_1")
    assert after(service, "ls", "toolu_1").response["status"] == "withheld"


def test_a_name_that_comes_again_for_a_call_that_is_let_through_is_that_calls(service: Service) -> None:
    """In a process that saw neither: the ledger knows that this one was let through since."""
    put(service, "ls", key="c1")
    after(service, "ls", "c1")
    registry: Any = service.policies.shared.engine.interceptors
    registry.add(id="all", name="tool.before", interceptor=RefusesAll())
    put(service, "ls", key="c1")
    registry.remove("all")
    put(service, "ls", key="c1")
    service.ledger.flush()
    service._pending = PendingCalls()
    assert after(service, "ls", "c1").response == "done"
    service.ledger.flush()
    assert after(service, "ls", "c1").response["status"] == "withheld", "it has its result"
