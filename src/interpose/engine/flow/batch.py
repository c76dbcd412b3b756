"""Several flows at once: each runs up to its question or its tool, all questions are put together, then all go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import UNSET, Struct

from interpose.core.driving import Ask, Execute, Flow, Step
from interpose.core.types import Deny
from interpose.people.approvals import BATCH_DENIED, BatchAnswer, ask_for_batch

R = TypeVar("R")


class _Held(Struct):
    """A flow that waits: at a question, before its tool, or at its end (`step` is None and `value` its result)."""

    flow: Any
    step: Step | None = None
    value: Any = UNSET


def run_batch(handler: Any, flows: Sequence[Flow[R]], names: Sequence[str]) -> Flow[list[R]]:
    """All results, in order. `deny all` refuses the calls that were asked about; the others never needed an answer."""
    held: list[_Held] = []
    for flow in flows:
        held.append((yield from _advance(_Held(flow), None)))
    asked = [one.step for one in held if isinstance(one.step, Ask)]
    answer = BatchAnswer.REVIEW
    if asked:
        answer = yield from ask_for_batch(handler, [step.request for step in asked], names)
    results: list[R] = []
    for one in held:
        if isinstance(one.step, Ask) and answer is not BatchAnswer.REVIEW:
            said = True if answer is BatchAnswer.APPROVE else Deny(BATCH_DENIED, rule="confirmation-denied")
            one = yield from _advance(one, said)
        while one.step is not None:
            one = yield from _advance(one, (yield one.step))
        results.append(one.value)
    return results


def _advance(one: _Held, answer: object) -> Flow[_Held]:
    """Run a flow on until it asks, wants to execute, or ends."""
    while True:
        try:
            step = one.flow.send(answer)
        except StopIteration as end:
            return _Held(one.flow, None, end.value)
        if isinstance(step, Ask | Execute):
            return _Held(one.flow, step)
        answer = yield step
