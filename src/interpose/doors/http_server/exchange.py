"""One request from its head to its answer."""

from __future__ import annotations

import logging
from time import perf_counter_ns

from msgspec import Struct

from interpose.doors.http_server.listener_state import Answered
from interpose.doors.http_server.messages import (
    Handler,
    Headers,
    Peer,
    Refusal,
    RefusalPage,
    Request,
    Response,
    refusal_response,
    wants_page,
)
from interpose.doors.http_server.request_reader import RequestHead
from interpose.doors.http_server.routing import Router, decoded, parse_query
from interpose.doors.http_server.trust import Door, preflight

log = logging.getLogger("interpose.http")


class Exchange(Struct):
    """A request and its place in the order of answers. What needs no handler has its answer already."""

    request_id: str
    began_ns: int
    method: str = ""
    modern: bool = True
    path: str = ""
    extra: Headers = ()
    request: Request | None = None
    handler: Handler | None = None
    answer: Response | None = None
    hangs_up: bool = False
    refusal_page: RefusalPage | None = None
    asked: str = ""
    """The path as it was written, where a browser shows the answer to a person."""
    problem: bytes = b""

    @property
    def anonymous(self) -> bool:
        """Whether nobody knows who asks."""
        return self.request is not None and self.request.caller.anonymous

    def admit(self, head: RequestHead, door: Door, router: Router, peer: Peer, reached: str) -> None:
        """Who asks for what. Raises Refusal: first for whom we don't know, then for what there is not."""
        target = router.target(head.target)
        if wants_page(head.headers):
            self.asked = target.path
        cross_site = head.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        linked = cross_site and router.is_linked(head.method, target.path)
        self.extra = door.admit(head.headers, target.authority, reached, linked=linked)
        match = router.find(target.path)
        if head.method == "OPTIONS":
            if not self.extra:  # browsers ask before they show a token
                door.caller("open", head.headers, peer)
            self.answer = Response(204, headers=(("Allow", match.allow), *preflight(self.extra, match.allow)))
            return
        route = match.route(head.method)
        caller = door.caller(route.role, head.headers, peer)
        self.path = route.path
        self.handler = route.handler
        self.hangs_up = route.hangs_up
        self.request = Request(
            head.method,
            decoded(target.path),
            peer=peer,
            caller=caller,
            request_id=self.request_id,
            query=parse_query(target.query) if target.query and route.role != "relayed" else None,
            headers=head.headers,
            params=match.params,
            client=door.client_of(peer, head.headers),
            received_ns=self.began_ns,
            target=target.path + (f"?{target.query}" if target.query else ""),
            fields=head.fields,
        )

    async def ask(self) -> Response:
        """What the handler says.

        INVARIANT: what went wrong inside is told to the log alone; the client learns the id to look for.
        """
        try:
            assert self.handler is not None and self.request is not None  # noqa: S101, PT018 - it was admitted
            return await self.handler(self.request)
        except Refusal as refusal:
            return self.refused(refusal)
        except Exception:
            log.exception("request %s to %s failed", self.request_id, self.path)
            return self.internal_error()

    def internal_error(self) -> Response:
        """The answer when there is no other."""
        text = f"the request could not be answered; the server's log has more under {self.request_id}"
        return self.refused(Refusal(500, "internal_error", text))

    def refused(self, refusal: Refusal) -> Response:
        """A refusal as JSON, or as a page where a browser asks. The log has the same of both."""
        answer = refusal_response(refusal)
        page = self.refusal_page(self.asked, refusal) if self.refusal_page is not None and self.asked else None
        if page is None:
            return answer
        self.problem = answer.body
        return page

    def summary(self, answer: Response, peer: Peer) -> Answered:
        """What metrics and logs are told."""
        elapsed = perf_counter_ns() - self.began_ns
        if answer.status < 400:
            return Answered(self.method, self.path, answer.status, elapsed)
        client = peer.address if self.request is None else self.request.client
        problem = self.problem or answer.body
        return Answered(self.method, self.path, answer.status, elapsed, self.request_id, client, problem)
