"""`POST /hook/{host}`: an event as its host wrote it, and what the hook's process is to say.

The body of the answer is the standard output. The exit code and the line for the standard error are headers, so that a
client without a JSON reader can pass all three on.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from math import ceil
from typing import TYPE_CHECKING
from urllib.parse import quote

from interpose.core.driving import drive_in_server, drive_thread_of_server
from interpose.doors.hooks.clients.client_files import notes_directory
from interpose.doors.hooks.hosts.all_hosts import HOSTS, host_named
from interpose.doors.hooks.hosts.event_answer import answer
from interpose.doors.hooks.hosts.hook_waits import Begins, HookWait, while_it_waits
from interpose.doors.http import deciding
from interpose.doors.http.incoming import LARGE
from interpose.doors.http_server.messages import Headers, Refusal, Request, Response, Route
from interpose.doors.server.asked_notes import AskedNotes
from interpose.doors.server.other_channels import only_this_desk
from interpose.doors.server.twin_events import TwinEvents
from interpose.people.presence.processes import environment_of

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.doors.hooks.hosts.events import Host, Reply
    from interpose.people.approvals.questions import Question

TEXT = "text/plain; charset=utf-8"
WAITING = 102
"""The answer before the answer: a person is waited for. Its client then knows that we don't hang."""


def routes(service: Service, proof: str = "", twins: TwinEvents | None = None) -> tuple[Route, ...]:
    """The one route of hooks. `proof` is shown to clients, so that they know whom they have reached.

    `twins` are the events that are being answered, here and at other doors of this server.
    """
    proven: Headers = (("X-Interpose-Proof", proof),) if proof else ()
    running = twins or TwinEvents()
    is_alone = partial(only_this_desk, service)
    notes = AskedNotes(notes_directory(service.config.hooks.socket))

    async def hook(request: Request) -> Response:
        host = host_named(request.params["host"])
        if host is None:
            raise Refusal(404, "unknown_host", f"no such host; known are {', '.join(HOSTS)}")
        if service.answering is not None:  # the program that started this hook is an agent, and may not answer
            service.answering.agents.heard(_process(request))
        event, can_wait = request.query.get("event", ""), _can_wait(request)
        version, path = partial(version_of, _process(request)), partial(search_path_of, _process(request))
        asked: Question | None = None

        def begins(question: Question, seconds: float) -> None:
            nonlocal asked
            if asked is None:
                shown = ("X-Interpose-Stderr", _quoted(while_it_waits(question, seconds)))
                request.inform(WAITING, (("X-Interpose-Wait", f"{ceil(seconds)}"), shown, *proven))
                if host.facts.setup.line:
                    notes.put(question, seconds)
            asked = question

        async def answered(begins: Begins) -> Reply:
            wait = HookWait(can_wait, begins, holds=len(request.body) <= LARGE, is_alone=is_alone)
            if not wait.holds:
                return await _large(service, host, request, event, wait)
            return await drive_in_server(
                answer(service, host, request.body, event=event, wait=wait, version=version, search_path=path)
            )

        try:
            if can_wait:
                reply = await running.answered(host, event, request.body, begins, answered)
            else:
                reply = await answered(begins)
        finally:  # also when its client has gone
            if asked is not None:
                notes.remove(asked)
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
        version, path = partial(version_of, _process(request)), partial(search_path_of, _process(request))
        flow = answer(service, host, request.body, event=event, wait=wait, version=version, search_path=path)
        return await deciding.in_thread_if_large(request, partial(drive_thread_of_server, flow))

    reply = await answered(wait)
    if not wait.question or service.desk.crowded:
        return reply
    _, seconds = await asyncio.to_thread(wait.patience)
    if not seconds:
        return reply
    wait.begin(await asyncio.to_thread(service.desk.question, wait.question), seconds)
    await service.desk.settled(wait.question, seconds)
    return await answered(HookWait())


def version_of(pid: int, host: Host) -> str:
    """The version of the host that started a hook's process, as it told that process; empty if it is not known.

    INVARIANT: nothing in an event says it. What is in the environment is the host's word, set when it started the hook.
    """
    variable, pattern = host.facts.tells_version
    found = re.match(pattern, environment_of(pid).get(variable, "")) if variable and pid else None
    return found[1].replace("-", ".") if found else ""


def search_path_of(pid: int) -> str:
    """The PATH with which a host started a hook's process, and starts its commands; empty if it is not known."""
    return environment_of(pid).get("PATH", "") if pid else ""


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
