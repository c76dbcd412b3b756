"""Grants: what remains of a yes until it is used up, over, or revoked."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import MsgspecError, Struct, structs
from msgspec import json as fast

from interpose.core.answers import Approvers
from interpose.people.approvals.questions import Kept, moment
from interpose.people.approvals.scopes import ONCE, UNLIMITED, Scope, end_of
from interpose.people.approvals.seal import Seal, Sealed, Verifier
from interpose.people.widenings.kind_values import CallKind
from interpose.record.store.protocols import Grant


class Given(Struct, frozen=True, kw_only=True):
    """A grant as people see it. It has the id of the question that it answers; a pause has one of its own.

    `uses_left` is None where only time ends it. With a `problem` it is no grant: nothing runs by it.
    `kind` are the calls that it is for, if not this one alone. `asked` is who asked: where it is there, nobody else's
    question is answered. `edited` says that a person wrote these arguments.
    """

    id: str
    by: str
    given: datetime
    ends: datetime
    scope: Scope
    uses_left: int | None = None
    tool: str
    arguments: Any
    session: str = ""
    principal: str = ""
    cwd: str = ""
    comment: str = ""
    agent: str = ""
    problem: str = ""
    kind: CallKind | None = None
    asked: tuple[str, ...] = ()
    edited: bool = False
    approvers: tuple[Approvers, ...] = ()
    """Who had to agree, and did."""


_sealed = fast.Decoder(Sealed).decode
_given = fast.Decoder(Given).decode


def grant_of(
    kept: Kept,
    scope: Scope,
    seal: Seal,
    *,
    by: str,
    comment: str,
    now_ns: int,
    kind: CallKind | None = None,
    edited: tuple[dict[str, Any], str] | None = None,
) -> Grant:
    """What a yes grants, signed with all that it binds. ScopeError if it can't be granted so.

    `edited` are other arguments, and what they are bound to.
    """
    question, now = kept.question, moment(now_ns)
    ends = end_of(scope, question.session, now)
    uses = scope.uses if scope.kind in ("once", "uses", "kind") else UNLIMITED
    given = Given(
        id=question.id, by=by, given=now, ends=ends, scope=scope, tool=question.tool,
        arguments=question.arguments if edited is None else edited[0],
        session=question.session, principal=question.principal, cwd=question.cwd, agent=question.agent, comment=comment,
        uses_left=None if uses == UNLIMITED else uses, kind=kind, edited=edited is not None,
        approvers=question.approvers,
        asked=kept.asked if kind is not None or edited is not None else (),
    )  # fmt: skip
    return sealed_grant(given, _subject(kept, scope, edited), seal, now_ns=now_ns)


def _subject(kept: Kept, scope: Scope, edited: tuple[dict[str, Any], str] | None) -> str:
    if edited is not None:
        return edited[1]
    if scope.kind == "kind":
        return kept.kind_bound.session if scope.sessions == "this" else kept.kind_bound.principal
    return kept.bound.principal if scope.kind == "until" else kept.bound.session


def sealed_grant(given: Given, subject: str, seal: Seal, *, now_ns: int) -> Grant:
    """A grant on its way into the store."""
    expires_ns = now_ns + round((given.ends - given.given).total_seconds() * 1e9)
    sealed = seal.sealed("grant", fast.encode(given), given.id, subject, expires_ns, now_ns)
    uses = UNLIMITED if given.uses_left is None else given.uses_left
    return Grant(
        id=given.id, subject=subject, uses=uses, expires_ns=expires_ns, created_ns=now_ns, body=fast.encode(sealed)
    )


def signed_of(row: Grant, verifier: Verifier) -> Given | None:
    """A grant as it was given, all uses with it; None if no server of ours gave it so."""
    try:
        sealed = _sealed(row.body)
        if not verifier.accepts("grant", sealed, row.id, row.subject, row.expires_ns, row.created_ns):
            return None
        return _given(sealed.content)
    except MsgspecError:
        return None


def given_of(row: Grant, verifier: Verifier) -> Given:
    """A grant as it stands now. One that we did not give has a `problem`, and is shown as far as it can be read."""
    given = signed_of(row, verifier)
    left = None if row.uses > UNLIMITED // 2 else row.uses
    if given is not None:
        known = given.uses_left
        return structs.replace(given, uses_left=known if known is None or left is None else min(left, known))
    return Given(
        id=row.id, by="unknown", given=moment(row.created_ns), ends=moment(row.expires_ns), scope=ONCE, uses_left=left,
        tool="", arguments=None, problem=verifier.doubt,
    )  # fmt: skip
