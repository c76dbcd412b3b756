"""How routes get a verdict. Large requests are read and judged in threads of their own, and what fails is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.json import encode
from msgspec.structs import replace

from interpose.surfaces.http import incoming
from interpose.surfaces.http.incoming import LARGE
from interpose.surfaces.http.verdicts import failed
from interpose.tools import command_of
from interpose.types import Allow, Context, Deny, ToolCall, ToolOutcome, Verdict

if TYPE_CHECKING:
    from interpose.engine import NeedsConfirmation, Run, ToolRun
    from interpose.service.service import Service
    from interpose.surfaces.http_server.messages import Headers, Request

T = TypeVar("T")

_REWRITTEN = "A rule lets this run only in another form"
_aside = ThreadPoolExecutor(2, thread_name_prefix="interpose:large")
"""Few, since each takes time from those who answer the others; and none of those that approvals and readers need."""


async def aside(request: Request, work: Callable[[], T]) -> T:
    """Do what a request needs: at once if it is small, else where nobody has to wait for it."""
    if len(request.body) <= LARGE:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_aside, work)


async def call_of(
    service: Service, request: Request, name: str, arguments: incoming.Arguments | None, context: Context
) -> ToolCall:
    """The call that is meant."""
    shells = service.config.intercept.shell_tool_names
    return await aside(request, lambda: incoming.call_of(name, arguments, context, shells))


def wait_of(service: Service, request: Request) -> tuple[float, Headers]:
    """How long this request waits for a person, and the header that says so."""
    return incoming.wait_of(request, 0.0 if service.desk.crowded else service.config.intercept.wait_limit)


async def decided(
    service: Service,
    request: Request,
    context: Context,
    wait: float,
    *,
    here: Callable[[Run], Awaitable[T]],
    apart: Callable[[Run], T],
    asks: Callable[[T], str],
) -> T:
    """What an event comes to: `here` on this loop, or `apart` in a thread. `asks` is the question that it waits for.

    Nobody waits in a thread: a large event is put again when its question is answered.
    """
    if len(request.body) <= LARGE:
        return await here(service.run(context, wait=wait))
    found = await aside(request, lambda: apart(service.run(context)))
    if not wait or not (question := asks(found)):
        return found
    await service.desk.settled(question, wait)
    return await aside(request, lambda: apart(service.run(context)))


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
    rewritable: bool = True,
) -> Verdict[ToolCall]:
    """tool.before: decided, asked and recorded. A call that may run is remembered until its outcome comes.

    `rewritable` is false where an answer has no place for another call than the one that was asked about.
    """
    try:
        verdict = await decided(
            service,
            request,
            call.context,
            wait,
            here=lambda run: run.abefore(call, requires_confirmation=wish),
            apart=lambda run: run.before(call, requires_confirmation=wish),
            asks=question_of,
        )
        if verdict.rewritten and verdict.allowed and not rewritable:
            return await _not_run(service.run(call.context), verdict)
        if verdict.allowed:
            service.calls.opened(verdict.payload, key)
    except Exception as error:  # noqa: BLE001 - deny by default: a caller gets a refusal, whatever broke
        return failed(error, call)
    return verdict


async def _not_run(run: Run, verdict: Verdict[ToolCall]) -> Verdict[ToolCall]:
    """INVARIANT: nothing runs but what was decided. The caller would run the call as it came: it is refused, the answer
    says what to run instead, and the record that it did not run."""
    await run.anot_run(verdict, _REWRITTEN)
    instead = command_of(verdict.payload) or encode(verdict.payload.arguments).decode()
    return replace(verdict, outcome="deny", decision=Deny(_REWRITTEN, rule="rewritten", instead=instead))


async def after(
    service: Service, request: Request, outcome: ToolOutcome, *, wait: float = 0.0, key: str = ""
) -> tuple[Verdict[ToolOutcome], Any]:
    """tool.after: what is said about an outcome, and the result as the agent should get it."""
    call = outcome.call
    try:
        call_id = service.calls.closed(call.context, call.original_name or call.name, call.arguments, key)
        if call_id:
            outcome = replace(outcome, call=replace(call, call_id=call_id))
        done: ToolRun = await decided(
            service,
            request,
            call.context,
            wait,
            here=lambda run: run.aafter(outcome, decided=bool(call_id)),
            apart=lambda run: run.after(outcome, decided=bool(call_id)),
            asks=lambda done: question_of(done.after),
        )
        if done.after is not None and done.after.outcome == "ask":
            service.calls.opened(done.outcome.call, key)  # the caller will come again with the same result
    except Exception as error:  # noqa: BLE001 - as above: the result is withheld
        return failed(error, outcome), None
    return done.after or Verdict(outcome="allow", decision=Allow(), payload=outcome), done.response
