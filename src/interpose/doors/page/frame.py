"""What every screen stands in: the head, the ways to the other screens, who is signed in, and what a browser is told
about a page before it shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from interpose.core.errors import StoreError
from interpose.doors.http_server.messages import Headers, Response
from interpose.doors.page.html import NOTHING, Content, Html, document, is_own_address, joined, tag
from interpose.doors.page.page_visits import Tab, Visit, first_segment
from interpose.doors.page.pieces import question_path

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

MOST_WAITING = 50
"""What waits is counted up to this number."""

# INVARIANT: nothing on a page runs or is shown that did not come from our own files, and nobody puts a page in a frame.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
GUARDING: Headers = (
    ("Content-Security-Policy", _POLICY),
    ("X-Frame-Options", "DENY"),
    # Not `no-referrer`: with that, browsers send `Origin: null` with our own forms, and nobody could tell whose they
    # are.
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=()"),
)
_HTML = (("Content-Type", "text/html; charset=utf-8"),)


class Shown(Struct, frozen=True, kw_only=True):
    """A screen without its frame. `scripts` and `styles` are files of `static` that it needs besides."""

    title: str
    body: tuple[Content, ...]
    status: int = 200
    scripts: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()


def shown(
    title: str, *body: Content, status: int = 200, scripts: tuple[str, ...] = (), styles: tuple[str, ...] = ()
) -> Shown:
    """A screen, which is put into its frame for the person who sees it."""
    return Shown(title=title, body=body, status=status, scripts=scripts, styles=styles)


async def framed(visit: Visit, screen: Shown) -> Response:
    """The whole page, with the ways to other screens and the number of questions that wait."""
    waiting = await count_waiting(visit.service, [tab for _, tab in visit.tabs]) or 0
    head = joined([tag("link", rel="stylesheet", href=f"/static/{name}") for name in screen.styles])
    title = screen.title if not waiting else f"({waiting_text(waiting)}) {screen.title}"
    body = _around(visit, screen, waiting)
    return plain_page(title, body, status=screen.status, scripts=("page.js", *screen.scripts), head=head)


async def count_waiting(service: Service, tabs: Iterable[Tab]) -> int | None:
    """How much waits behind these tabs; None while the store can't be reached."""
    try:
        counts = [
            await asyncio.to_thread(tab.waiting, service, MOST_WAITING + 1) for tab in tabs if tab.waiting is not None
        ]
    except StoreError:
        return None
    return sum(counts)


def waiting_text(count: int | None) -> str:
    """The number that a tab and the title show; empty if it is not known."""
    if count is None:
        return ""
    return str(count) if count <= MOST_WAITING else f"{MOST_WAITING}+"


def plain_page(
    title: str, body: Html, *, status: int = 200, scripts: tuple[str, ...] = (), head: Html = NOTHING
) -> Response:
    """A page of its own, for who is not signed in."""
    whole = joined(
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · Interpose"),
        tag("link", rel="icon", href="/static/icon.svg"),
        tag("link", rel="stylesheet", href="/static/page.css"),
        [tag("script", src=f"/static/{name}", defer=True) for name in scripts],
        head,
    )  # fmt: skip
    return Response(status, document(whole, tag("body", body)), (*_HTML, *GUARDING))


def to(path: str) -> Response:
    """Go on at another address of the page. INVARIANT: it is one of ours, whatever it was made from."""
    if not (path.startswith("/") and is_own_address(path)):
        raise ValueError(f"{path!r} is no address of the page")
    return Response(303, b"", (("Location", path), *_HTML, *GUARDING))


def _around(visit: Visit, screen: Shown, waiting: int) -> Html:
    here = "/" + first_segment(visit.request.path)
    who = visit.session
    leaving = tag(
        "form", visit.csrf_field(), tag("button", "Sign out", class_="quiet"), method="post", action="/leave",
    )  # fmt: skip
    return joined(
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag(
            "header",
            tag("strong", "Interpose", class_="brand"),
            tag("nav", [_tab(path, tab, here, waiting) for path, tab in visit.tabs], aria_label="Screens"),
            tag("span", who.name, " ", tag("small", who.role), class_="who"),
            leaving,
        ),
        tag("p", "", id="lost", role="status", class_="lost", hidden=True),
        tag("main", tag("h1", screen.title), _outcome(visit), *screen.body, id="content", data_live_from="/live"),
    )  # fmt: skip


def _outcome(visit: Visit) -> Html | None:
    """What became of the form that led here."""
    lines = visit.outcome()
    if not lines:
        return None
    items = [
        tag(
            "li",
            (tag("a", tag("code", line.question), href=question_path(line.question)), " ") if line.question else None,
            tag("span", line.text, class_="problem" if line.failed else None),
            [(" ", tag("small", note)) for note in line.notes],
        )
        for line in lines
    ]
    return tag("div", tag("ul", items), role="status", id="told")


def _tab(path: str, tab: Tab, here: str, waiting: int) -> Html:
    count = tag(
        "span", " ", tag("b", waiting_text(waiting)), tag("span", " waiting", class_="spoken"), id="waiting",
        class_="waits", hidden=not waiting,
    ) if tab.waiting is not None else None  # fmt: skip
    return tag("a", tab.name, count, href=path, aria_current="page" if path == here else None)
