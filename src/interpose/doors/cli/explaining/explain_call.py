"""One call, explained: what every guard and rule says to it, who decided, and what would be allowed instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from interpose.core.carried_calls import canonical
from interpose.core.driving import drive
from interpose.core.interceptor import Registration
from interpose.core.pipeline import decide
from interpose.core.tools import command_of
from interpose.core.types import HookPoint, Outcome, ToolCall, Verdict
from interpose.doors.cli.suggest import AllowedChange, allowed_advice, smallest_changes
from interpose.engine.engine import Engine
from interpose.rules.policy.compiled import Policy
from interpose.rules.policy.interceptor import registrations
from interpose.rules.policy_trials.rule_accounts import Account, accounts


class InterceptorAnswer(Struct, frozen=True):
    """What one interceptor says when it is asked alone. `skipped`: who had already refused the call by then."""

    interceptor: str
    said: Outcome
    rule: str = ""
    severity: str = ""
    reason: str = ""
    skipped: str = ""


class Explanation(Struct, frozen=True):
    """All there is to say about one call."""

    call: ToolCall
    outcome: Outcome
    interceptor: str
    rule: str
    severity: str
    reason: str
    approver: str
    """The standing answer that answers the question, if there is one."""
    arguments: dict[str, Any] | None
    """Those that would run, if they are others."""
    guards: tuple[InterceptorAnswer, ...]
    rules: tuple[Account, ...]
    skipped: str
    """The guard whose refusal keeps the rules from being asked; empty if they are."""
    advice: tuple[str, ...]
    changes: tuple[AllowedChange, ...]
    revision: str
    refused: tuple[str, ...]


def without_judge(policy: Policy) -> Sequence[Registration]:
    """The rules but those of the judge, who would send the call away, and need a key."""
    kept = tuple(compiled for compiled in policy.rules if not compiled.rule.prompt)
    return registrations(Policy(kept, policy.refused))


def explanation(call: ToolCall, engine: Engine, policy: Policy) -> Explanation:
    """Ask everybody about a call. The engine has the policy's rules; no judge is asked if they are `without_judge`."""
    call = canonical(call, engine.shell_tools)
    verdict = engine.decide(call)
    decider = verdict.decided_by
    snapshot = engine.interceptors.snapshot()
    entries = snapshot.select(HookPoint.TOOL_BEFORE, call.name, call.context.agent_id)
    guards = _alone([entry for entry in entries if entry.kind == "guard"], call)
    allowed = _Allowed(engine)
    rules = tuple(accounts(policy, call))
    changes = _changes(call, verdict, allowed)
    return Explanation(
        call=call,
        outcome=verdict.outcome,
        interceptor=decider.interceptor if decider else "",
        rule=decider.rule if decider else "",
        severity=decider.severity if decider else "",
        reason=verdict.reason,
        approver=verdict.approver,
        arguments=dict(verdict.payload.arguments) if verdict.rewritten else None,
        guards=tuple(guards),
        rules=rules,
        skipped=next((heard.interceptor for heard in guards if heard.said == "deny" and not heard.skipped), ""),
        advice=_advice(call, verdict, rules, changes, allowed),
        changes=changes,
        revision=policy.revision,
        refused=tuple(map(str, policy.refused)),
    )


class _Allowed:
    """Whether the engine allows a call as it is."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __call__(self, call: ToolCall) -> bool:
        return self._engine.decide(call).allowed


def _alone(entries: Sequence[Registration], call: ToolCall) -> list[InterceptorAnswer]:
    heard: list[InterceptorAnswer] = []
    refused = ""
    for entry in entries:
        verdict: Verdict[ToolCall] = drive(decide((entry,), call))
        decider = None if verdict.allowed else verdict.decided_by
        heard.append(
            InterceptorAnswer(
                interceptor=entry.id,
                said=verdict.outcome,
                rule=decider.rule if decider else "",
                severity=decider.severity if decider else "",
                reason=verdict.reason,
                skipped=refused,
            )
        )
        if verdict.outcome == "deny" and not refused:
            refused = entry.id
    return heard


def _advice(
    call: ToolCall,
    verdict: Verdict[ToolCall],
    rules: Sequence[Account],
    changes: Sequence[AllowedChange],
    allowed: _Allowed,
) -> tuple[str, ...]:
    """What the guards and the rules that object advise, as far as the engine allows it."""
    if verdict.allowed:
        return ()
    given = [account.rule.instead for account in rules if account.said in ("deny", "ask")]
    if command_of(call) is not None:
        said = (finding.instead for finding in verdict.findings if finding.kind == "guard")
        known = {change.command for change in changes}
        given += [f"`{command}`" for command in said if command and command not in known]
    return tuple(text for text in dict.fromkeys(given) if text and allowed_advice(call, text, allowed))


def _changes(call: ToolCall, verdict: Verdict[ToolCall], allowed: _Allowed) -> tuple[AllowedChange, ...]:
    command = call.arguments.get("command")
    if verdict.allowed or call.name != "exec" or not isinstance(command, str):
        return ()
    advice = next((finding.instead for finding in verdict.findings if finding.kind == "guard"), "")
    return tuple(smallest_changes(call, command, advice, allowed))
