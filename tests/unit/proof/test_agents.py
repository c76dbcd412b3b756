"""Which of a hook's ancestors is the agent."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from interpose.proof.agents import MOST_KNOWN, SeenAgent, SeenAgents, agent_above
from interpose.proof.processes import Process, ancestry, process, ticks_now
from interpose.proof.terminal import start_of

TTY = 34817


def one(name: str, pid: int, *, leads: bool = False, parent: int = 2) -> Process:
    return Process(
        pid=pid, start=pid, parent=parent, group=pid, session=pid if leads else 1, terminal=TTY, foreground=pid,
        name=name,
    )  # fmt: skip


INIT = one("systemd", 1, parent=0)
CASES: list[tuple[str, list[Process], str | None]] = [
    ("a shell between", [one("hook", 9), one("sh", 8), one("claude", 7), one("bash", 6, leads=True), INIT], "claude"),
    ("no name that is known", [one("hook", 9), one("node", 7), one("zsh", 6, leads=True), INIT], "node"),
    ("a wrapper around it", [one("hook", 9), one("node", 7), one("sh", 5), one("bash", 4, leads=True), INIT], "sh"),
    ("it leads its terminal itself", [one("hook", 9), one("codex", 7, leads=True), one("tmux: server", 3)], "codex"),
    ("a service", [one("hook", 9), one("python", 7), INIT], "python"),
    (
        "in an editor's terminal",
        [one("hook", 9), one("claude", 7), one("zsh", 6, leads=True), one("code", 4)],
        "claude",
    ),
    ("the editor is the agent", [one("hook", 9), one("cursor", 7), one("cursor", 6), INIT], "cursor"),
    ("a person tries a hook out", [one("hook", 9), one("bash", 6, leads=True), INIT], None),
]


@pytest.mark.parametrize(("note", "chain", "want"), CASES, ids=[case[0] for case in CASES])
def test_the_agent_is_found(note: str, chain: list[Process], want: str | None) -> None:
    found = agent_above(chain)
    assert (None if found is None else found.name) == want, note


def test_an_agent_is_known_to_the_next_server_and_as_long_as_it_may_have_worked(tmp_path: Path) -> None:
    agents = SeenAgents(tmp_path / "agents")
    agents.heard(os.getpid())
    known = agents.among(ancestry(os.getpid()))
    me = process(os.getpid())
    assert me is not None
    assert known is not None
    for later in (agents, SeenAgents(tmp_path / "agents")):
        assert later.among(ancestry(os.getpid())) is not None
        assert later.working_at(me.start) is not None
        assert later.working_at(known.start - 1) is None
    agents.heard(0)
    agents.heard(1 << 22)


def test_what_an_agent_left_behind_is_not_older_than_the_agent() -> None:
    """Also if it was started after the agent was last heard of, and the agent is gone."""
    with subprocess.Popen(["sleep", "60"]) as program:
        agents, first = SeenAgents(), ticks_now()
        agents._remember(SeenAgent(program.pid, start_of(program.pid), first, "agent"))
        while (later := ticks_now()) <= first:
            pass
        program.kill()
    assert agents.working_at(later) is not None
    while (after := ticks_now()) <= later + 1:
        pass
    assert agents.working_at(after) is None, "what comes after it is nobody's"


def test_an_agent_can_not_make_us_forget_another() -> None:
    with subprocess.Popen(["sleep", "60"]) as program:
        agents, now = SeenAgents(), ticks_now()
        agents._remember(SeenAgent(program.pid, start_of(program.pid), now, "agent"))
        for number in range(MOST_KNOWN + 50):
            agents._remember(SeenAgent(2**30 + number, now, now, "other"))
        assert agents.among([found]) if (found := process(program.pid)) else False
        assert not agents.crowded
        program.kill()
    assert agents.working_at(now) is not None


def test_more_living_agents_than_are_watched_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpose.proof.agents.MOST_KNOWN", 1)
    agents = SeenAgents()
    with subprocess.Popen(["sleep", "60"]) as one, subprocess.Popen(["sleep", "60"]) as other:
        for program in (one, other):
            agents._remember(SeenAgent(program.pid, start_of(program.pid), ticks_now(), "agent"))
        one.kill()
        other.kill()
    assert agents.crowded
