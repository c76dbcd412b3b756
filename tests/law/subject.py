"""Running the real pipeline on a case of the reference model, and drawing random cases."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from interpose.core.driving import Failure, Flow, Work
from interpose.core.interceptor import Registration
from interpose.core.pipeline import decide
from interpose.core.registration import registration
from interpose.core.types import Allow, Confirm, Deny, Finding, Report, Transform
from tests.law.reference import Answer, Said, Spec

ALLOW = Allow()
GARBAGE: tuple[object, ...] = ("deny", 7, None, {"block": False}, Allow)
ERRORS = (ValueError("x"), BaseException("y"), RecursionError(), MemoryError(), GeneratorExit())


class Scripted:
    """An interceptor that answers by its script and writes down what it was shown."""

    def __init__(self, spec: Spec, seen: list[tuple[str, int]]) -> None:
        self.spec, self.seen = spec, seen
        self.number = len(spec.id) + ord(spec.id[-1])

    def intercept(self, payload: int) -> object:
        self.seen.append((self.spec.id, payload))
        return self.said(self.spec.answer(payload))

    def said(self, answer: Answer) -> object:
        if isinstance(answer, int):
            return Transform(answer)
        if isinstance(answer, tuple):
            return Report(tuple(self.said(part) for part in answer))  # type: ignore[arg-type]  # parts are decisions
        match answer:
            case "allow":
                return ALLOW
            case "deny":
                return Deny("no")
            case "ask":
                return Confirm("may it?")
            case "garbage":
                return GARBAGE[self.number % len(GARBAGE)]
            case "raise":
                raise ERRORS[self.number % len(ERRORS)]
            case "timeout":
                raise TimeoutError


def entries_of(specs: Sequence[Spec], seen: list[tuple[str, int]]) -> list[Registration]:
    entries = [
        registration(
            id=spec.id, name=None, interceptor=Scripted(spec, seen), priority=spec.priority, guard=spec.guard,
            mode=spec.mode, on_error=spec.on_error, timeout=1.0 if "timeout" in spec.answers else None,
        )
        for spec in specs
    ]  # fmt: skip
    return sorted(entries, key=lambda entry: -entry.priority)


def perform(flow: Flow[Any]) -> Any:
    """A driver without threads: a deadline passes exactly when the script says so."""
    answer: Any = None
    while True:
        try:
            step = flow.send(answer)
        except StopIteration as end:
            return end.value
        assert isinstance(step, Work), f"the law waited for {step}"
        try:
            answer = step.function(*step.args)
        except BaseException as error:
            answer = Failure(error)


def pipeline(
    specs: Sequence[Spec], payload: int, approve: Callable[[int], bool] | None, look_only: bool = False
) -> Said:
    seen: list[tuple[str, int]] = []

    def ask(final: int, _asks: tuple[Finding, ...]) -> Flow[str | Deny]:
        yield from ()
        return "somebody" if approve is not None and approve(final) else Deny("the person said no")

    entries = entries_of(specs, seen)
    verdict = perform(decide(entries, payload, approve=ask if approve else None, look_only=look_only))
    findings = tuple((finding.interceptor, finding.said) for finding in verdict.findings)
    open_questions = len(verdict.questions) if verdict.outcome == "ask" else 0
    if verdict.outcome != "deny":
        assert verdict.rewritten == any(said == "rewrite" for _, said in _enforced(specs, findings))
    return Said(verdict.outcome, verdict.payload, findings, open_questions, tuple(seen))


def _enforced(specs: Sequence[Spec], findings: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    enforcing = {spec.id for spec in specs if spec.mode == "enforce"}
    return [finding for finding in findings if finding[0] in enforcing]


WORDS: tuple[Answer, ...] = (
    "allow", "allow", "allow", "deny", "ask", "raise", "garbage", "timeout", 0, 1, 2, 3, 4,
    (), ("ask", 2), (3, "ask", 1), ("ask", "deny", 4),
)  # fmt: skip


def draw(rng: random.Random) -> tuple[list[Spec], int, Callable[[int], bool] | None, bool]:
    """A random case: up to seven interceptors, few priorities so that there are ties, payloads 0 to 4."""
    specs = []
    for index in range(rng.randrange(8)):
        priority = rng.choice((-2, -1, 0, 0, 1, 1, 5))
        specs.append(
            Spec(
                id=f"i{index}",
                priority=priority,
                guard=priority >= 0 and rng.random() < 0.4,
                mode="watch" if rng.random() < 0.15 else "enforce",
                on_error=rng.choice(("deny", "ask", "allow")),
                answers=tuple(rng.choice(WORDS) for _ in range(rng.randrange(1, 6))),
            )
        )
    approvals: list[Callable[[int], bool] | None] = [
        None,
        lambda _: True,
        lambda _: False,
        lambda final: final % 2 == 0,
    ]
    return specs, rng.randrange(5), rng.choice(approvals), rng.random() < 0.05


def first_difference(seed: int, cases: int) -> str | None:
    """The first of `cases` random cases on which pipeline and reference differ, told in full; None if there is none."""
    from tests.law.reference import law

    rng = random.Random(seed)
    for number in range(cases):
        specs, payload, approve, look_only = draw(rng)
        want, got = law(specs, payload, approve, look_only), pipeline(specs, payload, approve, look_only)
        if want != got:
            listed = "\n".join(f"  {spec}" for spec in specs)
            return f"case {number} of seed {seed}, payload {payload}:\n{listed}\nlaw:      {want}\npipeline: {got}"
    return None
