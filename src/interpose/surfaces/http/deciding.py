"""How routes get a verdict. Large bodies are judged in a thread, and what fails is refused."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from msgspec.json import encode
from msgspec.structs import replace

from interpose.surfaces.http.incoming import LARGE
from interpose.surfaces.http.verdicts import failed
from interpose.tools import command_of
from interpose.types import Allow, Deny, ToolCall, ToolOutcome, Verdict

if TYPE_CHECKING:
    from interpose.engine import NeedsConfirmation, Run
    from interpose.service import Service
    from interpose.surfaces.http.messages import Request

_REWRITTEN = "A rule lets this run only in another form"


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
        run = service.run(call.context, wait=wait)
        if len(request.body) > LARGE:
            verdict = await asyncio.to_thread(run.before, call, requires_confirmation=wish)
        else:
            verdict = await run.abefore(call, requires_confirmation=wish)
        if verdict.rewritten and verdict.allowed and not rewritable:
            return await _not_run(run, verdict)
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
        run = service.run(call.context, wait=wait)
        if len(request.body) > LARGE:
            done = await asyncio.to_thread(run.after, outcome, decided=bool(call_id))
        else:
            done = await run.aafter(outcome, decided=bool(call_id))
        if done.after is not None and done.after.outcome == "ask":
            service.calls.opened(done.outcome.call, key)  # the caller will come again with the same result
    except Exception as error:  # noqa: BLE001 - as above: the result is withheld
        return failed(error, outcome), None
    return done.after or Verdict(outcome="allow", decision=Allow(), payload=outcome), done.response
