"""The forms by which a person halts a governed session, and lets it go on."""

from __future__ import annotations

from collections.abc import Iterator

from interpose.doors.http.governed_sessions import done_to_session
from interpose.doors.http.proving import prove
from interpose.doors.http_server.messages import Refusal, Response
from interpose.doors.page.answer_forms import LONGEST_WORD, proof_fields
from interpose.doors.page.html import Html, tag
from interpose.doors.page.outcomes import told
from interpose.doors.page.page_sessions import OutcomeLine
from interpose.doors.page.page_visits import Visit
from interpose.doors.page.pieces import id_at, session_path
from interpose.doors.page.screens import Screen
from interpose.rules.governance.sessions.halts import how_to_lift
from interpose.rules.governance.sessions.session_views import GovernedSummary


def screens() -> tuple[Screen, ...]:
    """What approvers may do to a session."""

    async def halt(visit: Visit) -> Response:
        key, reason = id_at(visit.request.params["id"]), visit.field("reason").strip()[:LONGEST_WORD]
        if not reason:
            raise Refusal(400, "invalid_request", "say why: the agent is told")
        found = await done_to_session(lambda: visit.service.governed.halt(key, visit.session.name, reason))
        return await told(visit, session_path(found.id), OutcomeLine("The session is halted."))

    async def lift(visit: Visit) -> Response:
        key, comment = id_at(visit.request.params["id"]), visit.field("comment").strip()[:LONGEST_WORD]

        def lifted() -> str:
            # INVARIANT: as at the API: nobody lifts who has not shown to be a person and no agent.
            prove(visit.service, visit.answerer(), f"session:{key}", how_to_lift(key))
            return visit.service.governed.lift(key, visit.session.name, comment).id

        path = session_path(await done_to_session(lifted))
        return await told(visit, path, OutcomeLine("The session may go on."))

    return (
        Screen("POST", "/sessions/{id}/halt", "approver", halt, "Stop a session"),
        Screen("POST", "/sessions/{id}/lift", "approver", lift, "Let a session go on"),
    )


def session_forms(visit: Visit, session: GovernedSummary) -> Iterator[Html]:
    """What can be done to a session now, by those who may."""
    if not visit.may("approver"):
        return
    path = session_path(session.key)
    if session.halt is not None:
        yield tag(
            "form", visit.csrf_field(),
            tag("label", "Why it may go on ", tag("input", name="comment", maxlength=LONGEST_WORD)),
            proof_fields(visit.service), tag("button", "Let it go on", class_="yes", id="lift"),
            method="post", action=f"{path}/lift",
        )  # fmt: skip
    elif session.state != "ended":
        form = tag(
            "form", visit.csrf_field(),
            tag("label", "Why; the agent is told ",
                tag("input", name="reason", required=True, maxlength=LONGEST_WORD)),
            tag("button", "Halt it", class_="no", id="halt"), method="post", action=f"{path}/halt",
        )  # fmt: skip
        yield tag("details", tag("summary", "Halt this session"), form)
