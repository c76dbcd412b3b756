"""How routes walk a flow: at once for small requests, in a thread for large ones, and what fails is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, TypeVar

from interpose.core.driving import Flow, drive_in_server, drive_thread_of_server
from interpose.core.driving.fair_workers import FairWorkers
from interpose.core.types import Allow, Context, ToolCall, ToolOutcome, Verdict
from interpose.doors.http import incoming
from interpose.doors.http.incoming import HUGE, LARGE
from interpose.engine.flow.hosted import Abilities, GoWith, Hosted, undecidable

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.doors.http_server.messages import Headers, Request
    from interpose.engine.engine import NeedsConfirmation
    from interpose.engine.flow.hosted import HostedAnswer

T = TypeVar("T")

REWRITES = Abilities(rewrite=True, rewrite_carried=True, hears=True)
"""Answers that have a place for another call than the one that was asked about, and for a word to the agent."""
AS_IT_CAME = Abilities()

_large, _huge = FairWorkers("large", 2), FairWorkers("huge", 1)
"""Few, since each takes time from those who answer the others; and none of those that approvals and readers need."""


async def in_thread_if_large(request: Request, work: Callable[[], T]) -> T:
    """Do what a request needs: at once if it is small, else where nobody else has to wait for it."""
    size = len(request.body)
    if size <= LARGE:
        return work()
    workers = _large if size <= HUGE else _huge
    return await asyncio.wrap_future(workers.submit(_who(request), work))


def _who(request: Request) -> Hashable:
    """Who waits for its own: a token, or else an address. INVARIANT: nothing that a caller merely says about itself."""
    return (request.caller.name, request.client or request.peer.address)


def wait_of(service: Service, request: Request) -> tuple[float, Headers]:
    """How long this request waits for a person, and the header that says so."""
    if request.caller.anonymous:
        return incoming.wait_of(request, 0.0)
    return incoming.wait_of(request, 0.0 if service.desk.crowded else service.config.intercept.wait_limit)


async def walk(
    service: Service,
    request: Request,
    context: Context,
    flow: Callable[[Hosted], Flow[T]],
    *,
    can: Abilities = AS_IT_CAME,
    wait: float = 0.0,
    asks: Callable[[T], str],
) -> T:
    """What a flow comes to: on this loop, or in a thread for a large request. `asks` is the question that it waits for.

    Nobody waits in a thread: a large event is put again when its question is answered.
    """
    if request.caller.anonymous:
        stranger = service.for_anonymous(context, can)
        if len(request.body) <= LARGE:
            return await drive_in_server(flow(stranger))
        return await in_thread_if_large(request, lambda: drive_thread_of_server(flow(stranger)))
    if len(request.body) <= LARGE:
        return await drive_in_server(flow(service.hosted(context, can, wait=wait)))
    found = await in_thread_if_large(request, lambda: drive_thread_of_server(flow(service.hosted(context, can))))
    if not wait or not (question := asks(found)):
        return found
    await service.desk.settled(question, wait)
    return await in_thread_if_large(request, lambda: drive_thread_of_server(flow(service.hosted(context, can))))


def question_of(verdict: Verdict[Any] | None) -> str:
    """The question that a verdict waits for."""
    return verdict.approval if verdict is not None and verdict.outcome == "ask" else ""


async def before(
    service: Service,
    request: Request,
    call: ToolCall,
    *,
    wait: float = 0.0,
    key: str = "",
    wish: NeedsConfirmation | None = None,
    can: Abilities = REWRITES,
) -> tuple[Verdict[ToolCall], dict[str, Any] | None]:
    """tool.before: the verdict, and the arguments to go on with if they are others."""

    def flow(hosted: Hosted) -> Flow[HostedAnswer]:
        return hosted.before(call, key=key, wish=wish)

    try:
        answer = await walk(
            service, request, call.context, flow, can=can, wait=wait, asks=lambda found: question_of(found.verdict)
        )
    except Exception as error:  # noqa: BLE001 - deny by default: a caller gets a refusal, whatever broke
        return undecidable(error, call), None
    return answer.verdict, answer.arguments if isinstance(answer, GoWith) else None


async def after(
    service: Service, request: Request, outcome: ToolOutcome, *, wait: float = 0.0, key: str = ""
) -> tuple[Verdict[ToolOutcome], Any]:
    """tool.after: what is said about an outcome, and the result as the agent should get it."""
    try:
        done = await walk(
            service, request, outcome.call.context, lambda hosted: hosted.after(outcome, key=key), wait=wait,
            asks=lambda done: question_of(done.after),
        )  # fmt: skip
    except Exception as error:  # noqa: BLE001 - as above: the result is withheld
        return undecidable(error, outcome), None
    return done.after or Verdict(outcome="allow", decision=Allow(), payload=outcome), done.response
