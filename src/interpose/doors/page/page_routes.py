"""Every address of the page, in one place."""

from __future__ import annotations

from interpose.doors.http.figures import Agents
from interpose.doors.http_server.messages import Route
from interpose.doors.page import (
    call_screen,
    entering,
    inbox_answers,
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
from interpose.doors.page.page_visits import Visits
from interpose.doors.page.screens import Screen, screen_routes


def routes(visits: Visits, agents: Agents | None = None) -> tuple[Route, ...]:
    """What browsers may ask for. None of it is in the API document: it is for people."""
    screens = screens_of(visits, agents)
    return (
        *entering.routes(visits),
        *static_files.routes(),
        *live.routes(visits, screens),
        *screen_routes(visits, screens),
    )


def screens_of(visits: Visits, agents: Agents | None = None) -> tuple[Screen, ...]:
    """What those see and do who are signed in. Tabs stand in this order."""
    return (
        *now_screen.screens(),
        *inbox_screen.screens(),
        *inbox_answers.screens(),
        *pause_forms.screens(),
        *call_screen.screens(),
        *sessions_screen.screens(),
        *session_forms.screens(),
        *rules_screen.screens(),
        *playground_screen.screens(visits.service),
        *overview_screen.screens(agents),
        *entering.screens(visits),
    )
