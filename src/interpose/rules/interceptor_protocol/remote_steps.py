"""Interceptors of other programs as steps of our pipeline.

                 what happens                                               where it is registered
mutations        the call, or its result, goes on as they made it           before validations; after them for results
validations      a refusal is a Deny; a warning is noted                    a guard: it sees every later rewrite
sinks            told of what came of it, and not waited for                an observer

INVARIANT: what a program made of a call is a Transform like any other: guards see it again, and a call stays that call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec.json import encode
from msgspec.structs import replace

from interpose.core.config.remote_interceptors import RemoteInterceptorProgram
from interpose.core.formats.plain_text import plain
from interpose.core.types import (
    INTERCEPTOR_ERROR,
    Allow,
    Context,
    Decision,
    Deny,
    Finding,
    HookPoint,
    Report,
    ToolCall,
    ToolOutcome,
    Transform,
    same,
)
from interpose.rules.interceptor_protocol.chains import ChainAnswer, mutated, tell_sinks, validated
from interpose.rules.interceptor_protocol.invocations import (
    InterceptorInvocation,
    InvocationContext,
    MutationSaid,
    ValidationSaid,
)
from interpose.rules.interceptor_protocol.remote_payloads import event_of, with_payload
from interpose.rules.interceptor_protocol.remote_programs import RemoteProgram, on_their_loop, program_of, start

StepKind = Literal["mutation", "validation", "sink"]
Judged = ToolCall | ToolOutcome
_LONGEST = 2000


class RemoteStep:
    """One kind of a program's interceptors, at one hook point."""

    def __init__(self, program: RemoteProgram, kind: StepKind, clock: Callable[[], datetime] | None = None) -> None:
        self._program, self._kind = program, kind
        self._clock = clock or _now

    def intercept(self, payload: Judged, /) -> Any:
        """What the program says."""
        if self._kind == "sink":
            start(self._told(self._asked(payload)))
            return Allow()
        if isinstance(payload, ToolOutcome) and payload.denied:
            return Allow()  # it never ran: there is no result to look at
        return self._decided(payload)

    async def _decided(self, payload: Judged) -> Decision[Judged] | Report[Judged]:
        """Whatever is raised here fails this step: `on_error` says what that means."""
        asked = self._asked(payload)
        answers: list[ChainAnswer] = []
        new, aborted = await on_their_loop(self._heard(asked, answers))
        decisions: tuple[Decision[Judged], ...] = ()
        if aborted is not None:
            decisions = (_denied(aborted),)
        elif not same(new, asked.payload):
            decisions = (Transform(with_payload(payload, asked, new), _changers(answers)),)
        notes = tuple(_notes(answers, aborted))
        return Report(decisions, notes) if decisions or notes else Allow()

    async def _heard(self, asked: InterceptorInvocation, answers: list[ChainAnswer]) -> tuple[Any, ChainAnswer | None]:
        members = await self._program.members()
        there = [one for one in members if one.descriptor.covers(asked.event, asked.phase)]
        step = mutated if self._kind == "mutation" else validated
        found = await step(there, asked, answers)
        if any(one.timed_out for one in answers):
            self._program.late()
        return found

    async def _told(self, asked: InterceptorInvocation) -> None:
        members = await self._program.members()
        tell_sinks([one for one in members if one.descriptor.covers(asked.event, asked.phase)], asked)

    def _asked(self, payload: Judged) -> InterceptorInvocation:
        call = payload.call if isinstance(payload, ToolOutcome) else payload
        event, shown = event_of(payload)
        return InterceptorInvocation(
            event=event, phase="response" if isinstance(payload, ToolOutcome) else "request", payload=shown,
            context=_context(call, self._clock()),
        )  # fmt: skip


def _now() -> datetime:
    return datetime.now(UTC)


