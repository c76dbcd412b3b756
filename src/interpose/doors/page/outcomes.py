"""What became of a form, shown after a redirect: post, redirect, get."""

from __future__ import annotations

import asyncio

from interpose.core.errors import StoreError
from interpose.doors.http_server.messages import Response
from interpose.doors.page.frame import to
from interpose.doors.page.page_sessions import OutcomeLine, PageSessions
from interpose.doors.page.page_visits import TOLD, Visit


async def told(visit: Visit, path: str, *lines: OutcomeLine) -> Response:
    """Go on at an address of the page, where these lines are shown to this person."""
    answering = visit.service.answering
    if answering is None:  # pragma: no cover - without a server no person is signed in
        return to(path)
    sessions = PageSessions(visit.service.store, answering)
    try:
        key = await asyncio.to_thread(sessions.keep, visit.session.id, lines)
    except StoreError:
        key = ""  # what was done is done: only its words are lost
    return to(f"{path}?{TOLD}={key}" if key else path)
