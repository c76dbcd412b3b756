"""Calls that were refused and whose host may run them all the same.

A refusal is kept by the host's own name for the call, so that whichever process hears of a result knows of it. Such a
result is withheld: the agent gets what was blocked, what to do instead and the evidence, and the record an alarm.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.types import Context, Deny, Finding, ToolCall, Verdict
from interpose.engine.flow.hosted import RAN_REFUSED
from interpose.reading import hidden

_LONGEST = 2000


class RefusedCall(Struct, frozen=True, kw_only=True):
    """A refusal as it is kept. No argument of the call is in it."""

    call_id: str
    tool: str
    reason: str
    rule: str = ""
    instead: str = ""
    evidence: str = ""
    at_ns: int = 0
    """When it was kept."""


class RefusedCalls(Protocol):
    """Where refusals are kept. Each method blocks."""

    def keep(self, context: Context, key: str, refused: RefusedCall, /) -> None:
        """Keep the refusal of the call that the host gives this name. Raises nothing: it is refused either way."""

    def find(self, context: Context, key: str, /) -> RefusedCall | None:
        """The refusal of the call of this name; None if it was not refused. Raises StoreError."""


def place_of_refusal(context: Context, key: str) -> str:
    """Where a refusal is kept. INVARIANT: it is found by those alone who said the same of themselves and of the call:
    parallel calls never get each other's, and no principal can have another one's results withheld."""
    where = "" if context.session_id else context.cwd
    parts = (context.principal, context.source, context.session_id, where, key)
    said = "\n".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def refused_call(verdict: Verdict[ToolCall]) -> RefusedCall:
    """The refusal of a verdict, without its secrets."""
    call, by = verdict.payload, verdict.decided_by
    detail = by.detail if by is not None and by.kind == "governance" else ""  # guards say more there than agents read
    return RefusedCall(
        call_id=call.call_id, tool=_kept(call.original_name or call.name), reason=_kept(verdict.reason),
        rule=_kept(verdict.rule), instead=_kept(verdict.instead), evidence=_kept(detail),
    )  # fmt: skip


def verdict_of(refused: RefusedCall, call: ToolCall) -> Verdict[ToolCall]:
    """What was decided about a call, as far as it was kept. Its findings were counted when it was refused."""
    deny = Deny(refused.reason, refused.rule, instead=refused.instead, detail=refused.evidence)
    by = Finding(interceptor="interpose", said="deny", reason=refused.reason, rule=refused.rule)
    return Verdict(outcome="deny", decision=deny, payload=replace(call, call_id=refused.call_id), decided_by=by)


def withheld_refused(refused: RefusedCall) -> tuple[Deny, Finding]:
    """What the agent gets in the place of the result, and what the record says."""
    rule = f" ({refused.rule})" if refused.rule else ""
    reason = (
        f"{refused.tool} was refused and ran all the same; its result is withheld. It was refused because: "
        f"{refused.reason}{rule}"
    )
    said = Finding(
        interceptor="interpose", said="error", rule=RAN_REFUSED, severity="critical", reason=reason,
        instead=refused.instead,
    )  # fmt: skip
    return Deny(reason, RAN_REFUSED, "critical", instead=refused.instead, detail=refused.evidence), said


def _kept(text: str) -> str:
    return hidden(text)[:_LONGEST]
