"""The rules of governance as interceptors: one for each kind of rule, so that one that fails touches no other.

They only look: the session that they see was read by the governor, and what they say is counted by it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from interpose.core.errors import text_of
from interpose.core.interceptor import Registration
from interpose.core.registration import registration
from interpose.core.types import Allow, Confirm, Context, Decision, Deny, Finding, HookPoint, Report
from interpose.rules.governance.files.rulebook import Seat
from interpose.rules.governance.governed_context import GovernedView, view_of
from interpose.rules.governance.rulings import Ruling

Rules = Callable[[Seat, GovernedView, Any], tuple[Ruling, ...]]
"""What one kind of rule says to a payload, for one seat."""

_ALLOW = Allow()

PRIORITY = 120
"""Above guards and policies: who may not do a thing at all is told so, and not that it is dangerous besides."""


class GovernanceRules:
    """One kind of rule, asked for every rulebook that holds."""

    def __init__(self, kind: str, rules: Rules) -> None:
        self._kind, self._rules = kind, rules

    def intercept(self, payload: Any) -> Allow | Deny | Report[Any]:
        """What the rules say, the strictest of all rulebooks."""
        context: Context = payload.context
        view = view_of(context)
        if view is None:  # INVARIANT: what the governor never saw is not let through by rules that can't know who acts
            return Deny("The session of this call is not known", rule=f"governance/{self._kind}")
        rulings: list[Ruling] = []
        for seat in view.seats:
            try:
                found = self._rules(seat, view, payload)
            except Exception as error:
                if seat.mode == "enforce":
                    raise
                found = (self._failed(error),)  # what is only watched blocks nothing, also where it fails
            if found:
                enforced = seat.mode == "enforce"
                rulings += found if enforced else [replace(ruling, watch=True) for ruling in found]
        return report_of(self._kind, rulings) if rulings else _ALLOW

    def _failed(self, error: Exception) -> Ruling:
        return Ruling(said="note", rule=f"governance/{self._kind}", reason=f"it failed: {text_of(error)}", watch=True)


def report_of(kind: str, rulings: list[Ruling]) -> Report[Any]:
    """Rulings in the words of the pipeline. What is only watched is a note."""
    decisions: list[Decision[Any]] = []
    notes: list[Finding] = []
    for ruling in rulings:
        if ruling.watch or ruling.said == "note":
            notes.append(note_of(kind, ruling))
        elif ruling.said == "deny":
            decisions.append(
                Deny(ruling.reason, ruling.rule, instead=ruling.instead, detail=ruling.evidence, summary=ruling.reason)
            )
        else:
            decisions.append(
                Confirm(
                    ruling.reason, ruling.rule, instead=ruling.instead, detail=ruling.evidence, summary=ruling.reason
                )
            )
    return Report(tuple(decisions), tuple(notes))


def note_of(kind: str, ruling: Ruling) -> Finding:
    """A ruling that decides nothing, in the words of the pipeline."""
    return Finding(
        interceptor=f"governance:{kind}", said=ruling.said, reason=ruling.reason, rule=ruling.rule,
        instead=ruling.instead, detail=ruling.evidence, mode="watch" if ruling.watch else "enforce", kind="governance",
    )  # fmt: skip


def governance_entry(kind: str, point: HookPoint, rules: Rules, priority: int = PRIORITY) -> Registration:
    """The registration of one kind of rule. It sees rewrites again, as guards do."""
    return registration(
        id=f"governance:{kind}", name=point, interceptor=GovernanceRules(kind, rules), priority=priority, guard=True,
        kind="governance",
    )  # fmt: skip
