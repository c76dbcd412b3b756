"""What `interpose doctor` tried out is left out of screens, as the command line does it, and that is said."""

from __future__ import annotations

from interpose.core.formats.counted import plural
from interpose.doors.page.choices import here_with
from interpose.doors.page.html import Html, tag
from interpose.doors.page.page_visits import Visit

_FIELD = "canaries"


def shows_canaries(visit: Visit) -> bool:
    """Whether this address has them shown."""
    return visit.request.query.get(_FIELD) == "1"


def canaries_field(visit: Visit) -> Html | None:
    """What keeps them shown when a form is sent."""
    return tag("input", type="hidden", name=_FIELD, value="1") if shows_canaries(visit) else None


def canary_note(visit: Visit, left_out: int) -> Html:
    """How many are left out, and the way to see them; or the way back."""
    doctor = tag("code", "interpose doctor")
    said: list[str | Html] = []
    if shows_canaries(visit):
        said = [
            "Canaries of ",
            doctor,
            " are here, too. ",
            tag("a", "Leave them out", href=here_with(visit, canaries="")),
        ]
    elif left_out:
        are = "is" if left_out == 1 else "are"
        said = [
            f"{plural(left_out, 'canary', 'canaries')} of ", doctor, f" {are} left out. ",
            tag("a", "Show them", href=here_with(visit, canaries="1")),
        ]  # fmt: skip
    return tag("p", said, id="canaries", class_="quiet", hidden=not said, data_live="decided slow")
