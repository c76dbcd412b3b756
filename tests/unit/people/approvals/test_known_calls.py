"""Which questions are ordinary: those that may be put where we don't see who answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interpose import Context, ToolCall, open_engine
from interpose.core.answers import Approvers
from interpose.core.types import Finding, PermissionRequest
from interpose.people.approvals.known_calls import is_ordinary
from tests.support.servers.servers import config_in

ORDINARY = [
    ("a forced push", "git push --force origin topic"),
    ("a hard reset", "git reset --hard HEAD~3"),
    ("a directory of the project", "rm -rf src"),
    ("a release", "npm publish"),
]
KEPT_HERE = [
    ("a file of secrets", "cat .env"),
    ("a key", "cat ~/.ssh/id_rsa"),
    ("a key beside something ordinary", "git push --force origin topic; cat ~/.ssh/id_rsa"),
    ("a start file of the shell", "echo 'alias ll=ls' >> ~/.bashrc"),
    ("a timer", "crontab new.txt"),
    ("a hook of git", "cp check.sh .git/hooks/pre-commit"),
    ("checks that are left out", "git commit --no-verify -m wip"),
    ("the hooks of an agent", "cp new.json ~/.claude/settings.json"),
    ("keys for another terminal", "tmux send-keys -t 1 y Enter"),
    ("what nobody can read", 'eval "$(cat step.txt)"'),
    ("a shell of root", "sudo -i"),
]


def asked_about(call: ToolCall, tmp_path: Path) -> PermissionRequest:
    seen: list[PermissionRequest] = []

    def keep(request: PermissionRequest) -> bool:
        seen.append(request)
        return False

    open_engine(confirm=keep, config=config_in(tmp_path)).run(call.context).before(call)
    (request,) = seen
    return request


def shell(command: str, **more: Any) -> ToolCall:
    return ToolCall("Bash", {"command": command, **more}, context=Context(cwd="/home/dev/proj", session_id="s1"))


@pytest.mark.parametrize(("note", "command"), ORDINARY, ids=[case[0] for case in ORDINARY])
def test_what_is_ordinary(note: str, command: str, tmp_path: Path) -> None:
    assert is_ordinary(asked_about(shell(command), tmp_path)), note


@pytest.mark.parametrize(("note", "command"), KEPT_HERE, ids=[case[0] for case in KEPT_HERE])
def test_what_is_not(note: str, command: str, tmp_path: Path) -> None:
    assert not is_ordinary(asked_about(shell(command), tmp_path)), note


def test_a_call_that_leaves_its_sandbox_is_not(tmp_path: Path) -> None:
    assert not is_ordinary(asked_about(shell("npm test", dangerouslyDisableSandbox=True), tmp_path))


FINDINGS = [
    ("certain people must agree", Finding(interceptor="x", said="ask", reason="r", approvers=Approvers(count=2))),
    ("a judge", Finding(interceptor="x", said="ask", reason="r", kind="ai")),
    ("a rule that failed", Finding(interceptor="x", said="ask", reason="r", rule="mine:error", kind="cel")),
    ("a rule about guards", Finding(interceptor="x", said="ask", reason="r", rule="org/guard-orders")),
    ("a rule that followed a link", Finding(interceptor="x", said="ask", reason="r", rule="guarded-place")),
]


@pytest.mark.parametrize(("note", "found"), FINDINGS, ids=[case[0] for case in FINDINGS])
def test_who_asks_decides_too(note: str, found: Finding) -> None:
    call = shell("ls")
    ordinary = Finding(interceptor="x", said="ask", reason="r", rule="mine", kind="cel")
    assert is_ordinary(PermissionRequest("?", call, (ordinary,)))
    assert not is_ordinary(PermissionRequest("?", call, (ordinary, found))), note


def test_a_question_about_no_call_or_by_nobody_is_not() -> None:
    assert not is_ordinary(PermissionRequest("?", "a text", ()))
    assert not is_ordinary(PermissionRequest("?", shell("ls"), ()))
