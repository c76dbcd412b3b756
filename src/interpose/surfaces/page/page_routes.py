"""Every address of the page, in one place."""

from __future__ import annotations

from interpose.surfaces.http.figures import Agents
from interpose.surfaces.http_server.messages import Route
from interpose.surfaces.page import (
    call_screen,
    entering,
    inbox_screen,
    live,
    now_screen,
    overview_screen,
    pause_forms,
    playground_screen,
    rules_screen,
    session_forms,
    sessions_screen,
    static_files,
)
from interpose.surfaces.page.page_visits import Visits


def routes(visits: Visits, agents: Agents | None = None) -> tuple[Route, ...]:
    """What browsers may ask for. None of it is in the API document: it is for people."""
    return (
        *entering.routes(visits),
        *static_files.routes(),
        *live.routes(visits),
        *now_screen.routes(visits),
        *inbox_screen.routes(visits),
        *pause_forms.routes(visits),
        *call_screen.routes(visits),
        *sessions_screen.routes(visits),
        *session_forms.routes(visits),
        *rules_screen.routes(visits),
        *playground_screen.routes(visits),
        *overview_screen.routes(visits, agents),
    )
