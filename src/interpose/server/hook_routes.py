"""`POST /hook/{host}`: an event as its host wrote it, and what the hook's process is to say.

The body of the answer is the standard output. The exit code and the line for the standard error are headers, so that a
client without a JSON reader can pass all three on.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from interpose.driving import drive_in_server, drive_thread_of_server
from interpose.surfaces.hosts.all_hosts import HOSTS, host_named
from interpose.surfaces.hosts.event_answer import answer
from interpose.surfaces.http import deciding
from interpose.surfaces.http.incoming import LARGE
from interpose.surfaces.http_server.messages import Headers, Refusal, Request, Response, Route

if TYPE_CHECKING:
    from interpose.service.service import Service

TEXT = "text/plain; charset=utf-8"


def routes(service: Service, proof: str = "") -> tuple[Route, ...]:
    """The one route of hooks. `proof` is shown to clients, so that they know whom they have reached."""
    proven: Headers = (("X-Interpose-Proof", proof),) if proof else ()

    async def hook(request: Request) -> Response:
        host = host_named(request.params["host"])
        if host is None:
            raise Refusal(404, "unknown_host", f"no such host; known are {', '.join(HOSTS)}")
        if service.answering is not None:  # whoever started this hook is an agent, and may not answer
            service.answering.agents.heard(_process(request))
        answering = answer(service, host, request.body, event=request.query.get("event", ""))
        if len(request.body) <= LARGE:
            reply = await drive_in_server(answering)
        else:  # while one agent's long result is searched, others are answered in time
            reply = await deciding.in_thread_if_large(request, partial(drive_thread_of_server, answering))
        headers = (
            ("Content-Type", TEXT),
            ("X-Interpose-Exit", str(reply.exit_code)),
            ("X-Interpose-Stderr", quote(reply.stderr, safe=" ")),
            *proven,
        )
        return Response(200, reply.stdout, headers)

    return (
        Route(
            "POST",
            "/hook/{host}",
            hook,
            role="agent",
            summary="Answer an event of an agent's hook in that agent's own words",
            codes=((404, "unknown_host"),),
            produces=(TEXT,),
        ),
    )


def _process(request: Request) -> int:
    """The hook's process: the kernel says so of one at the Unix socket, one at the port says it itself."""
    if request.peer.pid:
        return request.peer.pid
    said = request.headers.get("x-interpose-pid", "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 10 else 0
