"""What a governed session has used of its budgets, by the rulebooks that hold where it began."""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING

from interpose.core.types import Context
from interpose.rules.governance.budgets.budgets import charges_of, left_of
from interpose.rules.governance.sessions.session_views import ShownBudget

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.rules.governance.sessions.sessions import GovernedSession


def session_budgets(service: Service, session: GovernedSession) -> list[ShownBudget]:
    """Every limit that holds for it, and what is used. Raises StoreError.

    INVARIANT: it is only looked at. The context has no session: to ask for the rules of one keeps that it was there.
    """
    context = Context(cwd=session.project, principal=session.principal)
    now = time_ns()
    charges = [one for book in service.rulebooks(context) for one in charges_of(book, session, context, now)]
    if not charges:
        return []
    return [
        ShownBudget(
            per=left.charge.per, what=left.charge.kind, limit=left.charge.limit, spent=left.spent,
            text=f"{left.charge.spoken(left.spent)} of {left.charge.spoken(left.charge.limit)}",
        )
        for left in left_of(service.store, charges)
    ]  # fmt: skip
