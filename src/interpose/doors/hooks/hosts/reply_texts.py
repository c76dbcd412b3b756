"""What agents are told when a call doesn't go as they wished."""

from __future__ import annotations

from typing import Any

import msgspec

from interpose.core.formats.plain_text import one_line, plain
from interpose.core.points import BLOCKED
from interpose.core.tools import command_of, plain_arguments
from interpose.core.types import Confirm, Deny, Finding, ToolCall, Verdict
from interpose.doors.hooks.hosts.events import HostEvent, HostFacts
from interpose.engine.flow.hosted import RAN_REFUSED
from interpose.people.approvals import PAUSE


def refusal(verdict: Verdict[Any]) -> str:
    """Why not, and what to do instead."""
    return f"Interpose refused this{_rule(verdict)}: {_reason(verdict, BLOCKED)}{_instead(verdict)}{_evidence(verdict)}"


def question(verdict: Verdict[Any]) -> str:
    """What a person is asked."""
    return f"{_asked(verdict)}{_instead(verdict)}"


def _asked(verdict: Verdict[Any]) -> str:
    return f"Interpose asks{_rule(verdict)}: {_reason(verdict, 'May this run?')}"


def waiting(verdict: Verdict[Any]) -> str:
    """A person must agree, in our queue."""
    if not verdict.approval:
        return f"{question(verdict)}\nA person must agree first, and nobody can be asked here."
    if verdict.word:  # somebody has seen it, and will answer later
        return f"{question(verdict)}\nThe question waits as {verdict.approval}. {verdict.word}"
    return (
        f"{question(verdict)}\n"
        f"A person must agree first. The question waits as {verdict.approval} and stays open; the user answers it with "
        f"`interpose approvals approve {verdict.approval}`. Make exactly the same call again after that: the approval "
        "counts once, for this call alone."
    )


def notice(verdict: Verdict[Any]) -> str:
    """For the person at the host: a question waits elsewhere. Empty if none does."""
    if not verdict.approval:
        return ""
    return (
        f"{_asked(verdict)}\n"
        f"Answer it in another terminal: interpose approvals approve {verdict.approval} (or: interpose approvals watch)"
    )


def word(verdict: Verdict[Any]) -> str:
    """What the person who said yes says to the agent; empty if nothing."""
    return f"{_giver(verdict)} says about this call: {verdict.word}" if verdict.word and verdict.approver else ""


def _giver(verdict: Verdict[Any]) -> str:
    return verdict.approver.rpartition(" of ")[2] or verdict.approver


def paused(verdict: Verdict[Any]) -> str:
    """For the person at the host: a question was not asked, as somebody paused them. Empty if it was."""
    if not verdict.approver.startswith(PAUSE):
        return ""
    return f"{_asked_of(verdict)}\nNobody was asked: {verdict.approver}. To end that: interpose approvals pause list"


def _asked_of(verdict: Verdict[Any]) -> str:
    return f"Interpose let this through although it would have asked: {one_line(' '.join(verdict.questions))}"


def unchanged(facts: HostFacts, verdict: Verdict[ToolCall], other_form: ToolCall) -> str:
    """The call would have been rewritten, or a person agreed to another one, and this host can't run that."""
    changed = rewriting(verdict) if verdict.edit is None else _reason(verdict, BLOCKED)
    why = f"{changed}. {facts.title} can't change this call on its way"
    return f"Interpose refused this as it is: {why}; make this one instead:\n{made_instead(other_form)}"


def change(verdict: Verdict[ToolCall]) -> str:
    """What became of the call, for the person who is asked about it and for the agent."""
    return f"Interpose: {rewriting(verdict)} to:\n{plain(made_instead(verdict.payload))}"


def made_instead(call: ToolCall) -> str:
    """A call as an agent would make it."""
    shown = command_of(call) if call.name == "exec" else None
    return shown if shown is not None else msgspec.json.encode(plain_arguments(call)).decode()


def changed_message(verdict: Verdict[Any]) -> str:
    """A message would have been rewritten; no host takes another text than its user's."""
    return f"Interpose refused this as it is: {rewriting(verdict)}. Send this instead:\n{verdict.payload.text}"


def warnings(verdict: Verdict[Any]) -> str:
    """What was noted about something that goes on all the same; empty if nothing was."""
    said = [found for found in verdict.findings if found.said == "note" and found.mode == "enforce"]
    return "\n".join(f"Interpose notes ({found.rule}): {one_line(found.reason)}{_then(found)}" for found in said)


def _then(found: Finding) -> str:
    return f"\nBetter: {one_line(found.instead.strip())}" if found.instead else ""


def withheld(verdict: Verdict[Any]) -> str:
    """In the place of a result."""
    if verdict.outcome == "deny":
        why = f"{_reason(verdict, BLOCKED)}{_instead(verdict)}{_evidence(verdict)}"
        return f"Interpose withheld this result{_rule(verdict)}: {why}"
    return f"Interpose withheld this result until a person agrees.\n{waiting(verdict)}"


def withheld_unseen(reason: str) -> str:
    """In the place of a result that could not be looked at."""
    return f"Interpose withheld this result: {reason}"


def objection(verdict: Verdict[Any]) -> str:
    """Why a result should not be seen, in brackets."""
    return f"{_reason(verdict, BLOCKED)}{_rule(verdict)}"


def unhidden(facts: HostFacts, event: HostEvent, reason: str) -> str:
    """Beside a result that should have been replaced."""
    return (
        f"Interpose: the last result of {event.tool.original_name} should not have been shown as it is ({reason}), and "
        f"{facts.title} can't hide it. Don't repeat, store or send what it holds."
    )


def rewriting(verdict: Verdict[Any]) -> str:
    """Who changed something."""
    who = dict.fromkeys(_changer(finding) for finding in verdict.findings if finding.said == "rewrite")
    return one_line(f"{' and '.join(who)} changed it")


def _changer(finding: Finding) -> str:
    return (finding.rule or finding.interceptor) + (f" ({finding.reason})" if finding.reason != finding.part else "")


def _rule(verdict: Verdict[Any]) -> str:
    rule = _decided(verdict)
    return f" ({rule})" if rule else ""


def _decided(verdict: Verdict[Any]) -> str:
    decision = verdict.decision
    return (decision.rule if isinstance(decision, Deny | Confirm) else "") or verdict.rule


def _reason(verdict: Verdict[Any], nothing: str) -> str:
    """The reason without the rule, where that was put before it.

    INVARIANT: it is one line. Names that the agent chose stand in it, and a person must not take one for the next line
    of ours: `interpose approvals approve` with the name of another question.
    """
    return one_line(" ".join(verdict.reason.removeprefix(f"{_decided(verdict)}: ").splitlines())) or nothing


def _instead(verdict: Verdict[Any]) -> str:
    # What only was noted stands last: following it first would change nothing.
    said = sorted(verdict.findings, key=lambda finding: finding.said == "note")
    safer = dict.fromkeys(finding.instead for finding in said if finding.instead and finding.mode == "enforce")
    return "".join(f"\nSafer: {one_line(text.strip())}" for text in safer)


def _evidence(verdict: Verdict[Any]) -> str:
    """What a refusal of governance rests on: the agent reads what was blocked, what to do instead, and why."""
    found = verdict.decided_by
    if found is None or not found.detail or (found.kind != "governance" and found.rule != RAN_REFUSED):
        return ""
    return f"\nEvidence: {one_line(found.detail)}"
