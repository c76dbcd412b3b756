"""Seed 003, sentence by sentence: sessions, what is counted in them, and stalls. Each through a real door."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interpose.composition.service.service import Service
from interpose.record.ledger import search
from interpose.record.store.protocols import Query
from tests.support.governance.governed_agents import Claude, opened, text_of_reply
from tests.support.governance.seeded_sessions import FILE, READ, TASK, age, kept, log_of, refused
from tests.support.servers.servers import Running, bearer

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
    age(service, hours=0.5)
    states += shown_states(server)
    age(service, hours=1.5)
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


def launch(claude: Claude, kind: str, part: str) -> int:
    """An agent in the background, as Claude Code starts each of them unless its model wants to wait. Its number."""
    task = TASK | {"subagent_type": kind, "prompt": f"work on {part}"}
    assert claude.before("Task", task)[0] == ""
    number = claude._calls
    launched = {"isAsync": True, "status": "async_launched", "agentId": f"agent-{number}", "prompt": task["prompt"]}
    claude.after("Task", task, launched)
    claude.event("SubagentStart", agent_id=f"agent-{number}", agent_type=kind)
    return number


def hand_back(claude: Claude, kind: str, number: int, answer: str) -> None:
    """It answers and stops. The host tells the agent that started it, and drops what a hook says beside that."""
    stops = {"agent_id": f"agent-{number}", "agent_type": kind, "stop_hook_active": False}
    assert claude.event("SubagentStop", last_assistant_message=answer, **stops) == {}
    told = f"<task-notification>\n<task-id>agent-{number}</task-id>\n<result>{answer}</result>\n</task-notification>"
    assert claude.event("UserPromptSubmit", prompt=told) == {}


@pytest.mark.parametrize("again", [False, True], ids=["told once", "read once more"])
@pytest.mark.parametrize(
    ("answer", "told", "rounds"),
    [(REVIEW, "The checker found the same issues", 4),
     ("Verdict: FAIL\n- no tests", "The validator reported the same 3 times", 3)],
)  # fmt: skip
def test_stalls_of_agents_in_the_background(
    claude: Claude, answer: str, told: str, rounds: int, *, again: bool
) -> None:
    """The same, where the call was answered before its agent: what that answers is heard when it stops, and counts
    once, also if it is read once more."""
    claude.use(*READ)
    heard = []
    for part in ("auth", "billing", "cache", "database")[:rounds]:
        number = launch(claude, "validator", part)
        hand_back(claude, "validator", number, answer)
        said = {"result": answer} if again else {"status": "running"}
        read = claude.after("TaskOutput", {"task_id": f"agent-{number}"}, said, key=900 + number)
        claude.before("Grep", {"pattern": part})
        after = claude.after("Grep", {"pattern": part}, [f"{part}.py"])
        heard.append(read.get("additionalContext", "") + after.get("additionalContext", ""))
    assert heard[:-1] == [""] * (rounds - 1)
    assert told in heard[-1]


def test_an_agent_that_was_waited_for_counts_once(claude: Claude) -> None:
    """Claude Code says that it stopped, and then gives its answer as the result of the call."""
    claude.use(*READ)
    for part in ("auth", "billing", "cache"):
        task = TASK | {"subagent_type": "validator", "prompt": f"check {part}"}
        assert claude.before("Task", task)[0] == ""
        number, who = claude._calls, {"agent_id": f"agent-{part}", "agent_type": "validator"}
        claude.event("SubagentStart", **who)
        claude.event("SubagentStop", last_assistant_message=REVIEW, **who)
        result = {"status": "completed", "agentId": f"agent-{part}", "content": [{"type": "text", "text": REVIEW}]}
        assert claude.after("Task", task, result, key=number) == {}
        claude.use("Grep", {"pattern": part}, [f"{part}.py"])


@pytest.mark.parametrize(
    ("answer", "act", "state"),
    [("Done. All tests pass.", "task-done", "done"), ("It failed with an error", "task-failed", "failed")],
)
def test_work_in_the_background_is_over_when_its_agent_stops(
    service: Service, claude: Claude, answer: str, act: str, state: str
) -> None:
    """`Task outcome recording`: what was only launched is neither done nor failed."""
    claude.use(*READ)
    number = launch(claude, "builder", "auth")
    assert [one.state for one in kept(service).delegations] == ["working"]
    service.ledger.flush()
    assert search(service.store, Query(tool="governance"), 5) == []
    hand_back(claude, "builder", number, answer)
    assert [one.state for one in kept(service).delegations] == [state]
    service.ledger.flush()
    [record] = search(service.store, Query(tool="governance"), 5)
    assert isinstance(record.arguments, dict)
    assert record.arguments["act"] == act


def test_work_in_the_background_that_is_over_leaves_room(tmp_path: Path) -> None:
    """`Delegation tracking`: as many at the same time as the role may have, and no fewer afterwards."""
    rules = "delegates: {to: [builder, validator], at_once: 1}"
    with opened(tmp_path, FILE.replace("delegates: {to: [builder, validator]}", rules)) as service:
        claude = Claude(service, tmp_path)
        claude.use(*READ)
        number = launch(claude, "builder", "auth")
        assert "at the same time" in claude.before("Task", TASK)[1]
        hand_back(claude, "builder", number, "Done.")
        launch(claude, "builder", "billing")


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
