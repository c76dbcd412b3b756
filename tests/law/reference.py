"""The law again, as simply as it can be said, to hold the pipeline against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

Part = Literal["allow", "deny", "ask", "raise", "garbage", "timeout"] | int
Answer = Part | tuple[Part, ...]
"""An int is a rewrite to that value, a tuple is a report of several decisions."""


class Spec(Struct, frozen=True):
    """An interceptor in a test case: its answer depends on the payload it sees, which is a small int."""

    id: str
    priority: int
    guard: bool
    mode: Literal["enforce", "watch"]
    on_error: Literal["deny", "ask", "allow"]
    answers: tuple[Answer, ...]

    def answer(self, payload: int) -> Answer:
        return self.answers[payload % len(self.answers)]


class Said(Struct, frozen=True):
    """What the law says about a case."""

    outcome: str
    payload: int
    findings: tuple[tuple[str, str], ...]
    asks: int
    consulted: tuple[tuple[str, int], ...]


class _Law:
    def __init__(self, payload: int) -> None:
        self.payload = payload
        self.findings: list[tuple[str, str]] = []
        self.consulted: list[tuple[str, int]] = []
        self.asked: list[str] = []
        self.said: set[tuple[str, Answer]] = set()
        self.denied = self.rewritten = False

    def consult(self, spec: Spec) -> bool:
        """Hear one interceptor. True if it rewrote the payload."""
        self.consulted.append((spec.id, self.payload))
        answer, rewrote = spec.answer(self.payload), False
        for part in answer if isinstance(answer, tuple) else (answer,):
            rewrote = self.hear(spec, part) or rewrote
            if self.denied:
                break
        return rewrote

    def hear(self, spec: Spec, answer: Part) -> bool:
        """Take one decision. True if it rewrote the payload."""
        cause = answer
        if answer in ("raise", "garbage", "timeout"):
            self.findings.append((spec.id, "error"))
            answer = spec.on_error
        word = "allow" if answer in ("allow", self.payload) else "rewrite" if isinstance(answer, int) else answer
        repeated = (spec.id, cause) in self.said and word != "rewrite"
        self.said.add((spec.id, cause))
        if word != "allow" and not repeated:
            self.findings.append((spec.id, word))
        if spec.mode == "watch" or word == "allow":
            return False
        self.denied = self.denied or word == "deny"
        if word == "ask" and not repeated:
            self.asked.append(spec.id)
        if isinstance(answer, int):
            self.payload, self.rewritten = answer, True
        return word == "rewrite"

    def recheck(self, guards: list[Spec]) -> None:
        """Three rounds for the guards to agree on what a rewrite left."""
        for _ in range(3):
            changed = False
            for guard in guards:
                changed = self.consult(guard) or changed
                if self.denied:
                    return
            if not changed:
                return
        self.denied = True
        self.findings.append((guards[-1].id, "deny"))


def law(specs: Sequence[Spec], payload: int, approve: Callable[[int], bool] | None, look_only: bool = False) -> Said:
    ranked = sorted(specs, key=lambda spec: -spec.priority)
    deciding = [] if look_only else [spec for spec in ranked if spec.priority >= 0]
    said = _Law(payload)
    for position, spec in enumerate(deciding):
        if said.consult(spec):
            said.recheck([earlier for earlier in deciding[:position] if earlier.guard])
        if said.denied:
            break
    if said.asked and not said.denied and approve is not None:
        said.denied, said.asked = not approve(said.payload), []
    for spec in ranked[len(deciding) :]:
        said.consulted.append((spec.id, said.payload))
        if spec.answer(said.payload) in ("raise", "timeout"):
            said.findings.append((spec.id, "error"))
    outcome = "deny" if said.denied else "ask" if said.asked else "rewrite" if said.rewritten else "allow"
    return Said(
        outcome, said.payload, tuple(said.findings), len(said.asked) if outcome == "ask" else 0, tuple(said.consulted)
    )
