"""How the AI rules of a policy are registered, beside its other rules and swapped with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from interpose.core.interceptor import Registration
from interpose.core.registration import registration
from interpose.core.types import Allow, HookPoint
from interpose.rules.policy.compiled import Policy
from interpose.rules.policy.interceptor_ids import JUDGE

if TYPE_CHECKING:
    from interpose.rules.policy.judge.judge import Tell

PRIORITY = 49


def judge_registrations(
    policy: Policy,
    *,
    id: str = JUDGE,
    priority: int = PRIORITY,
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
