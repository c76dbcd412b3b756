"""Pauses on the page: those that hold, how to end one, and how the operator begins one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from interpose.composition.service import pause_records
from interpose.doors.http import proving
from interpose.doors.http.answering import done
from interpose.doors.http_server.messages import Refusal, Response
from interpose.doors.page.answer_forms import proof_fields
from interpose.doors.page.html import Html, tag
from interpose.doors.page.outcomes import told
from interpose.doors.page.page_sessions import OutcomeLine
from interpose.doors.page.page_visits import Visit
from interpose.doors.page.pieces import clock
from interpose.doors.page.screens import Screen
from interpose.people.approvals.grants import Given
from interpose.people.approvals.questions import spoken_id

MOST_MINUTES = 480
_LONGEST = {"agent": 256, "reason": 1000}
_PROVEN_AS = "pause"
"""What a code is shown for, as at the API."""


def screens() -> tuple[Screen, ...]:
    """Beginning and ending."""
    return (
        Screen("POST", "/inbox/pause", "operator", _begin, "Pause questions"),
        Screen("POST", "/inbox/pause/{id}/end", "approver", _end, "End a pause"),
    )


def pauses(visit: Visit, standing: list[Given]) -> Html:
    """What holds now, and the form for one more."""
    held = [
        tag(
            "form", visit.csrf_field(),
            tag("b", "Questions are answered with yes"), f" of {given.agent}" if given.agent else "", " until ",
            clock(given.ends), f", by {given.by}", f": {given.comment}" if given.comment else "", ". ",
            tag("button", "End it"), method="post", action=f"/inbox/pause/{given.id}/end", class_="paused",
            id=f"pause-{given.id}",
        )
        for given in standing
    ]  # fmt: skip
    return tag("div", held, id="pauses", data_live="questions", data_keyed=True)


def pause_form(visit: Visit) -> Html | None:
    """How the operator begins one."""
    if not visit.may("operator"):
        return None
    number = tag("input", type="number", name="minutes", min=1, max=MOST_MINUTES, value=10)
    return tag(
        "details",
        tag("summary", "Pause questions"),
        tag(
            "form", visit.csrf_field(),
            tag("p", "What would be asked runs for a while, and is recorded. Refusals stay.", class_="quiet"),
            tag("label", "Minutes ", number),
            tag("label", "Only this agent ", tag("input", name="agent", maxlength=_LONGEST["agent"])),
            tag("label", "Why ", tag("input", name="reason", maxlength=_LONGEST["reason"])),
            proof_fields(visit.service), tag("button", "Pause questions", id="begin-pause"),
            method="post", action="/inbox/pause",
        ),
        class_="over",
    )  # fmt: skip


async def _begin(visit: Visit) -> Response:
    minutes = visit.field("minutes")
    if not (minutes.isascii() and minutes.isdecimal() and len(minutes) <= 3 and 1 <= int(minutes) <= MOST_MINUTES):
        raise Refusal(400, "invalid_request", f"a pause lasts 1 to {MOST_MINUTES} minutes")
    if any(len(visit.field(name)) > most for name, most in _LONGEST.items()):
        raise Refusal(400, "invalid_request", "the agent's name or the reason is too long")

    def begin() -> object:
        proving.prove(visit.service, visit.answerer(), _PROVEN_AS, "interpose approvals pause TIME")
        until = datetime.now(UTC) + timedelta(minutes=int(minutes))
        agent, reason = visit.field("agent"), visit.field("reason")
        return pause_records.pause(visit.service, visit.session.name, until, agent=agent, reason=reason)

    await done(begin)
    return await told(visit, "/inbox", OutcomeLine("Questions are paused."))


async def _end(visit: Visit) -> Response:
    id = spoken_id(visit.request.params["id"])
    if not await done(lambda: pause_records.end_pause(visit.service, id, visit.session.name)):
        raise Refusal(404, "not_found", "there is no pause of this id")
    return await told(visit, "/inbox", OutcomeLine("The pause has ended."))
