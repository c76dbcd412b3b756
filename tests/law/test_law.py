"""The pipeline does what the law says: against a reference model, and by properties that must hold for any chain."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.law.reference import Spec, law
from tests.law.subject import WORDS, first_difference, pipeline

STRICTNESS = {"allow": 0, "rewrite": 0, "ask": 1, "deny": 2}

APPROVALS: list[Callable[[int], bool] | None] = [None, lambda _: True, lambda _: False]


@st.composite
def chains(draw: st.DrawFn) -> list[Spec]:
    specs = []
    for index in range(draw(st.integers(0, 7))):
        priority = draw(st.integers(-2, 3))
        specs.append(
            Spec(
                id=f"i{index}",
                priority=priority,
                guard=priority >= 0 and draw(st.booleans()),
                mode=draw(st.sampled_from(("enforce", "enforce", "watch"))),
                on_error=draw(st.sampled_from(("deny", "ask", "allow"))),
                answers=tuple(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5))),
            )
        )
    return specs


payloads = st.integers(0, 4)


@settings(max_examples=3000, deadline=None)
@given(chains(), payloads, st.sampled_from(APPROVALS), st.booleans())
def test_the_pipeline_says_what_the_reference_says(
    specs: list[Spec], payload: int, approve: Callable[[int], bool] | None, look_only: bool
) -> None:
    assert pipeline(specs, payload, approve, look_only) == law(specs, payload, approve, look_only)


def test_a_hundred_thousand_random_cases() -> None:
    assert first_difference(seed=20261115, cases=100_000) is None


@settings(max_examples=500, deadline=None)
@given(chains(), payloads, st.integers(0, 3), st.sampled_from(APPROVALS))
def test_adding_a_deny_never_loosens(
    specs: list[Spec], payload: int, priority: int, approve: Callable[[int], bool] | None
) -> None:
    refusing = Spec(id="new", priority=priority, guard=False, mode="enforce", on_error="deny", answers=("deny",))
    assert pipeline([*specs, refusing], payload, approve).outcome == "deny"


@settings(max_examples=500, deadline=None)
@given(chains(), payloads)
def test_observers_and_watchers_change_nothing(specs: list[Spec], payload: int) -> None:
    deciding = [spec for spec in specs if spec.priority >= 0 and spec.mode == "enforce"]
    with_all, alone = pipeline(specs, payload, None), pipeline(deciding, payload, None)
    assert (with_all.outcome, with_all.payload, with_all.asks) == (alone.outcome, alone.payload, alone.asks)


@settings(max_examples=500, deadline=None)
@given(chains(), payloads)
def test_a_failure_is_as_strict_as_its_on_error_says(specs: list[Spec], payload: int) -> None:
    failing = [
        Spec(id="new", priority=9, guard=False, mode="enforce", on_error=on_error, answers=("raise",))
        for on_error in ("allow", "ask", "deny")
    ]
    outcomes = [STRICTNESS[pipeline([spec, *specs], payload, None).outcome] for spec in failing]
    assert outcomes == sorted(outcomes)
    assert outcomes[2] == STRICTNESS["deny"]


def test_confirm_never_skips_a_later_deny() -> None:
    ask = Spec(id="ask", priority=5, guard=False, mode="enforce", on_error="deny", answers=("ask",))
    deny = Spec(id="deny", priority=0, guard=False, mode="enforce", on_error="deny", answers=("deny",))
    assert pipeline([ask, deny], 0, lambda _: True).outcome == "deny"


def test_an_approved_rewrite_runs_rewritten() -> None:
    rewrite = Spec(id="rewrite", priority=5, guard=False, mode="enforce", on_error="deny", answers=(3,))
    ask = Spec(id="ask", priority=0, guard=False, mode="enforce", on_error="deny", answers=("ask",))
    asked_about: list[int] = []

    def approve(final: int) -> bool:
        asked_about.append(final)
        return True

    said = pipeline([rewrite, ask], 0, approve)
    assert (said.outcome, said.payload, asked_about) == ("rewrite", 3, [3])


def test_a_rewrite_is_shown_to_guards_that_already_ran() -> None:
    guard = Spec(id="guard", priority=9, guard=True, mode="enforce", on_error="deny", answers=("allow", "deny"))
    smuggler = Spec(id="smuggler", priority=0, guard=False, mode="enforce", on_error="deny", answers=(1,))
    assert pipeline([guard, smuggler], 0, None).outcome == "deny"


def test_rewrites_that_do_not_settle_are_refused() -> None:
    guard = Spec(id="guard", priority=9, guard=True, mode="enforce", on_error="deny", answers=(1, 2, 0))
    said = pipeline([guard, Spec("x", 0, False, "enforce", "deny", (2, 2, 0))], 0, None)
    assert said.outcome == "deny"
    assert said.findings[-1] == ("guard", "deny")
