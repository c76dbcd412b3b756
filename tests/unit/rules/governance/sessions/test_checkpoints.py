"""Checkpoints of halted sessions: whole, private, bounded, and found by what stands in them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from interpose.core.types import Context
from interpose.rules.governance.files.git_head import git_head
from interpose.rules.governance.sessions import checkpoints
from interpose.rules.governance.sessions.checkpoints import (
    MOST_BYTES,
    checkpoints_of,
    read_checkpoint,
    write_checkpoint,
)
from interpose.rules.governance.sessions.halts import with_halt
from interpose.rules.governance.sessions.sessions import (
    AgentNode,
    Delegation,
    GovernedSession,
    SeenStep,
    SeenViolation,
    SessionCounts,
)

NOW = 1_794_952_801_000_000_000
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SESSION = with_halt(
    GovernedSession(
        id="s-12", state="active", host="claude-code", counts=SessionCounts(calls=9, errors=3),
        agents=(AgentNode(name="main"), AgentNode(id="a1", name="worker", depth=1)),
        delegations=(Delegation(id="d1", target="worker"),),
        steps=(SeenStep(tool="exec", exact="e", error="x"), SeenStep(tool="write", denied=True), SeenStep(tool="read")),
        violations=(SeenViolation(at_ns=NOW, call_id="c", agent="", role="r", tool="write", rule="x", said="deny"),),
    ),
    "the same error 9 times", "governance/stall", NOW,
)  # fmt: skip


def test_what_stands_in_it(tmp_path: Path) -> None:
    (tmp_path / "git" / ".git").mkdir(parents=True)
    (tmp_path / "git" / ".git" / "HEAD").write_text(COMMIT)
    path = write_checkpoint(tmp_path / "kept", SESSION, Context(agent_id="a1", cwd=str(tmp_path / "git" / "src")))
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    told = json.loads(path.read_text())
    assert (told["session"], told["reason"], told["by"]) == ("s-12", "the same error 9 times", "governance/stall")
    assert (told["at"], told["git_head"], told["agent"]) == ("2026-11-17T22:00:01Z", COMMIT, "a1")
    assert told["counts"]["errors"] == 3
    assert [step["end"] for step in told["steps"]] == ["failed", "denied", "done"]
    assert [agent["name"] for agent in told["agents"]] == ["main", "worker"]
    assert told["delegations"][0]["target"] == "worker"
    assert told["violations"][0]["tool"] == "write"
    assert sorted(name.name for name in (tmp_path / "kept").iterdir()) == [path.name], "no draft is left behind"
    assert read_checkpoint(path) is not None


@pytest.mark.parametrize(
    "name", ["plain", "with-dashes-2", "a b/c", "../../up", "", "checkpoint-01", "\x00\n", "x" * 5000]
)
def test_sessions_and_phases_of_any_name_are_found_again(tmp_path: Path, name: str) -> None:
    session = replace(SESSION, id=name or "s")
    path = write_checkpoint(tmp_path, session, Context(), phase=name)
    assert path.parent == tmp_path
    write_checkpoint(tmp_path, replace(SESSION, id="another"), Context(), phase="another")
    assert [found for found, _ in checkpoints_of(tmp_path, session=session.id)] == [path]
    if name:
        assert [found for found, _ in checkpoints_of(tmp_path, phase=name)] == [path]


def test_what_agents_named_is_no_place_for_secrets(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    agents, work = (AgentNode(id="a", name=secret),), (Delegation(id="d", target=secret),)
    running = replace(SESSION, halt=None, agents=agents, delegations=work)
    session = with_halt(running, f"it sent {secret}", "ann", NOW)
    told = write_checkpoint(tmp_path, session, Context()).read_text(encoding="utf-8")
    assert "it sent" in told
    assert secret not in told


def test_one_that_is_broken_hides_no_other(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path, SESSION, Context())
    for name, text in (("a", b""), ("b", b"{"), ("c", b"[]"), ("d", b"\xff" * 100)):
        (tmp_path / f"checkpoint-2099{name}.json").write_bytes(text)
    (tmp_path / "checkpoint-3000.json").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "checkpoint-3001.json")
    assert [found for found, _ in checkpoints_of(tmp_path)] == [path]
    assert checkpoints_of(tmp_path / "none") == []


def test_the_newest_first_and_old_ones_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "MOST_KEPT", 3)
    assert SESSION.halt is not None
    for second in range(6):
        halt = replace(SESSION.halt, at_ns=NOW + second * 1_000_000_000)
        write_checkpoint(tmp_path, replace(SESSION, halt=halt), Context())
    assert [made.at_ns - NOW for _, made in checkpoints_of(tmp_path)] == [5_000_000_000, 4_000_000_000, 3_000_000_000]


def test_names_without_end_make_no_file_without_end(tmp_path: Path) -> None:
    agents = tuple(AgentNode(id=f"{number}" + "x" * 50_000) for number in range(100))
    path = write_checkpoint(tmp_path, replace(SESSION, agents=agents), Context(cwd="x" * 100_000))
    assert path.stat().st_size <= MOST_BYTES
    assert read_checkpoint(path) is not None


def test_where_it_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        write_checkpoint(tmp_path / "file", SESSION, Context())


# --- the commit ---


def repository(place: Path, head: str) -> Path:
    git = place / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text(head)
    return git


def test_a_branch_a_packed_branch_and_a_worktree(tmp_path: Path) -> None:
    git = repository(tmp_path, "ref: refs/heads/main\n")
    assert git_head(str(tmp_path)) == ""
    (git / "packed-refs").write_text(f"# pack-refs\n{COMMIT} refs/heads/main\n")
    assert git_head(str(tmp_path / "deep" / "er")) == COMMIT
    other = COMMIT[::-1]
    (git / "refs" / "heads" / "main").write_text(f"{other}\n")
    assert git_head(str(tmp_path)) == other
    tree = git / "worktrees" / "w"
    tree.mkdir(parents=True)
    (tree / "HEAD").write_text("ref: refs/heads/main")
    (tree / "commondir").write_text("../..")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {tree}\n")
    assert git_head(str(tmp_path / "w")) == other


HOSTILE_HEADS = [
    "ref: ../../../etc/passwd", "ref: refs/../../secret", "root:x:0:0", "ref: refs/heads/\0", "", "ref: ", "z" * 40,
]  # fmt: skip


@pytest.mark.parametrize("head", HOSTILE_HEADS)
def test_nothing_but_a_commit_is_ever_told(tmp_path: Path, head: str) -> None:
    (tmp_path / "secret").write_text("password")
    repository(tmp_path, head)
    assert git_head(str(tmp_path)) == ""


def test_what_is_no_file_holds_nobody_up(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    git.mkdir()
    os.mkfifo(git / "HEAD")
    assert git_head(str(tmp_path)) == ""
    assert git_head("relative") == ""
    assert git_head("/" + "x/" * 5000) == ""
    assert git_head("/a\0b") == ""
