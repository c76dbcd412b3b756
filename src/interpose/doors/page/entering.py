"""`/enter` and `/leave`: a browser is let in by a code that a person types in their terminal, or by a token."""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic
from urllib.parse import quote

from interpose.doors.http.proving import answerer_of
from interpose.doors.http_server.messages import Refusal, Request, Response, Route
from interpose.doors.page.frame import plain_page, to
from interpose.doors.page.html import NOTHING, Html, tag
from interpose.doors.page.page_visits import Visit, Visits, cookies_of, posted, with_cookie
from interpose.doors.page.pairing import OFFERED_SECONDS
from interpose.doors.page.screens import Screen

PATH = "/enter"
_PAIR = "-pair"
_LOOKED_EVERY = 2
"""Seconds after which the browser asks whether somebody typed its code."""
WRONG_TOKENS, WITHIN_SECONDS = 10, 60.0


def routes(visits: Visits) -> tuple[Route, ...]:
    """What browsers may do that are not signed in."""
    wrong: deque[float] = deque(maxlen=WRONG_TOKENS)

    async def enter(request: Request) -> Response:
        after = _own_path(request.query.get("next", ""))
        if await visits.who(request, used=False) is not None:
            return to(after)
        if request.query.get("with") == "token":
            return _token_page(after)
        number = request.query.get("pair", "")
        secret = next(iter(cookies_of(request, visits.cookie_name(request, _PAIR))), "")
        code = visits.pairings.code(number, secret)
        # INVARIANT: a page shows no code that somebody else can show: a number counts where our own page asks with it.
        # Whoever was offered one may lead a browser here with it, and put the secret there from another port.
        if not code or request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            number, secret = visits.pairings.offer()
            offered = visits.set_cookie(request, secret, _PAIR, seconds=OFFERED_SECONDS)
            return with_cookie(_entrance(visits.pairings.code(number, secret), number, after), offered)
        let_in = visits.pairings.claim(code)
        if let_in is None:
            return _entrance(code, number, after)
        begun = await asyncio.to_thread(
            visits.sessions.begin, let_in.name, let_in.role, proven=let_in.proven, token=let_in.token,
            here=_is_here(request),
        )  # fmt: skip
        answer = with_cookie(to(after), visits.set_cookie(request, begun.cookie))
        return with_cookie(answer, visits.set_cookie(request, "", _PAIR, seconds=0))

    async def with_token(request: Request) -> Response:
        form = dict(posted(request, None))
        after, now = _own_path(form.get("next", "")), monotonic()
        if len(wrong) == WRONG_TOKENS and now - wrong[0] < WITHIN_SECONDS:
            return _refused(Refusal(429, "too_many_attempts", "too many tokens were wrong: wait a minute"), after)
        found = visits.sign_in_with(form.get("token", "").strip())
        if found is None:
            wrong.append(now)
            return _refused(Refusal(401, "unauthorized", "this token is not known, or has ended"), after)
        name, role, digest = found
        begun = await asyncio.to_thread(visits.sessions.begin, name, role, token=digest, here=_is_here(request))
        return with_cookie(to(after), visits.set_cookie(request, begun.cookie))

    return (
        Route("GET", PATH, enter, "visitor", "Sign in"),
        Route("POST", PATH, with_token, "visitor", "Sign in with a token"),
    )


def screens(visits: Visits) -> tuple[Screen, ...]:
    """How they leave."""

    async def leave(visit: Visit) -> Response:
        await asyncio.to_thread(visits.sessions.end, visit.session.id)
        return with_cookie(to(PATH), visits.set_cookie(visit.request, "", seconds=0))

    return (Screen("POST", "/leave", "agent", leave, "Sign out"),)


def _is_here(request: Request) -> bool:
    return answerer_of(request, "", "").on_this_machine


def _own_path(text: str) -> str:
    """Where to go on: a path of ours as addresses have it, or the first screen. It comes here again and again."""
    own = text.startswith("/") and not text.startswith(("//", "/enter", "/leave", "/live", "/api", "/static"))
    return quote(text, safe="/%") if own and len(text) <= 200 else "/"


def _address(number: str, after: str) -> str:
    return f"{PATH}?pair={quote(number, safe='')}&next={quote(after, safe='')}"


def _entrance(code: str, number: str, after: str) -> Response:
    body = tag(
        "main",
        tag("h1", "Sign in to Interpose"),
        tag("p", "Type this code in a terminal of your own:"),
        tag("p", f"{code[:4]}-{code[4:]}", class_="code", id="code", aria_label="Code"),
        tag("pre", "interpose open"),
        tag("p", "The command asks for the code. This page goes on by itself.", class_="quiet"),
        tag("p", "Only type a code that you see in your own browser. Whoever shows you one wants to come in as you."),
        # On a page of its own: this one is loaded again and again, and what was typed in it would be gone.
        tag("p", tag("a", "Sign in with a token instead", href=f"{PATH}?with=token&next={quote(after, safe='')}")),
        class_="enter",
    )  # fmt: skip
    again = tag("meta", http_equiv="refresh", content=f"{_LOOKED_EVERY};url={_address(number, after)}")
    return plain_page("Sign in", body, head=again, scripts=("enter.js",))


def _token_page(after: str, problem: Html = NOTHING, status: int = 200) -> Response:
    token = tag("input", type="password", name="token", autocomplete="off", required=True, autofocus=True)
    form = tag(
        "form", problem, tag("input", type="hidden", name="next", value=after), tag("label", "Token ", token),
        tag("button", "Sign in"), method="post", action=PATH,
    )  # fmt: skip
    told = "On this machine a token lets you look, and answer only if approvals.proof says so."
    code = tag("p", tag("a", "Sign in with a code instead", href=f"{PATH}?next={quote(after, safe='')}"))
    body = tag(
        "main", tag("h1", "Sign in to Interpose"), form, tag("p", told, class_="quiet"), code, class_="enter",
    )  # fmt: skip
    return plain_page("Sign in", body, status=status)


def _refused(refusal: Refusal, after: str) -> Response:
    said = tag("p", refusal.message, role="alert", class_="problem")
    return _token_page(after, said, refusal.status)
