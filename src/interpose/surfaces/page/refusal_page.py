"""A refusal as a page."""

from __future__ import annotations

from interpose.surfaces.http_server.messages import Refusal, Response
from interpose.surfaces.page.frame import shown
from interpose.surfaces.page.html import tag
from interpose.surfaces.page.page_visits import Visit

_TITLES = {403: "Not allowed", 404: "Not found", 409: "Too late", 410: "Too late", 429: "Wait a moment", 503: "Not now"}


def refused_page(visit: Visit, refusal: Refusal) -> Response:
    """Why something was not done."""
    title = _TITLES.get(refusal.status, "Not done")
    said = tag("p", refusal.message, role="alert", class_="problem", data_error=refusal.code)
    back = tag("p", tag("a", "Back", href=_above(visit.request.path)))
    return shown(visit, title, said, back, status=refusal.status)


def _above(path: str) -> str:
    first = path.strip("/").partition("/")[0]
    return f"/{first}" if first in ("inbox", "sessions", "rules") else "/"
