"""A refusal as a page, with a way back."""

from __future__ import annotations

from msgspec.structs import replace

from interpose.doors.http_server.messages import Refusal, Response
from interpose.doors.page.frame import Shown, plain_page, shown
from interpose.doors.page.html import Html, tag
from interpose.doors.page.page_visits import Visit, first_segment

API = "api"
"""The first segment of addresses for programs: they get JSON, whatever they accept."""
_TITLES = {
    400: "Not understood", 401: "Not signed in", 403: "Not allowed", 404: "Not found", 405: "Not possible here",
    409: "Too late", 410: "Too late", 429: "Wait a moment", 503: "Not now",
}  # fmt: skip
_NOT_FOUND = "There is no page at this address."
_NOT_A_PAGE = "This address takes what a form sends. There is nothing to look at."


def refused(visit: Visit, refusal: Refusal) -> Shown:
    """Why something was not done, for a person who is signed in."""
    above = f"/{first_segment(visit.request.path)}"
    back = above if above in dict(visit.tabs) and above != visit.request.path else "/"
    way = tag("p", tag("a", "Back", href=back)) if visit.tabs else None
    return shown(_title(refusal), _said(refusal, refusal.message), way, status=refusal.status)


def refusal_page(path: str, refusal: Refusal) -> Response | None:
    """The same for a browser of which nothing is known yet. None for addresses of the API."""
    if first_segment(path) == API:
        return None
    text = {404: _NOT_FOUND, 405: _NOT_A_PAGE}.get(refusal.status, refusal.message)
    way = tag("p", tag("a", "Go to the page of Interpose", href="/"))
    title = _title(refusal)
    body = tag("main", tag("h1", title), _said(refusal, text), way, class_="enter")
    page = plain_page(title, body, status=refusal.status)
    return replace(page, headers=(*page.headers, *refusal.headers))


def _title(refusal: Refusal) -> str:
    return _TITLES.get(refusal.status, "Not done")


def _said(refusal: Refusal, text: str) -> Html:
    sentence = f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
    return tag("p", sentence, role="alert", class_="problem", data_error=refusal.code)
