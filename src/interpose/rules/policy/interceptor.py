"""A policy as one interceptor: all rules of the set, at tool.before and tool.after, and its standing answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from interpose.core.interceptor import Registration
from interpose.core.registration import registration
from interpose.core.types import (
    SEVERITY_WEIGHT,
    Allow,
    Confirm,
    Decision,
    Deny,
    Finding,
    HookPoint,
    Mode,
    Report,
    Severity,
    ToolCall,
    ToolOutcome,
    Transform,
    freeze,
)
from interpose.rules.cel.runtime_values import EvaluationError
from interpose.rules.policy.compiled import Policy
from interpose.rules.policy.evaluate import Opinion, fires, opinions, rewritten, subject
from interpose.rules.policy.result_texts import replace_texts
from interpose.rules.policy.rules import JUDGE, POLICY, PolicyProblem, Rule
from interpose.rules.policy.standing_answers import PolicyAnswers

if TYPE_CHECKING:
    from interpose.rules.policy.judge.judge import Tell

PRIORITY = 50
_JUDGE_PRIORITY = 49
_QUOTED = 20
_KNOWN_BEFORE = frozenset({"tool", "call", "session", "agent", "principal"})
"""Variables that are the same for all calls that somebody makes of a tool."""


class PolicyInterceptor:
    """Says what the rules of one policy say. Immutable: another revision is another interceptor."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._notes = tuple(_attempts(policy.refused))
        self._quiet: Report[Any] = Report((), self._notes, policy.revision)

    def intercept(self, payload: ToolCall | ToolOutcome) -> Report[Any]:
        """The decisions of all rules that apply, and what the watching ones would have said."""
        point = HookPoint.TOOL_AFTER if isinstance(payload, ToolOutcome) else HookPoint.TOOL_BEFORE
        said = opinions(self.policy, point, payload)
        if not said:
            return self._quiet
        heard = _Heard()
        current: Any = payload
        applied: set[int] = set()
        while said:
            heard.add(said)
            changed = _changed(current, said, heard, applied)
            if heard.denials or changed is current:
                break
            # INVARIANT: a rewrite of the policy's own is shown to all of its rules again, as it is to other guards.
            # Each rule rewrites once, so this ends.
            current = changed
            said = opinions(self.policy, point, current)
        return self._report(heard, payload, current)

    def never(self, call: ToolCall) -> str:
        """Why a tool is refused whatever its arguments are: by a rule that looks at nothing but who calls what."""
        _, variables = subject(call)
        for compiled in self.policy.select(HookPoint.TOOL_BEFORE, call.name, variables.known_tool):
            rule, when = compiled.rule, compiled.when
            decides = rule.action == "deny" and rule.mode == "enforce" and not rule.prompt
            if not decides or rule.dialect != "interpose" or (when is not None and not when.variables <= _KNOWN_BEFORE):
                continue
            try:
                if fires(compiled, variables):
                    return f"{rule.text} (rule {rule.id})"
            except EvaluationError:
                continue
        return ""

    def _report(self, heard: _Heard, payload: Any, current: Any) -> Report[Any]:
        notes = (*self._notes, *dict.fromkeys(heard.notes))
        denials, questions = list(dict.fromkeys(heard.denials)), list(dict.fromkeys(heard.questions))
        if denials:
            worst = max(denials, key=lambda denial: SEVERITY_WEIGHT[denial.severity])
            others = [_finding("deny", d.reason, d.rule, d.severity, d.instead) for d in denials if d is not worst]
            others += [_finding("ask", q.message, q.rule, q.severity, q.instead) for q in questions]
            return Report((worst,), (*notes, *others), self.policy.revision)
        decisions: tuple[Decision[Any], ...] = tuple(questions)
        if current is not payload:
            decisions = (*decisions, *heard.rewrites)
        return Report(decisions, notes, self.policy.revision)


def _attempts(refused: Sequence[PolicyProblem]) -> Iterator[Finding]:
    """What a lower level tried to loosen. Every verdict has these notes: an agent that tries much is not quoted."""
    for problem in refused[:_QUOTED]:
        yield Finding(interceptor=POLICY, said="note", reason=str(problem), rule=problem.rule)
    if len(refused) > _QUOTED:
        reason = f"{len(refused) - _QUOTED} more attempts to loosen rules were refused"
        yield Finding(interceptor=POLICY, said="note", reason=reason)


class _Heard:
    """What the rules have said so far."""

    def __init__(self) -> None:
        self.denials: list[Deny] = []
        self.questions: list[Confirm] = []
        self.rewrites: list[Transform[Any]] = []
        """Each rule's own, on what the one before it left: so every one of them is named."""
        self.notes: list[Finding] = []

    def add(self, said: Sequence[Opinion]) -> None:
        for opinion in said:
            self._hear(opinion)

    def _hear(self, opinion: Opinion) -> None:
        rule = opinion.rule
        if opinion.saw == "missing":
            self.notes.append(_note(rule, "note", f"does not match: {opinion.error}", "info"))
        elif opinion.saw == "failed":
            self.fail(rule, opinion.error)
        else:
            self._decide(rule, rule.action)

    def fail(self, rule: Rule, error: str) -> None:
        """A rule that failed says what its `on_error` says."""
        self.notes.append(_note(rule, "error", f"failed: {error}", rule.severity))
        text = f"Rule {rule.id} could not be evaluated: {error}"
        if rule.on_error == "deny":
            self._decide(rule, "deny", text)
        elif rule.on_error == "ask":
            # A question under another name: who answers what a rule asks has not answered what it could not see.
            self._decide(replace(rule, id=f"{rule.id}:error"), "ask", text)

    def _decide(self, rule: Rule, action: str, text: str = "") -> None:
        text = text or rule.text
        match action:
            case "deny" | "ask" if rule.mode == "watch":
                self.notes.append(_note(rule, "deny" if action == "deny" else "ask", text, rule.severity))
            case "deny":
                self.denials.append(Deny(text, rule.id, rule.severity, "", rule.instead))
            case "ask":
                self.questions.append(
                    Confirm(text, rule.id, rule.severity, "", rule.instead, approvers=rule.approvers or UNSET)
                )
            case "transform" | "redact":
                self.notes.append(_note(rule, "rewrite" if rule.mode == "watch" else "note", text, rule.severity))
            case _:
                self.notes.append(_note(rule, "note", text, rule.severity))


