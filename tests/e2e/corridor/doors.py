"""What a door is, and what is compared of it: the same for every one of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, Literal, Protocol

from msgspec import Struct

from interpose import Context, ToolCall, Verdict, open_engine
from tests.e2e.corridor.calls import Case
from tests.e2e.corridor.world import World


class Told(Struct, frozen=True, kw_only=True):
    """What the caller learned at a door. A field is None where the wire of that door does not say it.

    `text` is prose for an agent, in which rule and reason are found. `arguments` are those that would run.
    """

    outcome: str
    rule: str | None = None
    reason: str | None = None
    text: str | None = None
    arguments: dict[str, Any] | None = None


class Door(Protocol):
    """One way to a decision. A door is opened once and plays all calls."""

    name: str
    keeps: bool
    """Whether it records what it decided."""
    asks: Literal["the desk", "its caller"]
    """Where the question goes that a call raises."""
    names_sessions: bool
    """Whether its callers say which session a call belongs to."""

    def takes(self, case: Case) -> bool:
        """Whether a call can come through this door at all."""
        ...

    def tool(self, case: Case) -> str:
        """What the door calls the tool in its reasons."""
        ...

    def arguments(self, kept: dict[str, Any]) -> dict[str, Any]:
        """The arguments of the call among those that are kept: some callers spell them otherwise, or add their own."""
        ...

    def play(self, cases: Sequence[Case]) -> list[Told]:
        """Put each call, in a session of its own."""
        ...


def session_of(door: Door, case: Case) -> str:
    """The name of the session that a call belongs to: calls that name none have one each."""
    return f"{door.name} {case.session or case.note}"


class Decided(Struct, frozen=True, kw_only=True):
    """A decision: what the engine says, and what the ledger has of a door."""

    outcome: str
    rule: str
    reason: str
    findings: tuple[tuple[str, str, str], ...]
    """What each objection says, by which rule, and whether it counts."""
    questions: tuple[str, ...]
    arguments: dict[str, Any]


_PLAYED = count(1)
"""Engines share the sessions of one home: each time the calls are made in sessions of their own."""


def decided_by_engine(world: World, cases: Sequence[Case]) -> list[Decided]:
    """What the engine says about each call, in this process: the measure of every door."""
    engine, played = open_engine(), next(_PLAYED)
    for tool in {case.tool for case in cases}:
        engine.add_tool(lambda **arguments: arguments, tool)

    def decided(case: Case) -> Decided:
        context = Context(
            cwd=world.project, session_id=f"engine {played} {case.session or case.note}", agent_id=case.agent
        )
        if case.session:  # a session counts the calls that run
            return of_verdict(engine.run(context).call(case.tool, case.arguments).verdict)
        return of_verdict(engine.decide(ToolCall(case.tool, case.arguments, context=context)))

    return [decided(case) for case in cases]


def of_verdict(verdict: Verdict[ToolCall]) -> Decided:
    """The parts of a verdict that are compared."""
    return Decided(
        outcome=verdict.outcome, rule=verdict.rule, reason=verdict.reason, questions=verdict.questions,
        findings=tuple((one.said, one.rule, one.mode) for one in verdict.findings),
        arguments=dict(verdict.payload.arguments),
    )  # fmt: skip


def of_record(record: dict[str, Any]) -> Decided:
    """The same parts of what the ledger has."""
    return Decided(
        outcome=record["decision"], rule=record["rule"], reason=record["reason"],
        findings=tuple((one["said"], one["rule"], one["mode"]) for one in record["findings"]),
        questions=tuple(record["questions"]), arguments=record["arguments"],
    )  # fmt: skip


def told_of_text(text: str) -> Told:
    """What an agent is told that gets a text instead of its call."""
    asks = "Interpose asks" in text
    assert asks or "Interpose refused this" in text, text
    return Told(outcome="ask" if asks else "deny", text=text)


def texts_in(value: Any) -> list[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts_in(one)]
