"""One request of a browser: who is signed in, whether they may, and whether it was their own page that asks."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.errors import StoreError, text_of
from interpose.doors.http_server.messages import Refusal, Request, Response, Role
from interpose.doors.http_server.tokens import Tokens, digest_of, may
from interpose.doors.page.html import Attribute, Content, Html, tag
from interpose.doors.page.page_sessions import OutcomeLine, PageSession, PageSessions, SignedIn
from interpose.doors.page.pairing import Pairings
from interpose.people.presence.proof import Answerer

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

CSRF = "csrf"
FORM = "application/x-www-form-urlencoded"
MOST_FIELDS = 400
MOST_COOKIES = 8
LIVE = "x-interpose-live"
"""What a page says that looks again by itself."""
TOLD = "told"
"""What names the outcome of a form in an address."""
_COOKIE = "interpose"


class Tab(Struct, frozen=True):
    """A way to a screen that stands on every page. `waiting` counts what waits there for a person, at most so many."""

    name: str
    waiting: Callable[[Service, int], int] | None = None


class Visit(Struct, frozen=True):
    """A request of a person who is signed in. `form` has the fields of a POST, each name with its last value.

    `tabs` are the addresses and tabs that this person may open, and `opens` the first segments of all such addresses.
    """

    request: Request
    session: PageSession
    service: Service
    form: tuple[tuple[str, str], ...] = ()
    tabs: tuple[tuple[str, Tab], ...] = ()
    opens: frozenset[str] = frozenset()

    def field(self, name: str) -> str:
        """What was typed or chosen; empty if nothing."""
        return next((value for key, value in reversed(self.form) if key == name), "")

    def fields(self, name: str) -> list[str]:
        """All that were chosen."""
        return [value for key, value in self.form if key == name]

    def outcome(self) -> tuple[OutcomeLine, ...]:
        """What became of the form that led here."""
        key = self.request.query.get(TOLD, "")
        return next((one.lines for one in self.session.outcomes if key and one.key == key), ())

    def csrf_field(self) -> Html:
        """What shows that a form stood on a page of ours, for this session."""
        return tag("input", type="hidden", name=CSRF, value=self.session.csrf)

    def may(self, role: Role) -> bool:
        """Whether the person who is signed in has this role."""
        return may(self.session.role, role)

    def may_open(self, path: str) -> bool:
        """Whether this person may open an address of the page."""
        return first_segment(path) in self.opens

    def link(self, path: str, *content: Content, **attributes: Attribute) -> Html:
        """A link to an address of the page; the text alone where this person may not open it."""
        if self.may_open(path):
            return tag("a", *content, href=path, **attributes)
        return tag("span", *content, **attributes)

    def answerer(self) -> Answerer:
        """Who answers, for the proof: this browser, which a person may have let in."""
        peer = self.request.peer
        return Answerer(
            unix=False, address=peer.address, client=self.request.client, port=peer.port,
            our_address=peer.our_address, our_port=peer.our_port,
            paired=self.session.proven, here=self.session.here,
            passphrase=self.field("passphrase"), code=self.field("code"),
        )  # fmt: skip


class Visits:
    """The door of the page."""

    def __init__(self, service: Service, tokens: Callable[[], Tokens | None]) -> None:
        """`tokens` are those that count now."""
        self.service, self._tokens = service, tokens
        self.pairings = Pairings()
        self._sessions: PageSessions | None = None

    @property
    def sessions(self) -> PageSessions:
        """Who is signed in. Refusal where nobody can be: without a server nothing is answered."""
        if self._sessions is None:
            if self.service.answering is None:
                raise Refusal(503, "no_server", "nobody signs in here: this process takes no answers")
            self._sessions = PageSessions(self.service.store, self.service.answering)
        return self._sessions

    async def who(self, request: Request, *, used: bool = True) -> SignedIn | None:
        """Who is signed in, if somebody is. A token that ended ends what it began."""
        # INVARIANT: who answers with a cookie comes over TCP, where the kernel says which process that is. No browser
        # speaks to a Unix socket.
        if request.peer.kind == "unix":
            return None
        # A page at another port can put one of the same name before ours: it must not lock anybody out.
        for cookie in cookies_of(request, self.cookie_name(request)):
            try:
                found = await asyncio.to_thread(self.sessions.found, cookie, used=used)
            except StoreError as error:
                raise Refusal(503, "store_unavailable", f"the store can't be reached now: {text_of(error)}") from None
            if found is not None and (not found.session.token or self._is_known(found.session)):
                return found
        return None

    def sign_in_with(self, token: str) -> tuple[str, Role, str] | None:
        """Name, role and digest of a token that is known."""
        tokens = self._tokens()
        found = tokens.caller(token) if tokens is not None else None
        return None if found is None else (found.name, found.role, digest_of(token).hex())

    def _is_known(self, session: PageSession) -> bool:
        tokens = self._tokens()
        known = tokens.entries if tokens is not None else ()
        return any(one.digest.hex() == session.token and one.role == session.role and not one.ended for one in known)

    def cookie_name(self, request: Request, of: str = "") -> str:
        """Browsers keep one cookie of a name for all ports of a host: each server has its own name."""
        port = request.headers.get("host", "").rpartition(":")[2]
        name = f"{_COOKIE}{of}-{port if port.isdecimal() else 'page'}"
        return f"__Host-{name}" if self._is_secure else name

    def set_cookie(self, request: Request, value: str, of: str = "", *, seconds: int = 12 * 3600) -> str:
        """A cookie that no script reads and no other site makes a browser send."""
        secure = "; Secure" if self._is_secure else ""
        name = self.cookie_name(request, of)
        return f"{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"

    @property
    def _is_secure(self) -> bool:
        return bool(self.service.config.server.tls.cert_file)


def first_segment(path: str) -> str:
    """What stands first in an address. All addresses that have it in common are of one screen, or of those below it."""
    return path.lstrip("/").partition("?")[0].partition("/")[0]


def cookies_of(request: Request, name: str) -> list[str]:
    """The values of a cookie, as many as are looked at. Browsers send the closest first."""
    parts = request.headers.get("cookie", "").replace(",", ";").split(";")
    named = (part.strip().partition("=") for part in parts)
    return [value for key, _, value in named if key == name and value][:MOST_COOKIES]


def with_cookie(answer: Response, cookie: str) -> Response:
    """The same answer, and a cookie."""
    return replace(answer, headers=(*answer.headers, ("Set-Cookie", cookie)))


def posted(request: Request, csrf: str | None) -> tuple[tuple[str, str], ...]:
    """The fields of a form. Refusal unless it stood on a page of ours. `csrf` is None where nobody is signed in."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Refusal(415, "invalid_content_type", f"a form is sent as {FORM}")
    # The door refused every Origin that is not ours. A browser that says neither says nothing about who asks.
    if "origin" not in request.headers and request.headers.get("sec-fetch-site") != "same-origin":
        raise Refusal(403, "forbidden_origin", "the browser does not say which page asks")
    try:
        text = request.body.decode("utf-8")
        form = tuple(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS))
    except ValueError:
        raise Refusal(400, "invalid_request", "the form can't be read") from None
    given = next((value for key, value in form if key == CSRF), "")
    if csrf is not None and not hmac.compare_digest(given.encode(), csrf.encode()):
        raise Refusal(403, "forbidden_form", "this form is not of your session: go back, reload the page, try again")
    return form
