"""The order in which interceptors are asked, and what counts: the normative part of SEP-2624.

sending     mutations, one after the other -> validations, all at once -> go
receiving   validations, all at once -> mutations, one after the other -> go

Mutations: lower priority first, then by name; each gets what the one before made of it; if one fails, none counts.
Validations: all of them end; only errors block. Audit computes and changes nothing. What fails blocks, unless it is
`failOpen`. Sinks are told and not waited for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from time import perf_counter_ns
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.errors import InvalidCallError, text_of
from interpose.core.types import freeze
from interpose.rules.interceptor_protocol.descriptors import InterceptorDescriptor
from interpose.rules.interceptor_protocol.invocations import (
    KINDS,
    InterceptorInvocation,
    InterceptorSaid,
    MisansweredInvocationError,
    MutationSaid,
    ValidationSaid,
)

ChainStatus = Literal["success", "validation_failed", "mutation_failed", "timeout"]
SINK_SECONDS = 30.0
MOST_TOLD = 1000
"""Sinks that may be told at the same time. One more is not, and logged."""

log = logging.getLogger("interpose.interceptors")
_told: set[asyncio.Task[Any]] = set()


class ChainMember(Struct, frozen=True):
    """An interceptor as it counts here (overrides are in its descriptor), and how it is asked."""

    descriptor: InterceptorDescriptor
    invoke: Callable[[InterceptorInvocation], Awaitable[InterceptorSaid]]
    timeout: float | None = None
    """Seconds that it may take. It is cancelled then."""


class ChainAnswer(Struct, frozen=True, kw_only=True):
    """What one member said, or why it said nothing."""

    descriptor: InterceptorDescriptor
    said: InterceptorSaid | None = None
    failure: str = ""
    timed_out: bool = False
    wrong_payload: bool = False
    """The failure is that of whoever asked."""
    milliseconds: int = 0

    @property
    def blocks(self) -> bool:
        """Whether nothing goes on because of it."""
        if self.descriptor.mode == "audit":
            return False
        if self.said is None:
            return not self.descriptor.fail_open
        return isinstance(self.said, ValidationSaid) and self.said.blocks

    @property
    def reason(self) -> str:
        """Why, in one text."""
        if self.said is None:
            return self.failure
        messages = self.said.messages if isinstance(self.said, ValidationSaid) else ()
        return "; ".join(each.message for each in messages) or "it is not valid"


class ChainResult(Struct, frozen=True, kw_only=True):
    """What came of an event."""

    status: ChainStatus
    payload: Any
    """The payload to go on with; that which came unless the status is success."""
    answers: tuple[ChainAnswer, ...] = ()
    aborted_by: ChainAnswer | None = None
    milliseconds: int = 0


async def ask_member(member: ChainMember, asked: InterceptorInvocation) -> ChainAnswer:
    """What one says. Never raises, but for a cancellation: whatever goes wrong is its failure."""
    began = perf_counter_ns()
    one, limit = member.descriptor, _shorter(member.timeout, asked.timeout)
    said: InterceptorSaid | None = None
    failure, late, wrong = "", False, False
    try:
        async with asyncio.timeout(limit) as deadline:
            answer = await member.invoke(replace(asked, timeout=limit))
        if not isinstance(answer, KINDS[one.type]):
            raise MisansweredInvocationError(f"a {one.type} interceptor answered {type(answer).__name__}")
        said = answer
    except TimeoutError as error:
        late = deadline.expired()
        failure = f"no answer within {limit:g} s" if late else text_of(error)
    except InvalidCallError as error:
        failure, wrong = text_of(error), True
    except Exception as error:  # noqa: BLE001 - of a plugin, or of another program
        failure = text_of(error) or type(error).__name__
    took = (perf_counter_ns() - began) // 1_000_000
    return ChainAnswer(
        descriptor=one, said=said, failure=failure, timed_out=late, wrong_payload=wrong, milliseconds=took
    )


def _shorter(*limits: float | None) -> float | None:
    given = [limit for limit in limits if limit is not None]
    return min(given) if given else None


async def run_chain(
    members: Iterable[ChainMember], asked: InterceptorInvocation, *, sending: bool, timeout: float | None = None
) -> ChainResult:
    """Ask those that stand at this event. `timeout` is for all of them together."""
    began = perf_counter_ns()
    there = [one for one in members if one.descriptor.covers(asked.event, asked.phase)]
    answers: list[ChainAnswer] = []
    steps = (mutated, validated) if sending else (validated, mutated)
    payload, status, aborted = asked.payload, "success", None
    try:
        async with asyncio.timeout(timeout):
            for step in steps:
                payload, aborted = await step(there, replace(asked, payload=payload), answers)
                if aborted is not None:
                    status = "mutation_failed" if aborted.descriptor.type == "mutation" else "validation_failed"
                    break
    except TimeoutError:
        status = "timeout"
    if status != "success":
        payload = asked.payload
    tell_sinks(there, replace(asked, payload=payload))
    took = (perf_counter_ns() - began) // 1_000_000
    return ChainResult(
        status=status, payload=payload, answers=tuple(answers), aborted_by=aborted, milliseconds=took  # type: ignore[arg-type]  # a word of the three above
    )  # fmt: skip


async def mutated(
    there: list[ChainMember], asked: InterceptorInvocation, answers: list[ChainAnswer]
) -> tuple[Any, ChainAnswer | None]:
    """The payload after all mutations, or the one whose failure undid them."""
    payload = asked.payload
    for member in in_order(there, asked):
        answer = await ask_member(member, replace(asked, payload=payload))
        answers.append(answer)
        if answer.blocks:
            return asked.payload, answer
        if member.descriptor.mode == "active" and isinstance(answer.said, MutationSaid) and answer.said.modified:
            payload = freeze(answer.said.payload)  # an audit that changed it in place would have changed it for all
    return payload, None


def in_order(there: Iterable[ChainMember], asked: InterceptorInvocation) -> list[ChainMember]:
    """The mutations, as they are asked."""
    mutations = [one for one in there if one.descriptor.type == "mutation"]
    return sorted(mutations, key=lambda one: (one.descriptor.priority.of(asked.phase), one.descriptor.name))


async def validated(
    there: list[ChainMember], asked: InterceptorInvocation, answers: list[ChainAnswer]
) -> tuple[Any, ChainAnswer | None]:
    """The payload, and the first that objects to it. All of them are heard."""
    asking = [ask_member(member, asked) for member in there if member.descriptor.type == "validation"]
    found = await asyncio.gather(*asking)
    answers.extend(found)
    return asked.payload, next((answer for answer in found if answer.blocks), None)


def tell_sinks(there: Iterable[ChainMember], asked: InterceptorInvocation) -> None:
    """Tell those who only want to know. Nobody waits for them, and what they do changes nothing."""
    for member in there:
        if member.descriptor.type != "sink":
            continue
        if len(_told) >= MOST_TOLD:
            log.warning("a sink was not told: too many are being told", extra={"interceptor": member.descriptor.name})
        else:
            timed = member if member.timeout is not None else replace(member, timeout=SINK_SECONDS)
            task = asyncio.get_running_loop().create_task(_tell(timed, asked))
            _told.add(task)
            task.add_done_callback(_told.discard)


async def _tell(member: ChainMember, asked: InterceptorInvocation) -> None:
    answer = await ask_member(member, replace(asked, timeout=None))
    if answer.failure:
        log.warning("a sink failed", extra={"interceptor": member.descriptor.name, "why": answer.failure})
