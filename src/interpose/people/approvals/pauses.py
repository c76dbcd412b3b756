"""A pause: for a while, questions are answered with yes. Nothing else changes: what is refused stays refused.

It is kept and signed as grants are, so it can't be made in the store, ends by itself, and stays ended when the store or
the clock is set back.

INVARIANT: a pause answers no question that certain people must answer, and none about what guards the agent: it ends,
and a guard that was switched off meanwhile would not come back.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime

from interpose.core.answers import Approved
from interpose.core.errors import CrowdedError, UnboundError
from interpose.core.types import Context, PermissionRequest
from interpose.people.approvals.binding import digest, subject_of
from interpose.people.approvals.grants import Given, sealed_grant
from interpose.people.approvals.handlers import PAUSE, needs_people
from interpose.people.approvals.questions import moment, question_id
from interpose.people.approvals.scopes import Scope, end_of, in_utc
from interpose.people.approvals.seal import Seal
from interpose.people.approvals.taking import GrantTaker
from interpose.record.store.protocols import Grants

MOST_AT_ONCE = 20
_HOOK = "hook:"


class Pauses:
    """All that hold now. Safe to share by threads and servers."""

    def __init__(self, store: Grants, taker: GrantTaker, clock: Callable[[], int], key: bytes) -> None:
        self._store, self._taker, self._clock = store, taker, clock
        self._subject = digest(key, b"pause", "everything")

    def begin(self, by: str, until: datetime, seal: Seal, *, agent: str = "", reason: str = "") -> Given:
        """Answer questions with yes until then; of one agent, if it is named. ScopeError if it can't be for so long.

        INVARIANT: who asks for this has shown that `by` is the operator and no agent.
        """
        ends, now_ns = self.end_of(until), self._clock()
        if len(self.standing()) >= MOST_AT_ONCE:
            raise CrowdedError(f"{MOST_AT_ONCE} pauses hold already: end one of them")
        given = Given(
            id=question_id(secrets.token_hex(16)), by=by, given=moment(now_ns), ends=ends,
            scope=Scope("pause", until=ends), tool="", arguments=None, agent=agent, comment=reason,
        )  # fmt: skip
        if not self._store.give(sealed_grant(given, self._subject, seal, now_ns=now_ns)):
            raise CrowdedError("there is a grant of this name already: try again")
        return given

    def end_of(self, until: datetime) -> datetime:
        """When a pause would end. ScopeError if it would last too long, or is over."""
        return end_of(Scope("pause", until=in_utc(until)), "", moment(self._clock()))

    def standing(self) -> list[Given]:
        """Those that hold now."""
        return [given for given in self._taker.standing(self._subject) if given.scope.kind == "pause"]

    def answering(self, request: PermissionRequest) -> Approved | None:
        """The yes of a pause to a question, if one answers it."""
        from interpose.people.approvals.known_calls import touches_guards

        if needs_people(request):
            return None
        try:
            context = subject_of(request).context
        except UnboundError:
            return None
        found = next((given for given in self.standing() if _is_of(given, context)), None)
        if found is None or touches_guards(request):
            return None
        return Approved(f"{PAUSE}{found.id} of {found.by}")


def _is_of(given: Given, context: Context) -> bool:
    host = context.source.removeprefix(_HOOK) if context.source.startswith(_HOOK) else ""
    return not given.agent or given.agent in (context.agent_id, host)
