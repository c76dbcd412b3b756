"""`POST /hook/{host}`: an event as its host wrote it, and what the hook's process is to say.

The body of the answer is the standard output. The exit code and the line for the standard error are headers, so that a
client without a JSON reader can pass all three on.
"""

from __future__ import annotations

from functools import partial
from math import ceil
from typing import TYPE_CHECKING
from urllib.parse import quote

from interpose.driving import drive_in_server, drive_thread_of_server
from interpose.server.twin_events import Begins, TwinEvents
from interpose.surfaces.hosts.all_hosts import HOSTS, host_named
from interpose.surfaces.hosts.event_answer import answer
from interpose.surfaces.hosts.hook_waits import HookWait, where_to_answer
from interpose.surfaces.http import deciding
from interpose.surfaces.http.incoming import LARGE
from interpose.surfaces.http_server.messages import Headers, Refusal, Request, Response, Route

if TYPE_CHECKING:
    from interpose.service.service import Service
    from interpose.surfaces.hosts.events import Host, Reply

TEXT = "text/plain; charset=utf-8"
WAITING = 102
"""The answer before the answer: a person is waited for. Its client then knows that we don't hang."""


def routes(service: Service, proof: str = "", twins: TwinEvents | None = None) -> tuple[Route, ...]:
    """The one route of hooks. `proof` is shown to clients, so that they know whom they have reached.

    `twins` are the events that are being answered, here and at other doors of this server.
    """
    proven: Headers = (("X-Interpose-Proof", proof),) if proof else ()
    running = twins or TwinEvents()

    async def hook(request: Request) -> Response:
        host = host_named(request.params["host"])
        if host is None:
            raise Refusal(404, "unknown_host", f"no such host; known are {', '.join(HOSTS)}")
        if service.answering is not None:  # whoever started this hook is an agent, and may not answer
            service.answering.agents.heard(_process(request))
        event, can_wait, told = request.query.get("event", ""), _can_wait(request), False

        def begins(question: str, seconds: float) -> None:
            nonlocal told
            if not told:
                shown = ("X-Interpose-Stderr", _quoted(where_to_answer(question)))
                request.inform(WAITING, (("X-Interpose-Wait", f"{ceil(seconds)}"), shown, *proven))
            told = True

        async def answered(begins: Begins) -> Reply:
            if len(request.body) > LARGE:
                return await _large(service, host, request, event, HookWait(can_wait, begins, holds=False))
            wait = HookWait(can_wait, begins)
            return await drive_in_server(answer(service, host, request.body, event=event, wait=wait))

        if can_wait:
            reply = await running.answered(host, event, request.body, begins, answered)
        else:
            reply = await answered(begins)
        headers = (
            ("Content-Type", TEXT),
            ("X-Interpose-Exit", str(reply.exit_code)),
            ("X-Interpose-Stderr", _quoted(reply.stderr)),
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


async def _large(service: Service, host: Host, request: Request, event: str, wait: HookWait) -> Reply:
    """In a thread: while one agent's long result is searched, others are answered in time.

    INVARIANT: nobody waits for a person in a thread. The event is put again when its question is answered.
    """

    async def answered(wait: HookWait) -> Reply:
        flow = answer(service, host, request.body, event=event, wait=wait)
        return await deciding.in_thread_if_large(request, partial(drive_thread_of_server, flow))

    reply = await answered(wait)
    if not wait.question or not wait.longest or service.desk.crowded:
        return reply
    wait.begin(wait.question)
    await service.desk.settled(wait.question, wait.longest)
    return await answered(HookWait())


def _can_wait(request: Request) -> float:
    """How long the client says that it can wait for a person."""
    said = request.headers.get("x-interpose-wait", "")
    return float(said) if said.isascii() and said.isdecimal() and len(said) < 6 else 0.0


def _quoted(text: str) -> str:
    return quote(text, safe=" ")


def _process(request: Request) -> int:
    """The hook's process: the kernel says so of one at the Unix socket, one at the port says it itself."""
    if request.peer.pid:
        return request.peer.pid
    said = request.headers.get("x-interpose-pid", "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 10 else 0
