"""What people say to agents beside a yes or a no, and calls that they edited, as hosts are told of them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from interpose.core.answers import Approved, Edited, Pending
from interpose.core.driving import drive
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.event_answer import answer
from interpose.doors.hooks.hosts.events import Reply
from tests.support.servers.hosting import Scripted

CLAUDE = {"session_id": "s1", "cwd": "/work", "permission_mode": "bypassPermissions", "tool_name": "Bash",
          "tool_input": {"command": "git push"}, "tool_use_id": "t1"}  # fmt: skip
WINDSURF = {"agent_action_name": "pre_run_command", "trajectory_id": "s1", "execution_id": "t1",
            "tool_info": {"command_line": "git push", "cwd": "/work"}}  # fmt: skip


def before(service: Scripted, host: str = "claude-code", raw: dict[str, Any] | None = None) -> Reply:
    event = raw or {**CLAUDE, "hook_event_name": "PreToolUse"}
    return drive(answer(service, HOSTS[host], json.dumps(event).encode()))


def after(service: Scripted, **more: Any) -> Reply:
    event = {**CLAUDE, "hook_event_name": "PostToolUse", "tool_response": {"stdout": "done"}, **more}
    return drive(answer(service, HOSTS["claude-code"], json.dumps(event).encode()))


def said(reply: Reply) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(reply.stdout)
    return told


def asking(answer: Approved | Pending | Edited) -> Scripted:
    service = Scripted(ask="queue")
    service.verdict, service.queue.answer = "ask", answer
    return service


def test_a_word_with_a_yes_stands_beside_the_result_once() -> None:
    service = asking(Approved("grant:k3m9 of ann", "only this branch"))
    assert before(service) == Reply()
    service.verdict = "allow"
    told = said(after(service))["hookSpecificOutput"]
    assert told["additionalContext"] == "ann says about this call: only this branch"
    assert after(service) == Reply()


def test_an_answer_that_came_later_stands_beside_the_next_result() -> None:
    service = asking(Pending("K3M9QX2A"))
    before(service)
    service.verdict = "allow"
    texts = {"s1": "Question k3m9 about exec was approved by ann: make the same call again."}
    service.queue.news = SimpleNamespace(take=lambda _source, session: texts.pop(session, ""))
    other = {"tool_use_id": "t2", "tool_input": {"command": "ls"}}
    assert said(after(service, **other))["hookSpecificOutput"]["additionalContext"].startswith("Question k3m9")
    assert after(service, **other) == Reply()


def test_somebody_who_will_answer_later_says_so_to_the_agent() -> None:
    word = "ann will answer this later. Go on with other work, and make the same call again then. ann says: after lunch"
    reason = said(before(asking(Pending("K3M9QX2A", word))))["hookSpecificOutput"]["permissionDecisionReason"]
    assert reason.endswith(f"The question waits as K3M9QX2A. {word}")
    assert "interpose approvals approve" not in reason


def test_an_edited_call_runs_where_the_host_can_change_it() -> None:
    told = said(before(asking(Edited({"command": "git push --dry-run"}, "ann", "K3M9QX2A"))))["hookSpecificOutput"]
    assert (told["permissionDecision"], told["updatedInput"]) == ("allow", {"command": "git push --dry-run"})
    assert "ann edited this call and agreed to it" in told["permissionDecisionReason"]


def test_and_is_shown_where_it_can_not() -> None:
    refused = before(asking(Edited({"command": "git push\n--dry-run"}, "ann")), "windsurf", WINDSURF)
    assert refused.exit_code == 2
    assert "ann agreed to another call than this one. Windsurf can't change this call" in refused.stderr
    assert refused.stderr.endswith("make this one instead: git push --dry-run")


def test_what_a_pause_let_through_is_told_to_the_person() -> None:
    told = said(before(asking(Approved("pause:p1 of ann"))))
    assert told["systemMessage"].startswith("Interpose let this through although it would have asked: Really?")
    assert "pause:p1 of ann" in told["systemMessage"]
    assert "hookSpecificOutput" not in told, "it says nothing about the host's own permissions"


def test_a_session_that_starts_in_a_pause_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Scripted()
    monkeypatch.setattr(service, "paused", lambda: "Interpose is paused until 10:00 UTC by ann")
    event = {"session_id": "s1", "cwd": "/work", "hook_event_name": "SessionStart", "source": "startup"}
    reply = drive(answer(service, HOSTS["claude-code"], json.dumps(event).encode()))
    assert said(reply)["systemMessage"] == "Interpose is paused until 10:00 UTC by ann"
