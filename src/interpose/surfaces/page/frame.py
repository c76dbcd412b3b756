"""What every screen stands in: the head, the ways to the other screens, who is signed in, and what a browser is told
about a page before it shows it."""

from __future__ import annotations

from interpose.surfaces.http_server.messages import Headers, Response
from interpose.surfaces.page.html import NOTHING, Content, Html, document, joined, tag
from interpose.surfaces.page.page_visits import Visit

SCREENS = (
    ("/", "Now"),
    ("/inbox", "Inbox"),
    ("/sessions", "Sessions"),
    ("/rules", "Rules"),
    ("/overview", "Overview"),
)

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


def shown(
    visit: Visit,
    title: str,
    *body: Content,
    status: int = 200,
    scripts: tuple[str, ...] = (),
    styles: tuple[str, ...] = (),
) -> Response:
    """A screen. `scripts` and `styles` are files of `static` that it needs besides."""
    head = joined([tag("link", rel="stylesheet", href=f"/static/{name}") for name in styles])
    return plain_page(title, _around(visit, title, body), status=status, scripts=("page.js", *scripts), head=head)


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
    """Go on at another address of the page."""
    return Response(303, b"", (("Location", path), *_HTML, *GUARDING))


def _around(visit: Visit, title: str, body: tuple[Content, ...]) -> Html:
    here = "/" + visit.request.path.strip("/").partition("/")[0]
    ways = [tag("a", name, href=path, aria_current="page" if path == here else None) for path, name in SCREENS]
    who = visit.session
    leaving = tag(
        "form", visit.csrf_field(), tag("button", "Sign out", class_="quiet"), method="post", action="/leave",
    )  # fmt: skip
    return joined(
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag(
            "header",
            tag("strong", "Interpose", class_="brand"),
            tag("nav", ways, aria_label="Screens"),
            tag("span", who.name, " ", tag("small", who.role), class_="who"),
            leaving,
        ),
        tag("p", "", id="lost", role="status", class_="lost", hidden=True),
        tag("main", tag("h1", title), *body, id="content", data_live_from="/live"),
    )  # fmt: skip
