"""AI rules in the pipeline: one interceptor that decides, and one that answers questions where its rules may."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

from interpose.core.types import Allow, HookPoint, PermissionRequest, Report, ToolCall, ToolOutcome
from interpose.rules.policy.compiled import Policy
from interpose.rules.policy.evaluate import opinion, subject
from interpose.rules.policy.judge.cache import Cache
from interpose.rules.policy.judge.decision import report_of
from interpose.rules.policy.judge.judge import Judge, in_background
from interpose.rules.policy.judge.operation import operation_of
from interpose.rules.policy.judge.rulings import Failed, JudgedRule, Permits
from interpose.rules.policy.rules import Level, Rule
from interpose.rules.policy.standing_answers import in_scope
from interpose.rules.policy.variables import Variables

PENDING = 1024
PENDING_SECONDS = 60.0


class JudgeInterceptor:
    """Asks the judge about the AI rules that apply. It can only tighten: an `allow` rule has no say here."""

    def __init__(self, policy: Policy, judge: Judge) -> None:
        self._policy, self._judge = policy, judge

    def intercept(self, payload: ToolCall | ToolOutcome) -> Allow | Report[Any] | Awaitable[Report[Any]]:
        """Nobody waits where no rule applies, and nothing is spent on the result of a call that never ran."""
        if isinstance(payload, ToolOutcome) and payload.denied:
            return Allow()
        point = HookPoint.TOOL_AFTER if isinstance(payload, ToolOutcome) else HookPoint.TOOL_BEFORE
        call, variables = subject(payload)
        candidates = [
            compiled
            for compiled in self._policy.select(point, call.name, variables.known_tool)
            if compiled.rule.prompt and compiled.rule.action != "allow"
        ]
        if not candidates:
            return Allow()
        asked: list[Rule] = []
        failed: list[JudgedRule] = []
        for compiled in candidates:
            said = opinion(compiled, variables)
            if said.saw == "fired":
                asked.append(said.rule)
            elif said.saw == "failed":
                failed.append(JudgedRule(said.rule, Failed(f"when: {said.error}")))
        return self._decide(payload, asked, failed) if asked or failed else Allow()

    async def _decide(
        self, payload: ToolCall | ToolOutcome, asked: Sequence[Rule], failed: Sequence[JudgedRule]
    ) -> Report[Any]:
        judged = [*failed, *await self._judge.judge(payload, asked)]
        self._judge.tell(payload, [each for each in failed if in_background(each.rule)])
        deciding = [each for each in judged if not in_background(each.rule)]
        return report_of(payload, deciding, self._policy.revision)


class JudgeApprover:
    """Answers questions by AI rules whose action is `allow`: for rules that they name, and where the judge agrees.

    At permission.ask the judge is asked, which takes time; as a standing answer, right after it, what it said is
    handed over. So it must be registered as both.
    """

    def __init__(self, policy: Policy, judge: Judge) -> None:
        self._policy, self._judge = policy, judge
        self._approved: Cache[tuple[str, str], tuple[Rule, ...]] = Cache(PENDING, PENDING_SECONDS)

    def intercept(self, request: PermissionRequest) -> Allow | Awaitable[Allow]:
        """Never objects: where the judge does not agree, or fails, a person is asked as before."""
        call = request.subject
        if not isinstance(call, ToolCall):
            return Allow()
        variables = Variables(call)
        rules = [
            compiled.rule
            for compiled in self._policy.select(HookPoint.TOOL_BEFORE, call.name)
            if _may_answer(compiled.rule, request)
            and in_scope(compiled, call)
            and opinion(compiled, variables).saw == "fired"
        ]
        return self._ask(request, rules) if _covers(rules, request) else Allow()

    def answer(self, request: PermissionRequest) -> str:
        """Who approves, if each rule that asks is answered by one that the judge agreed to. May raise: then nobody."""
        rules = self._approved.take(self._key(request)) or ()
        return ", ".join(f"judge:{rule.id}" for rule in rules) if _covers(rules, request) else ""

    async def _ask(self, request: PermissionRequest, rules: Sequence[Rule]) -> Allow:
        judged = await self._judge.judge(request, rules)
        self._judge.tell(request, (each for each in judged if isinstance(each.ruling, Failed)))
        agreed = tuple(each.rule for each in judged if isinstance(each.ruling, Permits))
        if agreed:
            self._approved.put(self._key(request), agreed)
        return Allow()

    def _key(self, request: PermissionRequest) -> tuple[str, str]:
        """What was approved. The call's id alone won't do: agents choose it. The question may be reworded meanwhile."""
        return request.subject.call_id, operation_of(request, self._judge.limits.max_characters).text


def _may_answer(rule: Rule, request: PermissionRequest) -> bool:
    """INVARIANT: no file that the agent can write answers a question."""
    return (
        bool(rule.prompt)
        and rule.action == "allow"
        and rule.source.level is not Level.PROJECT
        and rule.answers is not None
        and any(finding.rule in rule.answers.rules for finding in request.findings)
    )


def _covers(rules: Sequence[Rule], request: PermissionRequest) -> bool:
    """Whether each question is one that a rule names. A question of no rule is nobody's to answer in advance."""
    answered = {id for rule in rules if rule.answers for id in rule.answers.rules} - {""}
    return bool(request.findings) and all(finding.rule in answered for finding in request.findings)
