"""Every address of the page, in one place."""

from __future__ import annotations

from interpose.surfaces.http_server.messages import Route
from interpose.surfaces.page import call_screen, entering, inbox_screen, live, now_screen, pause_forms, static_files
from interpose.surfaces.page.page_visits import Visits


def routes(visits: Visits) -> tuple[Route, ...]:
    """What browsers may ask for. None of it is in the API document: it is for people."""
    return (
        *entering.routes(visits),
        *static_files.routes(),
        *live.routes(visits),
        *now_screen.routes(visits),
        *inbox_screen.routes(visits),
        *pause_forms.routes(visits),
        *call_screen.routes(visits),
    )
