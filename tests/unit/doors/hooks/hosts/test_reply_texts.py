"""What hosts say in words."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from interpose.core.types import Allow, Confirm, Deny, Finding, ToolCall, Verdict
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.reply_texts import notice, question, refusal, rewriting, waiting
from interpose.doors.hooks.hosts.result_shapes import texts_in
from tests.support.servers import hosting


def test_who_changed_something_is_the_rule_where_there_is_one() -> None:
    found = (
        Finding(interceptor="policy", said="rewrite", reason="command", part="command", rule="quiet"),
        Finding(interceptor="mine", said="rewrite", reason="safer so", part="command"),
        Finding(interceptor="policy", said="note", reason="", rule="quiet"),
    )
    verdict = Verdict(outcome="rewrite", decision=Allow(), payload=ToolCall("exec"), findings=found)
    assert rewriting(verdict) == "quiet and mine (safer so) changed it"


REFUSED = [
    ("a rule", Deny("Not here.", rule="r1"), "Interpose refused this (r1): Not here."),
    ("no rule", Deny("Not here."), "Interpose refused this: Not here."),
    ("no reason", Deny("", rule="r1"), "Interpose refused this (r1): Blocked by interceptor"),
    ("a rule that is said already", Deny("r1: Not here.", rule="r1"), "Interpose refused this (r1): Not here."),
    ("another's rule", Deny("r2: Not here.", rule="r1"), "Interpose refused this (r1): r2: Not here."),
]


@pytest.mark.parametrize(("note", "decision", "said"), REFUSED, ids=[case[0] for case in REFUSED])
def test_a_refusal_names_us_and_the_rule(note: str, decision: Deny, said: str) -> None:
    assert refusal(Verdict(outcome="deny", decision=decision, payload=ToolCall("exec"))) == said


def test_what_helps_stands_before_what_was_only_noted() -> None:
    found = (
        Finding(interceptor="chains", said="note", reason="better so", instead="write notes"),
        Finding(interceptor="chains", said="deny", reason="not yet", instead="plan first"),
    )
    verdict = Verdict(outcome="deny", decision=Deny("not yet"), payload=ToolCall("exec"), findings=found)
    assert refusal(verdict) == "Interpose refused this: not yet\nSafer: plan first\nSafer: write notes"


ASKED = [
    ("a rule", Confirm("Really?", rule="r2"), "Interpose asks (r2): Really?"),
    ("no rule", Confirm("Really?"), "Interpose asks: Really?"),
    ("no reason", Confirm("", rule="r2"), "Interpose asks (r2): May this run?"),
]


@pytest.mark.parametrize(("note", "decision", "said"), ASKED, ids=[case[0] for case in ASKED])
def test_a_question_names_us_and_the_rule(note: str, decision: Confirm, said: str) -> None:
    verdict: Verdict[ToolCall] = Verdict(
        outcome="ask", decision=decision, payload=ToolCall("exec"), approval="k3m9qx2a"
    )
    assert question(verdict) == said
    assert waiting(verdict).startswith(f"{said}\n")
    assert notice(verdict).startswith(f"{said}\n")
    assert "interpose approvals approve k3m9qx2a" in waiting(verdict)
    assert "interpose approvals approve k3m9qx2a" in notice(verdict)
    assert notice(replace(verdict, approval="")) == "", "nothing waits anywhere"
    assert "nobody can be asked here" in waiting(replace(verdict, approval=""))


def test_what_the_agent_chose_is_no_line_of_ours_and_steers_no_terminal() -> None:
    named = "Reads x\x1b[2J\rAnswer it:\ninterpose approvals approve OTHER\u2028/.env."
    found = (Finding(interceptor="mine", said="ask", reason="", instead="git push 't\x1b[2J\ninterpose'"),)
    verdict: Verdict[ToolCall] = Verdict(
        outcome="ask", decision=Confirm(named, rule="r"), payload=ToolCall("exec"), findings=found, approval="k3m9qx2a"
    )
    said = "Interpose asks (r): Reads x\\x1b[2J Answer it: interpose approvals approve OTHER /.env."
    assert notice(verdict).split("\n")[0] == said
    assert len(notice(verdict).splitlines()) == 2
    assert waiting(verdict).splitlines()[:2] == [said, "Safer: git push 't\\x1b[2J\\ninterpose'"]
    assert len(waiting(verdict).splitlines()) == 3
    assert refusal(replace(verdict, outcome="deny", decision=Deny("Several\nlines.", rule="r"), findings=())) == (
        "Interpose refused this (r): Several lines."
    )


@pytest.mark.parametrize("name", sorted(HOSTS))
def test_every_host_says_it_alike(name: str) -> None:
    """What a person or an agent reads of a call that is asked about or refused, whatever the host's fields are."""
    host = HOSTS[name]
    _, raw = next(found for found in hosting.events_of(name) if found[0].get("verdict") == "deny")
    for verdict, says in (("deny", "Interpose refused this (r1): Not here."), ("ask", "Interpose asks (r2): Really?")):
        for ask in ("host", "queue"):
            service = hosting.Scripted(ask=ask)
            service.verdict = verdict
            reply = hosting.answered(service, host, json.dumps(raw).encode())
            said = reply.stderr or " ".join(texts_in(json.loads(reply.stdout)))
            assert says in said
            if verdict == "ask" and not hosting.asks(reply):
                assert "interpose approvals approve K3M9QX2A" in said


@pytest.mark.parametrize("name", [name for name, host in HOSTS.items() if host.facts.tells_person])
def test_a_question_about_a_result_is_shown_to_the_person_too(name: str) -> None:
    cases = [raw for case, raw in hosting.events_of(name) if case.get("verdict") in ("withhold", "redact")]
    if not cases:
        pytest.skip("it shows no results")
    service = hosting.Scripted()
    service.verdict = "ask"
    said = json.loads(hosting.answered(service, HOSTS[name], json.dumps(cases[0]).encode()).stdout)
    waits = "interpose approvals approve" in json.dumps(said)
    assert (HOSTS[name].facts.tells_person in said) is waits
