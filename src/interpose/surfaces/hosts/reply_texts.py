"""What agents are told when a call doesn't go as they wished."""

from __future__ import annotations

from typing import Any

import msgspec

from interpose.points import BLOCKED
from interpose.surfaces.hosts.events import HostEvent, HostFacts
from interpose.tools import command_of, plain_arguments
from interpose.types import Deny, Finding, ToolCall, Verdict


def refusal(verdict: Verdict[Any]) -> str:
    """Why not, and what to do instead."""
    decision = verdict.decision
    rule = f" (rule {decision.rule})" if isinstance(decision, Deny) and decision.rule else ""
    return f"{verdict.reason or BLOCKED}{rule}{_instead(verdict)}"


def question(verdict: Verdict[Any]) -> str:
    """What a person is asked."""
    return f"{verdict.reason or 'May this run?'}{_instead(verdict)}"


def waiting(verdict: Verdict[Any]) -> str:
    """A person must agree, in our queue."""
    if not verdict.approval:
        return f"A person must agree, and nobody can be asked here: {question(verdict)}"
    return (
        f"A person must agree first: {question(verdict)}\n"
        f"The question waits as {verdict.approval}. A person answers it with "
        f"`interpose approvals approve {verdict.approval}`; make the same call again after that."
    )


def unchanged(facts: HostFacts, verdict: Verdict[ToolCall], other_form: ToolCall) -> str:
    """The call would have been rewritten, and this host can't."""
    why = f"{rewriting(verdict)}. {facts.title} can't change this call on its way"
    return f"Not run as it is: {why}; make this one instead:\n{_shown(other_form)}"


def change(verdict: Verdict[ToolCall]) -> str:
    """What became of the call, for the person who is asked about it and for the agent."""
    return f"{rewriting(verdict)} to:\n{_shown(verdict.payload)}"


def _shown(call: ToolCall) -> str:
    shown = command_of(call) if call.name == "exec" else None
    return shown if shown is not None else msgspec.json.encode(plain_arguments(call)).decode()


def changed_message(verdict: Verdict[Any]) -> str:
    """A message would have been rewritten; no host takes another text than its user's."""
    return f"The message was not sent as it is: {rewriting(verdict)}. Send this instead:\n{verdict.payload.text}"


def withheld(reason: str) -> str:
    """In the place of a result."""
    return f"The result was withheld: {reason or BLOCKED}"


def unhidden(facts: HostFacts, event: HostEvent, reason: str) -> str:
    """Beside a result that should have been replaced."""
    return (
        f"The last result of {event.tool.name} should not have been shown as it is ({reason}), and "
        f"{facts.title} can't hide it. Don't repeat, store or send what it holds."
    )


def rewriting(verdict: Verdict[Any]) -> str:
    """Who changed something."""
    who = dict.fromkeys(_changer(finding) for finding in verdict.findings if finding.said == "rewrite")
    return f"{' and '.join(who)} changed it"


def _changer(finding: Finding) -> str:
    return (finding.rule or finding.interceptor) + (f" ({finding.reason})" if finding.reason != finding.part else "")


def _instead(verdict: Verdict[Any]) -> str:
    safer = dict.fromkeys(
        finding.instead for finding in verdict.findings if finding.instead and finding.mode == "enforce"
    )
    return "".join(f"\nSafer: {text}" for text in safer)
