"""Counting and escalation: what data alone can't say of stalls. Sequences of calls are in tests/cases/governance."""

from __future__ import annotations

from itertools import product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.rules.governance.files.file_model import StallsForm
from interpose.rules.governance.sessions.sessions import GovernedSession, SeenStep
from interpose.rules.governance.stalls.stalls import (
    MOST_AGENTS,
    MOST_STEPS,
    StallAnswer,
    reminded,
    reminder_of,
    stall_of,
    stall_rulings,
    with_stall,
    with_step,
)
from tests.support.governance.governed import after_step

FORM = StallsForm()
NEW = GovernedSession(id="s")


def step(call: str = "a", result: str = "r", **fields: object) -> SeenStep:
    made: dict[str, object] = {"tool": "exec", "exact": call, "shape": call, "target": call, "result": result}
    if fields.get("error") or fields.get("denied"):
        made["result"] = ""
    return msgspec.convert(made | fields, SeenStep)


def after(session: GovernedSession, *steps: SeenStep, form: StallsForm = FORM) -> tuple[GovernedSession, list[str]]:
    said = []
    for one in steps:
        session, answer = after_step(form, session, one)
        if answer is not None:
            said.append(f"{answer.kind}: {answer.word}")
            session = with_stall(session, answer)
    return session, said


def test_a_reminder_is_told_once_to_whom_it_is_for() -> None:
    session, said = after(NEW, *[step(agent="a1")] * 5)
    assert said == ["same-call: remind"]
    assert reminder_of(session, "another") == ""
    told = reminder_of(session, "a1")
    assert "exec was called 5 times in a row" in told
    assert "Do something else" in told
    assert reminder_of(reminded(session), "a1") == ""
    assert (session.stall.kind, session.stall.times, session.stall.agent) == ("same-call", 1, "a1")


def test_progress_takes_a_reminder_back() -> None:
    session, _ = after(NEW, *[step()] * 5)
    session, _ = after(session, step("b"))
    assert (reminder_of(session, ""), session.stall.kind, session.stall.times) == ("", "", 0)


def test_a_question_stands_until_somebody_says_yes() -> None:
    session, said = after(NEW, *[step()] * 10)
    assert said == ["same-call: remind", "same-call: ask"]
    (ruling,) = stall_rulings(session, "")
    assert (ruling.said, ruling.rule) == ("ask", "governance/stall/same-call")
    assert "10 times" in ruling.reason
    assert stall_rulings(session, "another") == ()
    # Refused, or run at the same time without having been asked about: it is still due.
    refused, _ = after(session, step("b", denied=True))
    assert stall_rulings(refused, "") == (ruling,)
    beside, _ = after(session, step())
    assert stall_rulings(beside, "") == (ruling,)
    session, _ = after(session, step("a", approved=True))
    assert stall_rulings(session, "") == ()
    session, said = after(session, *[step()] * 3)
    assert said == [], "whoever said yes has seen what came before"
    assert after(session, step())[1] == ["same-call: remind"]


def test_a_yes_to_something_else_answers_no_question() -> None:
    session, _ = after(NEW, *[step(agent="a1")] * 10)
    session, _ = after(session, step("b", agent="a2", approved=True))
    assert len(stall_rulings(session, "a1")) == 1


def test_a_question_of_one_agent_is_not_lost_by_a_reminder_of_another() -> None:
    session, _ = after(NEW, *[step(agent="a1")] * 10, *[step("b", agent="a2")] * 5)
    assert len(stall_rulings(session, "a1")) == 1
    session, said = after(session, *[step("b", agent="a2")] * 10)
    assert said == ["same-call: ask", "same-call: halt"]


@pytest.mark.parametrize(
    ("escalation", "want"),
    [
        (("remind",), ["remind"] * 4), (("halt",), ["halt"] * 4),
        (("remind", "halt"), ["remind", "halt", "halt", "halt"]),
        (("remind", "remind", "ask", "halt"), ["remind", "remind", "ask", "halt"]),
    ],
)  # fmt: skip
def test_the_escalation_is_the_operators(escalation: tuple[str, ...], want: list[str]) -> None:
    form = msgspec.convert({"escalation": escalation, "same_call": 2}, StallsForm)
    session, said = NEW, []
    for _ in range(8):
        session, answer = after_step(form, session, step())
        said += [answer.word] if answer is not None else []
    assert said == want


