"""`POST /hook/{host}`: an event as its host wrote it, and what the hook's process is to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from interpose.surfaces.hooks.answer import answer
from interpose.surfaces.hooks.hosts import HOSTS, host_named
from interpose.surfaces.http.messages import Refusal, Request, Response, Route, json_response

if TYPE_CHECKING:
    from interpose.service import Service


class Said(Struct, frozen=True):
    """What to print, and how to exit."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0


def routes(service: Service) -> tuple[Route, ...]:
    """The one route of hooks."""

    async def hook(request: Request) -> Response:
        host = host_named(request.params["host"])
        if host is None:
            raise Refusal(404, "unknown_host", f"no such host; known are {', '.join(HOSTS)}")
        reply = await answer(service, host, request.body, event=request.query.get("event", ""))
        return json_response(Said(reply.stdout.decode(), reply.stderr, reply.exit_code))

    return (
        Route(
            "POST",
            "/hook/{host}",
            hook,
            role="agent",
            summary="Answer an event of an agent's hook in that agent's own words",
            answer=Said,
            codes=((404, "unknown_host"),),
        ),
    )
