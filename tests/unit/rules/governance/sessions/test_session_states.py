"""What events make of a session, one story at a time. Any mixture of them is in test_session_machine.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.core.types import Context
from interpose.rules.governance.budgets.durations import NANOSECONDS
from interpose.rules.governance.files.file_model import SessionsForm
from interpose.rules.governance.sessions.session_states import after_event, counted, new_session, state_at, strictest
from interpose.rules.governance.sessions.sessions import Delegation, GovernedSession, Halt, SeenStep, SpawnCount
from tests.support.case_files import read_cases
from tests.support.noted import noted

MINUTE = 60 * NANOSECONDS
NOON = 1_900_000_000 * NANOSECONDS
STORIES = read_cases(Path(__file__).parents[4] / "cases/governance/session_states.yaml")


def session(**fields: Any) -> GovernedSession:
    return replace(new_session(Context(session_id="s"), NOON), **fields)


@pytest.mark.parametrize("story", noted((case["note"], (case,)) for case in STORIES))
def test_stories(story: dict[str, Any]) -> None:
    now, after, got = NOON, session(), []
    for minutes, event in story["story"]:
        now += minutes * MINUTE
        change = after_event(after, event.removesuffix("~"), now, can_tell=not event.endswith("~"))
        after = change.session
        got.append((after.state, change.tell))
    assert got == list(zip(story["want"], story["tell"], strict=True))
    assert after.generation == story.get("generation", after.generation)
    assert after.counts.calls == story.get("calls", after.counts.calls)


def test_what_a_fresh_beginning_keeps_and_what_not() -> None:
    before = session(
        halt=Halt(reason="r", by="ann", at_ns=1),
        steps=(SeenStep(tool="x"),),
        spawned=(SpawnCount("worker", 3),),
        delegations=(Delegation(id="open", state="working"), Delegation(id="over", state="done", ended_ns=5)),
    )
    before = counted(before, denials=2, errors=3, tokens=1 << 62, cost_micros=7)
    assert (before.counts.denials, before.counts.errors, before.counts.cost_micros) == (2, 3, 7)
    now = NOON + 49 * 60 * MINUTE
    after = after_event(before, "call", now).session
    assert after.halt == before.halt
    assert (after.steps, after.spawned, after.began_ns) == ((), (), now)
    assert (after.counts.calls, after.counts.denials, after.counts.errors, after.counts.tokens) == (1, 0, 0, 0)
    assert [(one.id, one.state, one.ended_ns) for one in after.delegations] == [
        ("open", "expired", now),
        ("over", "done", 5),
    ]


def test_who_only_looks_sees_that_nobody_is_there() -> None:
    looked = [state_at(session(state="active"), NOON + minutes * MINUTE) for minutes in (-5, 14, 15, 59, 60, 9999)]
    assert looked == ["active", "active", "idle", "idle", "interrupted", "interrupted"]
    assert state_at(session(state="ended"), NOON + 9999 * MINUTE) == "ended"


def test_an_operator_who_wants_no_texts_gets_none() -> None:
    quiet = SessionsForm(prefix=False, reminder=False)
    now, after = NOON, new_session(Context(session_id="s"), NOON, quiet)
    for minutes, event in ((0, "start"), (1, "compact"), (60, "call"), (4000, "call")):
        now += minutes * MINUTE
        change = after_event(after, event, now, quiet)  # type: ignore[arg-type]  # words of the table
        after = change.session
        assert change.tell == ""
    assert after.generation == 4


def test_of_several_rulebooks_the_strictest_holds() -> None:
    loose = SessionsForm(idle_after="1h", resume_after="1d", fresh_after="24h", prefix=False)
    tight = SessionsForm(idle_after="90m", resume_after="600s", fresh_after="3d", reminder=False)
    assert strictest([loose, tight]) == SessionsForm(idle_after="1h", resume_after="600s", fresh_after="3d")
    assert strictest([]) == SessionsForm()


def test_hostile_ids_are_kept_short_and_apart() -> None:
    long = [new_session(Context(session_id="x" * 100_000 + end, cwd="/" * 9999), NOON) for end in ("a", "b")]
    assert long[0].id != long[1].id
    assert long[0].key != long[1].key
    assert all(len(text) <= 200 for one in long for text in (one.id, one.key, one.project))
