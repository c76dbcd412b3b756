"""A halted session: what passes, what is said, and that the first reason counts."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from interpose.core.tools import KNOWN_TOOL_NAMES
from interpose.core.types import ToolCall
from interpose.rules.governance.sessions.halts import (
    READING,
    halt_rulings,
    how_to_lift,
    lifted,
    with_checkpoint,
    with_halt,
)
from interpose.rules.governance.sessions.sessions import GovernedSession, Lift, StallCounts

NOW = 1_794_952_801_000_000_000
SESSION = GovernedSession(id="s-12", stall=StallCounts(kind="errors", errors=21, told="x"))
HALTED = with_halt(SESSION, "21 errors", "governance/stall", NOW)
LIFT = Lift(halt_ns=NOW, by="ann", at_ns=NOW + 5)


@pytest.mark.parametrize("tool", sorted({*KNOWN_TOOL_NAMES, "mcp__x__read_file", "mcp__x__anything", "readx", "Read"}))
def test_reading_passes_and_nothing_else(tool: str) -> None:
    rulings = halt_rulings(HALTED, ToolCall(tool, {"path": "x"}))
    assert (rulings == ()) == (ToolCall(tool).name in READING)
    assert halt_rulings(SESSION, ToolCall(tool)) == ()
    assert halt_rulings(lifted(HALTED, LIFT), ToolCall(tool)) == ()


def test_what_changes_anything_is_no_reading() -> None:
    changing = {"exec", "process", "write", "edit", "apply_patch", "delete", "move", "copy", "task", "todo", "message",
                "web_fetch", "sql", "skill", "cron", "browser", "sessions_spawn", "sessions_send"}  # fmt: skip
    assert not READING & changing


def test_what_it_says() -> None:
    halted = with_checkpoint(HALTED, "/state/checkpoint-1.json")
    (ruling,) = halt_rulings(halted, ToolCall("exec", {"command": "ls"}))
    assert (ruling.said, ruling.rule) == ("deny", "governance/halt")
    assert ruling.reason == "This session is halted: 21 errors"
    assert "interpose governance session lift s-12" in ruling.instead
    assert "reading still works" in ruling.instead
    assert ruling.evidence == "halted by governance/stall; its context is in /state/checkpoint-1.json"


def test_the_first_reason_counts() -> None:
    again = with_halt(HALTED, "another", "ann", NOW + 1)
    assert again is HALTED
    assert with_checkpoint(SESSION, "x") is SESSION


def test_a_lifted_session_begins_to_count_anew() -> None:
    after = lifted(HALTED, LIFT)
    assert (after.halt, after.stall) == (None, StallCounts())
    assert after.lift == LIFT
    assert lifted(SESSION, LIFT) is SESSION, "what is not halted keeps its counts"


def test_a_lift_lifts_one_halt_and_no_later_one() -> None:
    again = with_halt(lifted(HALTED, LIFT), "again", "governance/stall", NOW - 1_000_000)
    assert again.halt is not None
    assert again.halt.at_ns > LIFT.halt_ns, "also where a clock was set back"
    assert lifted(again, LIFT) is again


def test_texts_of_others_stay_on_one_line_and_are_bounded() -> None:
    halted = with_halt(SESSION, "a\nb\x1b[2J" + "x" * 5000, "ann\n", NOW)
    assert halted.halt is not None
    assert halted.halt.reason.startswith("a\\nb\\x1b[2J")
    assert len(halted.halt.reason) <= 1000
    assert halted.halt.by == "ann\\n"


@pytest.mark.parametrize(
    ("id", "want"), [("s-1", "s-1"), ("a b", "'a b'"), ("$(rm x)", "'$(rm x)'"), ("a\nb", "'a\\nb'"), ("-x", "-- -x")]
)
def test_the_command_is_ready_to_be_typed(id: str, want: str) -> None:
    assert how_to_lift(id) == f"interpose governance session lift {want}"
    assert how_to_lift(id) in halt_rulings(replace(HALTED, id=id), ToolCall("exec"))[0].instead
