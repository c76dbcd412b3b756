"""Random chains against the execution model, said as simply as it can be: order, atomicity, audit, failOpen."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from interpose.rules.interceptor_protocol.chains import ChainMember, run_chain
from interpose.rules.interceptor_protocol.descriptors import EventHook, InterceptorDescriptor, PhasePriority
from interpose.rules.interceptor_protocol.invocations import (
    InterceptorInvocation,
    InterceptorSaid,
    MutationSaid,
    SinkSaid,
    ValidationSaid,
)

Does = Literal["pass", "append", "error", "warning", "unsaid", "crash", "misanswer", "if-marked"]


class Spec(Struct, frozen=True):
    name: str
    type: Literal["validation", "mutation", "sink"]
    does: Does
    event: str
    phase: Literal["request", "response"]
    audit: bool
    fail_open: bool
    priority: tuple[int, int]


specs = st.builds(
    Spec,
    name=st.text("abcdef", min_size=1, max_size=3),
    type=st.sampled_from(["validation", "mutation", "sink"]),
    does=st.sampled_from(["pass", "append", "append", "error", "warning", "unsaid", "crash", "misanswer", "if-marked"]),
    event=st.sampled_from(["*", "*", "*", "tools/*", "tools/call", "prompts/get"]),
    phase=st.sampled_from(["request", "response"]),
    audit=st.booleans(),
    fail_open=st.booleans(),
    priority=st.tuples(st.integers(-2, 2), st.integers(-2, 2)),
)


def says(spec: Spec, payload: str) -> InterceptorSaid | None:
    """What an interceptor says about a payload; None if it fails."""
    if spec.does == "crash" or (spec.does == "if-marked" and payload.endswith("a")):
        return None
    match spec.type:
        case "mutation":
            if spec.does == "misanswer":
                return None
            return MutationSaid(payload=payload + spec.name) if spec.does == "append" else MutationSaid()
        case "validation":
            if spec.does == "misanswer":
                return None
            if spec.does in ("error", "warning"):
                return ValidationSaid(valid=False, severity=spec.does)
            return ValidationSaid(valid=spec.does != "unsaid")
        case "sink":
            return SinkSaid()


def reference(chain: list[Spec], event: str, phase: str, payload: str) -> tuple[str, str, list[tuple[str, str]]]:
    """The model: status, payload, and who saw what, in order (validators as a set at one moment)."""
    covering = ("*", "tools/*", event) if event.startswith("tools/") else ("*", event)
    here = [one for one in chain if one.phase == phase and one.event in covering]
    saw: list[tuple[str, str]] = []

    def mutate(now: str) -> tuple[str, bool]:
        place = 0 if phase == "request" else 1
        for one in sorted((one for one in here if one.type == "mutation"), key=lambda x: (x.priority[place], x.name)):
            saw.append((one.name, now))
            said = says(one, now)
            if one.audit:
                continue
            if said is None:
                if not one.fail_open:
                    return payload, False
            elif isinstance(said, MutationSaid) and said.modified:
                now = said.payload
        return now, True

    def validate(now: str) -> tuple[str, bool]:
        good = True
        for one in here:
            if one.type != "validation":
                continue
            saw.append((one.name, now))
            said = says(one, now)
            objects = not one.fail_open if said is None else isinstance(said, ValidationSaid) and said.blocks
            good = good and (one.audit or not objects)
        return now, good

    order = [("mutation_failed", mutate), ("validation_failed", validate)]
    now = payload
    for failed, step in order if phase == "request" else order[::-1]:
        now, good = step(now)
        if not good:
            return failed, payload, saw
    return "success", now, saw


def member(spec: Spec, saw: list[tuple[str, str]]) -> ChainMember:
    descriptor = InterceptorDescriptor(
        name=spec.name, type=spec.type, hooks=(EventHook((spec.event,), spec.phase),),
        mode="audit" if spec.audit else "active", fail_open=spec.fail_open, priority=PhasePriority(*spec.priority),
    )  # fmt: skip

    async def invoke(asked: InterceptorInvocation) -> Any:
        if spec.type != "sink":
            saw.append((spec.name, asked.payload))
        if spec.does == "misanswer":
            return "nothing that means anything"
        said = says(spec, asked.payload)
        if said is None:
            raise RuntimeError("it crashed")
        return said

    return ChainMember(descriptor, invoke)


appending = st.builds(
    Spec, name=st.text("abcdef", min_size=1, max_size=3), type=st.just("mutation"), does=st.just("append"),
    event=st.just("*"), phase=st.sampled_from(["request", "response"]), audit=st.booleans(), fail_open=st.booleans(),
    priority=st.tuples(st.integers(-2, 2), st.integers(-2, 2)),
)  # fmt: skip
"""Those whose order shows."""


@given(
    chain=st.lists(specs | appending, max_size=7, unique_by=lambda one: one.name),
    event=st.sampled_from(["tools/call", "tools/list", "prompts/get"]),
    phase=st.sampled_from(["request", "response"]),
)
def test_a_chain_does_what_the_model_says(chain: list[Spec], event: str, phase: Any) -> None:
    saw: list[tuple[str, str]] = []

    async def main() -> Any:
        asked = InterceptorInvocation(event=event, phase=phase, payload="")
        return await run_chain([member(one, saw) for one in chain], asked, sending=phase == "request")

    result = asyncio.run(main())
    status, payload, seen = reference(chain, event, phase, "")
    assert (result.status, result.payload) == (status, payload)
    assert saw == seen
    assert (result.aborted_by is None) == (status == "success")
    assert len(result.answers) == len(seen)  # those that failed are in it, too


def test_a_validator_that_is_late_is_cancelled_and_the_others_are_heard() -> None:
    ended: list[str] = []

    async def hang(_asked: InterceptorInvocation) -> InterceptorSaid:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")
        raise AssertionError

    async def fine(_asked: InterceptorInvocation) -> InterceptorSaid:
        return ValidationSaid()

    def described(name: str, *, fail_open: bool) -> InterceptorDescriptor:
        hooks = (EventHook(("*",), "request"),)
        return InterceptorDescriptor(name=name, type="validation", hooks=hooks, fail_open=fail_open)

    async def main(fail_open: bool) -> Any:
        members = [
            ChainMember(described("hangs", fail_open=fail_open), hang, 0.01),
            ChainMember(described("fine", fail_open=False), fine),
        ]
        return await run_chain(members, InterceptorInvocation(event="e", phase="request", payload=1), sending=True)

    closed, opened = asyncio.run(main(False)), asyncio.run(main(True))
    assert (closed.status, opened.status) == ("validation_failed", "success")
    assert [answer.timed_out for answer in closed.answers] == [True, False]
    assert ended == ["cancelled", "cancelled"]
