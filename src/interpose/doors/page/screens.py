"""The table of screens: which role may open an address, what it shows, and the tab that leads to it.

INVARIANT: a tab has no right of its own: it is shown to those whom the screen behind it would let in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from interpose.doors.http_server.messages import Refusal, Request, Response, Role, Route
from interpose.doors.http_server.tokens import may
from interpose.doors.page.frame import Shown, framed, to
from interpose.doors.page.page_sessions import PageSession
from interpose.doors.page.page_visits import LIVE, Tab, Visit, Visits, first_segment, posted, with_cookie
from interpose.doors.page.refusal_page import refused

START = "/"
"""Where a browser comes to: who may not open its screen goes on to the first tab."""

Show = Callable[[Visit], Awaitable[Shown | Response]]


class Screen(Struct, frozen=True):
    """One method of an address, for those who are signed in with a role."""

    method: Literal["GET", "POST"]
    path: str
    role: Role
    show: Show
    summary: str
    tab: Tab | None = None


def screen_routes(visits: Visits, screens: Sequence[Screen]) -> tuple[Route, ...]:
    """The routes of all screens. What is refused is a page, too."""
    return tuple(
        Route(screen.method, screen.path, _handler(visits, screen, screens), "visitor", screen.summary)
        for screen in screens
    )


def tabs_of(role: Role, screens: Sequence[Screen]) -> tuple[tuple[str, Tab], ...]:
    """The tabs that a role may open, with their addresses."""
    return tuple((one.path, one.tab) for one in screens if one.tab is not None and may(role, one.role))


def _handler(visits: Visits, screen: Screen, screens: Sequence[Screen]) -> Callable[[Request], Awaitable[Response]]:
    async def handler(request: Request) -> Response:
        found = await visits.who(request, used=LIVE not in request.headers)
        if found is None:
            after = quote(request.target.partition("?")[0], safe="/")
            return to(f"/enter?next={after}" if screen.method == "GET" else "/enter")
        answer = await _shown(_visit(visits, request, found.session, screens), screen)
        return with_cookie(answer, visits.set_cookie(request, found.cookie)) if found.cookie else answer

    return handler


async def _shown(visit: Visit, screen: Screen) -> Response:
    try:
        if not visit.may(screen.role):
            if screen.path == START and visit.tabs:
                return to(visit.tabs[0][0])
            raise Refusal(
                403, "forbidden", f"this needs the role {screen.role}; you have the role {visit.session.role}"
            )
        if screen.method == "POST":
            visit = replace(visit, form=posted(visit.request, visit.session.csrf))
        answer = await screen.show(visit)
    except Refusal as refusal:
        answer = refused(visit, refusal)
    return answer if isinstance(answer, Response) else await framed(visit, answer)


def _visit(visits: Visits, request: Request, session: PageSession, screens: Sequence[Screen]) -> Visit:
    opens = frozenset(first_segment(one.path) for one in screens if one.method == "GET" and may(session.role, one.role))
    return Visit(request, session, visits.service, tabs=tabs_of(session.role, screens), opens=opens)