OFF = {
    "same_call": [step()] * 20,
    "alternating": [step(), step("b")] * 20,
    "same_error": [step(error="e"), step("b", "new")] * 10,
    "denied_again": [step(denied=True)] * 20,
    "errors": [step(f"c{number}", error=f"e{number}") for number in range(40)],
}


@pytest.mark.parametrize("which", OFF)
def test_each_can_be_switched_off_alone(which: str) -> None:
    others = dict.fromkeys(("same_call", "alternating", "same_error", "denied_again", "errors"), 0)
    alone = msgspec.convert(others | {which: 3}, StallsForm)
    assert after(NEW, *OFF[which], form=alone)[1]
    assert after(NEW, *OFF[which], form=msgspec.convert(others, StallsForm))[1] == []


def test_large_numbers_need_no_large_memory() -> None:
    form = StallsForm(same_call=900, errors=0)
    session, said = after(NEW, *[step()] * 899, form=form)
    assert said == []
    assert after(session, step(), form=form)[1] == ["same-call: remind"]


def test_two_rulebooks_look_at_the_same_counts() -> None:
    strict, easy = StallsForm(same_call=2), StallsForm(same_call=4)
    session, said = NEW, []
    for _ in range(4):
        session = with_step(session, step())
        said.append(
            tuple(answer and answer.word for answer in (stall_of(form, session, step()) for form in (strict, easy)))
        )
    assert said == [(None, None), ("remind", None), (None, None), ("ask", "remind")]


def test_a_halt_for_errors_and_what_it_says() -> None:
    session = NEW
    answer: StallAnswer | None = None
    for number in range(21):
        assert answer is None
        session, answer = after_step(FORM, session, step(f"c{number}", error=f"e{number}"))
    assert answer is not None
    assert (answer.word, answer.kind, answer.count) == ("halt", "errors", 21)
    assert "21 errors" in answer.reason


def test_progress_makes_up_for_errors() -> None:
    session, _ = after(NEW, *(step(f"c{number}", error=f"e{number}") for number in range(10)))
    assert session.stall.errors == 10
    session, _ = after(session, *(step(f"d{number}") for number in range(8)))
    assert session.stall.errors == 8
    session, _ = after(session, *[step("d7")] * 20)
    assert session.stall.errors == 8, "the same again is no progress"


def test_a_success_takes_back_the_errors_of_its_own_call() -> None:
    session, _ = after(NEW, *[step(error="e")] * 4, step("b", error="other"))
    assert session.stall.errors == 5
    session, _ = after(session, step("a", "passed"))
    assert session.stall.errors == 1


def test_denied_calls_do_not_hide_a_circle() -> None:
    steps = [each for _ in range(5) for each in (step(), step("b", denied=True))]
    assert "same-call: remind" in after(NEW, *steps)[1]


STEPS = st.builds(
    step, st.sampled_from("abc"), st.sampled_from("xyz"), agent=st.sampled_from(["", "1", "2"]),
    denied=st.booleans(), approved=st.booleans(), error=st.sampled_from(["", "", "e", "f"]),
)  # fmt: skip


@given(st.lists(STEPS, max_size=120))
def test_whatever_happens_memory_is_bounded_and_survives_a_restart(steps: list[SeenStep]) -> None:
    session = NEW
    for one in steps:
        session, answer = after_step(FORM, session, one)
        if answer is not None:
            assert answer.word in FORM.escalation
            session = with_stall(session, answer)
        kept = msgspec.json.decode(msgspec.json.encode(session), type=GovernedSession)
        assert kept == session
        session = kept
    assert len(session.steps) <= MOST_STEPS
    assert session.stall.errors >= 0


def test_agents_without_end_take_no_room_without_end() -> None:
    session = NEW
    for agent, number in product(range(MOST_AGENTS * 3), range(4)):
        session = with_step(session, step(f"c{number}", agent=f"a{agent}" * 20, error=f"e{number}"))
    assert len(session.stall.tracks) == MOST_AGENTS
    assert len(msgspec.json.encode(session)) < 60_000


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=60))
def test_always_another_result_is_never_a_circle(calls: list[str]) -> None:
    """Whatever is called, in whatever order: as long as each result is a new one, nobody says a word."""
    assert after(NEW, *(step(call, f"result {number}") for number, call in enumerate(calls)))[1] == []