def _context(call: ToolCall, now: datetime) -> InvocationContext:
    who: Context = call.context
    return InvocationContext(
        session_id=who.session_id, principal_id=who.principal or who.agent_id,
        principal_type="user" if who.principal else "service", trace_id=who.trace_id, span_id=who.span_id,
        timestamp=now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        caller={"tool": call.original_name or call.name},
    )  # fmt: skip


def _denied(answer: ChainAnswer) -> Deny:
    name, said = answer.descriptor.name, answer.said
    if not isinstance(said, ValidationSaid):
        return Deny(f"{name} failed: {_text(answer.reason)}", rule=INTERCEPTOR_ERROR)
    part = next((each.path for each in said.messages if each.path), "")
    return Deny(_text(answer.reason), rule=name, part=_text(part), instead=_suggested(said))


def _suggested(said: ValidationSaid) -> str:
    return _text(encode(said.suggestions, enc_hook=str).decode()) if said.suggestions else ""


def _text(said: str) -> str:
    """A text of another program, for people and for the agent."""
    return plain(said)[:_LONGEST]


def _changers(answers: list[ChainAnswer]) -> str:
    names = [one.descriptor.name for one in answers if isinstance(one.said, MutationSaid) and one.said.modified
             and one.descriptor.mode == "active"]  # fmt: skip
    return ", ".join(names)


def _notes(answers: list[ChainAnswer], aborted: ChainAnswer | None) -> Iterator[Finding]:
    """What was said and does not decide: failures that don't count, audits, warnings."""
    for answer in answers:
        if answer is aborted:
            continue
        name, said = answer.descriptor.name, answer.said
        watched = answer.descriptor.mode == "audit"
        if said is None:
            note = Finding(interceptor=name, said="error", reason=f"{name} failed: {_text(answer.failure)}", rule=name)
        elif isinstance(said, MutationSaid):
            if not watched or not said.modified:
                continue
            note = Finding(interceptor=name, said="rewrite", reason=f"{name} would have changed it", rule=name)
        elif isinstance(said, ValidationSaid) and (said.messages or not said.valid):
            severity = said.severity or ("info" if said.valid else "error")
            objects = "deny" if said.blocks else "note"
            note = Finding(
                interceptor=name, said=objects, reason=_text(answer.reason), rule=name,  # type: ignore[arg-type]  # one of two words
                severity=severity,
            )  # fmt: skip
        else:
            continue
        yield replace(note, mode="watch") if watched else note


def remote_registrations(programs: Mapping[str, RemoteInterceptorProgram]) -> Iterator[dict[str, Any]]:
    """What is added to a registry for the programs of a configuration."""
    for name, settings in programs.items():
        program = program_of(name, settings)
        shared: dict[str, Any] = {
            "on_error": "allow" if settings.fail_open else "deny", "mode": settings.mode,
        }  # fmt: skip
        for point, kinds in _ORDER.items():
            for kind in kinds:
                # A result is validated as it came: what later steps make of it is theirs.
                guard = kind == "validation" and point is HookPoint.TOOL_BEFORE
                yield shared | {
                    "id": f"remote:{name}:{kind}" + ("" if point is HookPoint.TOOL_BEFORE else ":result"),
                    "name": point, "interceptor": RemoteStep(program, kind), "guard": guard,
                    "priority": -1 if kind == "sink" else settings.priority,
                }  # fmt: skip


_ORDER: Mapping[HookPoint, tuple[StepKind, ...]] = {
    HookPoint.TOOL_BEFORE: ("mutation", "validation", "sink"),
    HookPoint.TOOL_AFTER: ("validation", "mutation", "sink"),
}
"""Equal priorities run in this order: what we send is mutated first, what we receive is validated first."""


def prepare_all(programs: Mapping[str, RemoteInterceptorProgram]) -> tuple[RemoteProgram, ...]:
    """Begin to reach all of them. Kept by whoever serves, so that they stay."""
    found = tuple(program_of(name, settings) for name, settings in programs.items())
    for program in found:
        program.prepare()
    return found
