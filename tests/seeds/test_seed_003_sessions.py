"""Seed 003, sentence by sentence: sessions, what is counted in them, and stalls. Each through a real door."""

from __future__ import annotations

import json
from pathlib import Path

from interpose.service.service import Service
from tests.governed_agents import Claude, opened, text_of_reply
from tests.seeded_sessions import FILE, READ, TASK, age, kept, log_of, refused
from tests.servers import Running, bearer

# --- Sessions ---------------------------------------------------------------------------------------------------------


def shown_states(server: Running) -> list[str]:
    rows = server.ask("GET", "/api/v1/sessions", headers=bearer("auditor")).json["sessions"]
    return [row["governed"]["state"] for row in rows if row["id"] == "s-1"]


def test_session_states(service: Service, server: Running, claude: Claude) -> None:
    """`Session states and transitions: Beginning, compacted, between-turn, interrupted, resumed.`"""
    claude.event("SessionStart", source="startup")
    states = shown_states(server)
    claude.use(*READ)
    states += shown_states(server)
    claude.event("PreCompact", trigger="auto")
    states += shown_states(server)
    claude.use(*READ)
    claude.event("Stop")
    states += shown_states(server)
    age(service, hours=2)
    states += shown_states(server)
    by_state = server.ask("GET", "/api/v1/sessions?state=interrupted", headers=bearer("auditor")).json["sessions"]
    assert [row["id"] for row in by_state] == ["s-1"]
    told = text_of_reply(claude.event("UserPromptSubmit", prompt="go on"))
    assert "This session goes on after" in told, "resumed with context"
    states += shown_states(server)
    claude.event("SessionEnd", reason="exit")
    assert [*states, *shown_states(server)] == [
        "created", "active", "compacted", "idle", "interrupted", "resumed", "ended",
    ]  # fmt: skip


def test_a_session_that_was_long_away_begins_anew(service: Service, claude: Claude) -> None:
    """`Resumed -> Beginning: "fresh start"`"""
    claude.use(*READ)
    age(service, hours=49)
    assert text_of_reply(claude.event("UserPromptSubmit", prompt="hello")).startswith("Interpose governs this session.")
    assert (kept(service).state, kept(service).counts.calls) == ("created", 0)


def test_metadata_persists(tmp_path: Path) -> None:
    """`storeSessionMetadata/loadSessionMetadata: Persist session metadata across resumptions.`
    `SessionTracker: per-session state (first tool usage, agent role, violation count, metadata).`"""
    with opened(tmp_path, FILE) as one:
        refused(Claude(one, tmp_path))
    with opened(tmp_path) as other:
        shown = kept(other)
        assert (shown.counts.calls, shown.counts.violations, shown.host) == (2, 1, "claude-code")
        assert [agent.role for agent in shown.agents] == ["lead"]
        assert Claude(other, tmp_path).before("Task", TASK)[0] == "", "the first tool was used"


# --- Metrics and stalls -----------------------------------------------------------------------------------------------


def test_errors_have_a_limit(tmp_path: Path) -> None:
    """`trackError/checkLimits: Error accumulation and limits.` `emergency halt`"""
    with opened(tmp_path, FILE.replace("errors: 20", "errors: 2")) as service:
        claude = Claude(service, tmp_path)
        claude.use(*READ)
        for number in range(3):
            arguments = {"pattern": f"p{number}"}
            claude.before("Grep", arguments)
            claude.event(
                "PostToolUseFailure", tool_name="Grep", tool_input=arguments, tool_use_id=f"toolu_{claude._calls}",
                error=f"rg: regex parse error: {'abc'[number]} is unbalanced here",
            )  # fmt: skip
        assert "governance/halt" in claude.before("Task", TASK)[1]
        assert claude.before(*READ)[0] == "", "reading passes a halt"
        shown = kept(service)
        assert shown.state == "halted"
        [checkpoint] = shown.checkpoints
        assert json.loads(Path(checkpoint.path).read_text())["counts"]["errors"] == 3


REVIEW = "Review:\n- no tests\n- no rollback\n\nScore: 4/10"


def test_planner_checker_stall(claude: Claude) -> None:
    """`detectPlannerCheckerStall`: the same issues, and no better score, in what Claude Code's Task gives back."""
    claude.use(*READ)
    told = []
    for word in ("auth", "billing", "cache", "database"):
        claude.use("Grep", {"pattern": word}, [f"{word}.py"])
        task = TASK | {"subagent_type": "validator", "prompt": f"check the plan of {word}"}
        assert claude.before("Task", task)[0] == ""
        result = {"status": "completed", "prompt": "check", "content": [{"type": "text", "text": REVIEW}]}
        told.append(claude.after("Task", task, result).get("additionalContext", ""))
    assert told[:3] == ["", "", ""]
    assert "The checker found the same issues" in told[3]


def test_validator_fix_stall(service: Service, claude: Claude, tmp_path: Path) -> None:
    """`detectValidatorFixStall`: a validator that reports the same thrice, whatever was done in between."""
    claude.use(*READ)
    told = []
    for word in ("auth", "billing", "cache"):
        claude.use("Grep", {"pattern": word}, [f"{word}.py"])
        assert claude.before("idumb-validate", {"after": word})[0] == ""
        report = {"valid": False, "violations": [{"message": "no id", "location": "a.md:1"}], "after": word}
        told.append(claude.after("idumb-validate", {"after": word}, report).get("additionalContext", ""))
    assert told[:2] == ["", ""]
    assert "The validator reported the same 3 times" in told[2]
    assert "governance/stall/validator-fix" in log_of(tmp_path, service)


def test_a_loop_that_nobody_answers_about_is_halted(service: Service, claude: Claude) -> None:
    """`emergency halt`: reminded at 2, asked about at 4; two questions that nobody answers are the next step."""
    claude.use(*READ)
    decisions: list[str] = []
    for _ in range(7):
        said = claude.event(
            "PreToolUse", tool_name="Grep", tool_input={"pattern": "x"}, tool_use_id=f"toolu_g{len(decisions)}",
            permission_mode="dontAsk",
        ).get("hookSpecificOutput", {})  # fmt: skip
        decisions.append(said.get("permissionDecisionReason", "") if said else "")
        if not said:
            claude.after("Grep", {"pattern": "x"}, ["a.py"], key=10 + len(decisions))
    assert decisions[:4] == [""] * 4
    assert "A person must agree first" in decisions[4]
    assert "governance/halt" in decisions[5]
    assert "none answered" in decisions[5]
    assert decisions[6] == "", "reading passes a halt"
    assert kept(service).state == "halted"


def test_an_approved_loop_goes_on(service: Service, claude: Claude) -> None:
    """A person who looks at it and agrees begins the count anew."""
    claude.use(*READ)
    for _ in range(4):
        claude.use("Grep", {"pattern": "x"}, ["a.py"])
    for _ in range(6):
        decision, _ = claude.before("Grep", {"pattern": "x"})
        if decision == "ask":
            claude.event("PermissionRequest", tool_name="Grep", tool_input={"pattern": "x"}, permission_mode="default")
        claude.after("Grep", {"pattern": "x"}, ["a.py"])
    assert kept(service).halt is None