def _finding(
    said: Any, reason: str, rule: str, severity: Severity, instead: str = "", mode: Mode = "enforce"
) -> Finding:
    return Finding(
        interceptor=POLICY, said=said, reason=reason, rule=rule, severity=severity, instead=instead, mode=mode
    )  # fmt: skip


def _note(rule: Rule, said: Any, reason: str, severity: Severity) -> Finding:
    return _finding(said, reason, rule.id, severity, rule.instead, rule.mode)


def _changed(payload: Any, said: Sequence[Opinion], heard: _Heard, applied: set[int]) -> Any:
    """The payload after the rules that rewrite, each on what the one before it left; the same if nothing changed."""
    for opinion in said:
        # The rule itself, not its name: a lower level may sharpen a rule under the same one.
        rule, this = opinion.rule, id(opinion.compiled)
        if opinion.saw != "fired" or rule.mode == "watch" or this in applied:
            continue
        changed = payload
        if rule.action == "transform":
            applied.add(this)
            changed = _transformed(payload, opinion, heard)
        elif rule.action == "redact":
            applied.add(this)
            changed = _redacted(payload, opinion)
        if changed is not payload:
            heard.rewrites.append(Transform(changed, rule=rule.id))
            payload = changed
    return payload


def _transformed(payload: Any, opinion: Opinion, heard: _Heard) -> Any:
    call, variables = subject(payload)
    try:
        arguments = freeze(rewritten(opinion.compiled, variables))
    except (EvaluationError, ValueError) as error:
        heard.fail(opinion.rule, str(error))
        return payload
    return payload if arguments == call.arguments else call.with_arguments(arguments)


def _redacted(payload: Any, opinion: Opinion) -> Any:
    replace_one = opinion.compiled.replace
    if replace_one is None:
        return payload
    if isinstance(payload, ToolOutcome):
        result = replace_texts(payload.result, replace_one)
        return payload if result is payload.result else replace(payload, result=freeze(result))
    arguments = replace_texts(payload.arguments, replace_one)
    return payload if arguments is payload.arguments else payload.with_arguments(arguments)


def registrations(policy: Policy, *, id: str = POLICY, priority: int = PRIORITY) -> tuple[Registration, ...]:
    """The registrations of a policy: one a hook point, its standing answers with the first, and those of its AI rules.

    All of one revision: whoever swaps them in together never mixes two. The judge comes after the other rules, so what
    they refuse costs no judgement. Raises PolicyError if a judge can't work as it was set up.
    """
    interceptor = PolicyInterceptor(policy)
    return (
        registration(
            id=id, name=HookPoint.TOOL_BEFORE, interceptor=interceptor, priority=priority, guard=True, kind="cel",
            standing=PolicyAnswers(policy),
        ),
        registration(
            id=f"{id}:after", name=HookPoint.TOOL_AFTER, interceptor=interceptor, priority=priority,
            guard=True, kind="cel",
        ),
        *judge_registrations(policy, id=f"{id}:judge", priority=priority - 1),
    )  # fmt: skip


def judge_registrations(
    policy: Policy,
    *,
    id: str = JUDGE,
    priority: int = _JUDGE_PRIORITY,
    environ: Mapping[str, str] | None = None,
    tell: Tell | None = None,
) -> tuple[Registration, ...]:
    """The registrations of a policy's AI rules, always the same ids, so that a swap leaves no older ones behind.

    Raises PolicyError if a judge can't work as it was set up.
    """
    rules = [compiled.rule for compiled in policy.rules if compiled.rule.prompt and compiled.rule.enabled]
    deciding: Any = _Quiet()
    approving: Any = _Quiet()
    if rules:
        # Here, as most policies need no judge: it comes with an event loop.
        from interpose.rules.policy.judge.interceptor import JudgeApprover, JudgeInterceptor
        from interpose.rules.policy.judge.judge import Judge

        judge = Judge(rules, policy.judge, environ=environ, tell=tell)
        deciding, approving = JudgeInterceptor(policy, judge), JudgeApprover(policy, judge)
    return (
        registration(
            id=id, name=HookPoint.TOOL_BEFORE, interceptor=deciding, priority=priority, guard=True, kind="ai"
        ),
        registration(
            id=f"{id}:after", name=HookPoint.TOOL_AFTER, interceptor=deciding, priority=priority, guard=True, kind="ai"
        ),
        registration(
            id=f"{id}:ask", name=HookPoint.PERMISSION_ASK, interceptor=approving, priority=priority, kind="ai",
            standing=approving if rules else None,
        ),
    )  # fmt: skip


class _Quiet:
    """A policy without AI rules."""

    def intercept(self, _payload: object) -> Allow:
        return Allow()
