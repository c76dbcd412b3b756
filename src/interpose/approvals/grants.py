"""Grants: what remains of a yes until it is used up, over, or revoked."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import MsgspecError, Struct
from msgspec import json as fast

from interpose.approvals.questions import Kept, moment
from interpose.approvals.scopes import UNLIMITED, Scope, end_of
from interpose.store.protocols import Grant


class Given(Struct, frozen=True, kw_only=True):
    """A grant as people see it. It has the id of the question that it answers.

    `uses_left` is None where only time ends it.
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


_given = fast.Decoder(Given).decode


def grant_of(kept: Kept, scope: Scope, *, by: str, comment: str, now_ns: int) -> Grant:
    """What a yes grants. ScopeError if it can't be granted so."""
    question, now = kept.question, moment(now_ns)
    ends = end_of(scope, question.session, now)
    uses = scope.uses if scope.kind in ("once", "uses") else UNLIMITED
    given = Given(
        id=question.id, by=by, given=now, ends=ends, scope=scope, tool=question.tool, arguments=question.arguments,
        session=question.session, principal=question.principal, cwd=question.cwd, comment=comment,
    )  # fmt: skip
    return Grant(
        id=question.id,
        subject=kept.bound.principal if scope.kind == "until" else kept.bound.session,
        uses=uses,
        expires_ns=now_ns + round((ends - now).total_seconds() * 1e9),
        created_ns=now_ns,
        body=fast.encode(given),
    )


def given_of(row: Grant) -> Given | None:
    """A grant as it stands now; None if it was not given by us."""
    try:
        given = _given(row.body)
    except MsgspecError:
        return None
    fields = {name: getattr(given, name) for name in Given.__struct_fields__}
    return Given(**fields | {"id": row.id, "uses_left": None if row.uses > UNLIMITED // 2 else row.uses})
