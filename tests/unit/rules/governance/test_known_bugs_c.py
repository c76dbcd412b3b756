"""What the original got wrong about stalls, halts, checkpoints, its log and frontmatter, by its number in the list."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from interpose.core.types import Context, ToolCall, ToolOutcome
from interpose.rules.governance.files.file_model import StallsForm
from interpose.rules.governance.files.frontmatter import with_frontmatter
from interpose.rules.governance.governance_log import GovernanceLog, LogEvent
from interpose.rules.governance.sessions.checkpoints import checkpoints_of, write_checkpoint
from interpose.rules.governance.sessions.halts import halt_rulings, with_halt
from interpose.rules.governance.sessions.sessions import GovernedSession
from interpose.rules.governance.stalls.stalls import reminder_of, stall_rulings, with_stall
from interpose.rules.governance.stalls.step_digests import step_of
from tests.support.governance.governed import after_step
from tests.support.timing.growth import grows_linearly

NOW = 1_794_952_801_000_000_000


def failed(session: GovernedSession, command: str, error: str) -> GovernedSession:
    """A session after a live result, with all that comes of it."""
    call = ToolCall("exec", {"command": command}, context=Context(session_id=session.id))
    session, answer = after_step(StallsForm(), session, step_of(call, ToolOutcome(call, error, is_error=True), "/h"))
    if answer is None:
        return session
    if answer.word == "halt":
        return with_halt(session, answer.reason, "governance/stall", NOW)
    return with_stall(session, answer)


def test_11_an_error_limit_halts_and_is_not_only_logged() -> None:
    session = GovernedSession(id="one")
    for number in range(20):
        session = failed(session, f"cmd {chr(97 + number)}", f"fatal: {chr(97 + number) * 20} is broken")
    assert halt_rulings(session, ToolCall("exec")) == ()
    session = failed(session, "another", "fatal: one more of them broke")
    (ruling,) = halt_rulings(session, ToolCall("exec"))
    assert "21 errors" in ruling.reason


def test_11_detectors_are_fed_by_results_and_a_halt_leaves_a_checkpoint(tmp_path: Path) -> None:
    session = GovernedSession(id="one")
    for _ in range(9):
        session = failed(session, "make", "error: undefined reference to the helper")
    assert session.halt is not None
    write_checkpoint(tmp_path, session, Context())
    ((_, kept),) = checkpoints_of(tmp_path, session="one")
    assert kept.reason == session.halt.reason
    assert [step.end for step in kept.steps] == ["failed"] * 9


def test_11_metrics_are_a_sessions_own() -> None:
    """A new session of the same project begins at zero, and takes nothing from one that goes on."""
    one = GovernedSession(id="one", project="/p")
    for number in range(5):
        one = failed(one, f"cmd {chr(97 + number)}", f"fatal: {chr(97 + number) * 20} is broken")
    other = failed(GovernedSession(id="other", project="/p"), "make", "fatal: it is broken somewhere")
    assert (one.stall.errors, other.stall.errors) == (5, 1)


def test_12_each_level_does_what_it_is_called() -> None:
    """There, the level was read from a field that did not exist, so that nothing ever followed from it."""
    session, seen = GovernedSession(id="one"), []
    for _ in range(9):
        session = failed(session, "make", "error: undefined reference to the helper")
        seen.append((bool(reminder_of(session, "")), bool(stall_rulings(session, "")), session.halt is not None))
    assert seen[2] == (True, False, False)
    assert seen[5] == (False, True, False)
    assert seen[8] == (False, False, True)


def test_14_a_phase_with_dashes_is_found(tmp_path: Path) -> None:
    session = with_halt(GovernedSession(id="a-b-c"), "x", "y", NOW)
    path = write_checkpoint(tmp_path, session, Context(), phase="02-api-and docs")
    write_checkpoint(tmp_path, replace(session, id="a"), Context(), phase="02")
    assert [found for found, _ in checkpoints_of(tmp_path, phase="02-api-and docs")] == [path]
    assert [found for found, _ in checkpoints_of(tmp_path, session="a-b-c")] == [path]


def test_15_an_edit_gets_no_argument_that_it_did_not_have() -> None:
    for name in ("edit", "write"):
        call = ToolCall(
            name, {"file_path": "m/a.md", "old_string": "# A", "new_string": "# B"}, context=Context(cwd="/p")
        )
        made = with_frontmatter(("m/*.md",), call, "s", "a", lambda _path: "# A\n", NOW)
        assert made is None or set(made.arguments) == set(call.arguments)
        assert "content" not in (made or call).arguments


def test_the_third_archive_of_the_log_is_there(tmp_path: Path) -> None:
    log = GovernanceLog(tmp_path / "g.log", max_bytes=100, archives=3)
    for _ in range(20):
        log.write(LogEvent(at_ns=NOW, word="deny", text="x" * 40))
    log.close()
    assert (tmp_path / "g.log.3").is_file()
    assert not (tmp_path / "g.log.4").exists()


def test_a_line_of_the_log_costs_the_same_however_long_the_log_is(tmp_path: Path) -> None:
    def work(lines: int) -> None:
        log = GovernanceLog(tmp_path / f"{lines}.log", max_bytes=1 << 30)
        for _ in range(lines):
            log.write(LogEvent(at_ns=NOW, word="deny", text="x" * 40))
        log.close()

    assert grows_linearly(work, 1000)


def test_state_survives_a_restart_whole() -> None:
    session = failed(GovernedSession(id="one"), "make", "error: undefined reference to the helper")
    assert msgspec.json.decode(msgspec.json.encode(session), type=GovernedSession) == session
