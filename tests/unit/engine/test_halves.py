"""The two halves of the flow, for hosts that run their tools themselves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpose import Engine, InterceptorRegistry, PermissionRequest, ToolCall, ToolOutcome, create_interceptor_registry
from interpose.core.answers import Approved, Pending
from interpose.core.types import Deny, Verdict

LS = ToolCall("Bash", {"command": "ls"})


class Keep:
    """A recorder that keeps what it is told, and can be broken."""

    def __init__(self, *, broken: bool = False) -> None:
        self.broken = broken
        self.log: list[tuple[str, Any, Any]] = []

    def decided(self, verdict: Verdict[ToolCall]) -> None:
        if self.broken:
            raise OSError("disk full")
        self.log.append(("decided", verdict, None))

    def finished(self, verdict: Verdict[ToolCall], outcome: ToolOutcome, after: Verdict[ToolOutcome] | None) -> None:
        self.log.append(("finished", outcome, after))


class Answering:
    """A confirmation handler with one answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def confirm(self, _request: PermissionRequest) -> Any:
        return self.answer


@pytest.fixture
def registry() -> InterceptorRegistry:
    return create_interceptor_registry()


def test_both_halves_are_one_record(registry: InterceptorRegistry) -> None:
    keep = Keep()
    run = Engine(registry, recorder=keep).run()
    verdict = run.before(LS)
    done = run.after(ToolOutcome(verdict.payload, "a file"))
    assert verdict.outcome == "allow"
    assert done.response == "a file"
    assert [word for word, _, _ in keep.log] == ["decided", "finished"]
    assert {keep.log[0][1].payload.call_id, keep.log[1][1].call.call_id} == {LS.call_id}


def test_a_refusal_is_finished_at_once_and_shown_to_observers(registry: InterceptorRegistry) -> None:
    seen: list[bool] = []
    registry.add(id="no", name="tool.before", handler=lambda _i, o: setattr(o, "block", True))
    registry.add(id="look", name="tool.after", handler=lambda i, _o: seen.append(i.denied))
    keep = Keep()
    assert Engine(registry, recorder=keep).run().before(LS).outcome == "deny"
    assert seen == [True]
    assert keep.log[-1][1].denied


def test_no_record_no_permission(registry: InterceptorRegistry) -> None:
    verdict = Engine(registry, recorder=Keep(broken=True)).run().before(LS)
    assert isinstance(verdict.decision, Deny)
    assert verdict.decision.rule == "audit_unavailable"


@pytest.mark.parametrize(
    ("note", "pending", "outcome"),
    [
        ("another asks, and then it runs", Pending(), "deny"),
        ("it comes again when it is answered", Pending("q"), "ask"),
    ],
)
def test_no_record_no_question_that_another_answers(
    registry: InterceptorRegistry, note: str, pending: Pending, outcome: str
) -> None:
    registry.add(id="ask", name="tool.before", handler=lambda _i, o: setattr(o, "ask", "sure?"))
    run = Engine(registry, confirm=Answering(pending), recorder=Keep(broken=True)).run()
    assert run.before(LS).outcome == outcome, note


@pytest.mark.parametrize(
    ("answer", "outcome", "approver", "approval"),
    [
        (True, "allow", "Answering", ""),
        (Approved("ann"), "allow", "ann", ""),
        (Pending("q1"), "ask", "", "q1"),
        (Deny("late"), "deny", "", ""),
        (False, "deny", "", ""),
        (Approved(""), "deny", "", ""),
        (Approved(7), "deny", "", ""),  # type: ignore[arg-type]
        ("ann", "deny", "", ""),
    ],
)
def test_answers(registry: InterceptorRegistry, answer: Any, outcome: str, approver: str, approval: str) -> None:
    registry.add(id="ask", name="tool.before", handler=lambda _i, o: setattr(o, "ask", "sure?"))
    keep = Keep()
    verdict = Engine(registry, confirm=Answering(answer), recorder=keep).run().before(LS)
    assert (verdict.outcome, verdict.approver, verdict.approval) == (outcome, approver, approval)
    assert len(keep.log) == (2 if outcome == "deny" else 1)


def test_a_pending_question_never_runs_the_tool(registry: InterceptorRegistry) -> None:
    registry.add(id="ask", name="tool.before", handler=lambda _i, o: setattr(o, "ask", "sure?"))
    ran: list[object] = []
    done = Engine(registry, confirm=Answering(Pending("q1"))).run().run_tool(LS, ran.append)
    assert (ran, done.outcome.denied, done.response["status"]) == ([], True, "blocked")


def test_the_original_of_a_rewritten_call_is_kept(registry: InterceptorRegistry) -> None:
    for number in (1, 2):
        registry.add(
            id=str(number), name="tool.before", handler=lambda _i, o: o.args.update(command=o.args["command"] + "x")
        )
    verdict = Engine(registry).run().before(LS)
    assert verdict.payload.arguments == {"command": "lsxx"}
    assert verdict.original is not None
    assert verdict.original.arguments == {"command": "ls"}
    assert Engine(create_interceptor_registry()).run().before(LS).original is None


def test_results_are_rewritten_and_withheld(registry: InterceptorRegistry) -> None:
    registry.add(id="hide", name="tool.after", handler=lambda _i, o: setattr(o, "result", "***"))
    keep = Keep()
    done = asyncio.run(Engine(registry, recorder=keep).run().aafter(ToolOutcome(LS, "secret")))
    assert (done.response, done.outcome.result) == ("***", "***")
    assert keep.log[-1][2].rewritten
    registry.add(id="no", name="tool.after", handler=lambda _i, o: setattr(o, "block", True))
    assert Engine(registry).run().after(ToolOutcome(LS, "secret")).response["status"] == "withheld"


def test_an_outcome_without_a_decision_has_a_record_that_says_so(registry: InterceptorRegistry) -> None:
    keep = Keep()
    Engine(registry, recorder=keep).run().after(ToolOutcome(LS, "x"), decided=False)
    assert [word for word, _, _ in keep.log] == ["decided", "finished"]
    assert [found.rule for found in keep.log[0][1].findings] == ["undecided"]


def test_of_a_call_that_did_not_run_there_is_nothing_to_decide(registry: InterceptorRegistry) -> None:
    registry.add(id="ask", name="tool.after", handler=lambda _i, o: setattr(o, "ask", "show it?"))
    engine = Engine(registry, confirm=Answering(False))
    done = engine.run().after(ToolOutcome(LS, {"status": "as it was"}, is_error=True, denied=True))
    assert done.response == {"status": "as it was"}
