"""`/healthz` and `/readyz`: does the process live, and could it decide a call now?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET, Struct, UnsetType

from interpose.core.errors import StoreError, text_of
from interpose.doors.http_server.messages import Request, Response, Route, json_response
from interpose.doors.http_server.tokens import may

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

ANSWER_WITHIN = 2.0
"""Seconds after which what says nothing counts as gone."""
LOOK_AGAIN = 1.0
"""Seconds for which a look holds: anybody may ask, and many who ask must not cost more than one."""


class Health(Struct, frozen=True):
    """The process lives."""

    status: Literal["ok"] = "ok"


class ReadyCheck(Struct, frozen=True):
    """One thing that a decision needs. What is wrong with it is only told to those who may read the ledger."""

    ok: bool
    problem: str | UnsetType = UNSET


class Ready(Struct, frozen=True, kw_only=True):
    """A call could be decided now."""

    status: Literal["ready"] = "ready"
    checks: dict[str, ReadyCheck]


class NotReady(Struct, frozen=True, kw_only=True):
    """A call could not be decided now, or not be recorded."""

    error: Literal["not_ready"] = "not_ready"
    message: str
    checks: dict[str, ReadyCheck]


class _Look:
    """The last look at one thing. There is never more than one under way."""

    def __init__(self, look: Callable[[], str]) -> None:
        self._look = look
        self._last: asyncio.Future[str] | None = None
        self._until = 0.0

    async def problem(self) -> str:
        if self._last is None or (self._last.done() and monotonic() >= self._until):
            self._until = monotonic() + LOOK_AGAIN
            self._last = asyncio.ensure_future(asyncio.to_thread(self._look))
        last = self._last
        await asyncio.wait((last,), timeout=ANSWER_WITHIN)
        return last.result() if last.done() else f"no answer within {ANSWER_WITHIN:g} s"


def routes(service: Service) -> tuple[Route, ...]:
    """What anybody may ask."""
    ledger, store = _Look(lambda: _ledger_problem(service)), _Look(lambda: _store_problem(service))

    async def alive(_request: Request) -> Response:
        return json_response(Health())

    async def ready(request: Request) -> Response:
        problems = dict(zip(("ledger", "store"), await asyncio.gather(ledger.problem(), store.problem()), strict=True))
        told = may(request.caller.role, "auditor")
        checks = {name: ReadyCheck(not why, why if why and told else UNSET) for name, why in problems.items()}
        # Rules that are broken are not taken over: the last good ones hold, and calls are decided.
        broken = "".join(map(str, service.policy_status()[0].problems[:1]))
        checks["policy"] = ReadyCheck(True, broken if broken and told else UNSET)
        if failing := [name for name, why in problems.items() if why]:
            return json_response(NotReady(message=f"not ready: {' and '.join(failing)}", checks=checks), 503)
        return json_response(Ready(checks=checks))

    return (
        Route("GET", "/healthz", alive, "open", "Whether the process lives", answer=Health),
        Route("GET", "/readyz", ready, "open", "Whether a call could be decided now; 503 says what is in the way",
              answer=Ready, codes=((503, "not_ready"),)),
    )  # fmt: skip


def _ledger_problem(service: Service) -> str:
    if service.ledger.writer.flush():
        return ""
    return service.ledger.status().problem or "a record was not written in time"


def _store_problem(service: Service) -> str:
    try:
        service.store.spent("interpose:readiness")
    except StoreError as error:
        return text_of(error)
    return ""
