"""Which of a hook's ancestors is the agent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from interpose.core.platforms.processes import process, ticks_now
from interpose.people.presence.agents import MOST_KNOWN, SeenAgent, SeenAgents, agent_above
from interpose.people.presence.processes import ancestry
from interpose.people.presence.terminal import start_of
from tests.unit.people.presence.machines import TTY, USER, Machine

SHELL = "/usr/bin/bash"
Chain = tuple[tuple[str, str], ...]
CASES: list[tuple[str, Chain, str | None]] = [
    ("a shell between", (("leads", SHELL), ("", "/opt/claude"), ("", "/usr/bin/sh"), ("", "hook")), "claude"),
    ("no name that is known", (("leads", "/usr/bin/zsh"), ("", "/usr/bin/node"), ("", "hook")), "node"),
    ("a wrapper around it", (("leads", SHELL), ("", "/usr/bin/sh"), ("", "/usr/bin/node"), ("", "hook")), "sh"),
    ("it leads its terminal itself", (("", "/usr/bin/tmux"), ("leads", "/opt/codex"), ("", "hook")), "codex"),
    ("a service", (("", "/usr/bin/python3"), ("", "hook")), "python3"),
    (
        "in an editor's terminal",
        (("", "/usr/share/code/code"), ("leads", "/usr/bin/zsh"), ("", "/opt/claude"), ("", "hook")),
        "claude",
    ),
    ("the editor is the agent", (("", "/usr/share/cursor"), ("", "/usr/share/cursor"), ("", "hook")), "cursor"),
    ("a person tries a hook out", (("leads", SHELL), ("", "hook")), None),
    ("a user's service manager", (("", "/usr/lib/systemd/systemd"), ("", "/opt/agent"), ("", "hook")), "agent"),
    ("a login", (("root", "sshd"), ("", "/opt/agent"), ("", "hook")), "agent"),
    # A name is nothing.
    ("it calls itself systemd", (("systemd", "/tmp/evil"), ("", "/usr/bin/sh"), ("", "hook")), "systemd"),
    ("its program is called systemd", (("", "/tmp/systemd"), ("", "/usr/bin/sh"), ("", "hook")), "systemd"),
    ("it calls itself bash", (("leads bash", "/tmp/evil"), ("", "/opt/agent"), ("", "hook")), "bash"),
    ("it calls itself tmux", (("tmux: server", "/tmp/evil"), ("", "/opt/agent"), ("", "hook")), "tmux: server"),
    ("it calls itself sshd", (("sshd", "/tmp/evil"), ("", "/opt/agent"), ("", "hook")), "sshd"),
    ("it calls itself code", (("code", "/tmp/evil"), ("", "/opt/agent"), ("", "hook")), "code"),
]


@pytest.mark.parametrize(("note", "programs", "want"), CASES, ids=[case[0] for case in CASES])
def test_the_agent_is_found(machine: Machine, note: str, programs: Chain, want: str | None) -> None:
    pid = 1
    for what, program in programs:
        leads, name = what.startswith("leads"), what.removeprefix("leads").strip()
        machine.add(
            pid + 1, pid, program, name="sshd" if name == "root" else name, terminal=TTY if leads else 0,
            uid=0 if name == "root" else USER, session=pid + 1 if leads else 1,
        )  # fmt: skip
        pid += 1
    found = agent_above(ancestry(pid))
    assert (None if found is None else found.name) == want, note


def test_a_service_manager_is_older_than_every_agent(machine: Machine) -> None:
    machine.add(50, 1, "/usr/lib/systemd/systemd", start=500)
    machine.add(51, 50, "/opt/helper")
    machine.add(52, 51, "/opt/hook")
    old, young = agent_above(ancestry(52), oldest=501), agent_above(ancestry(52), oldest=499)
    assert (old and old.pid, young and young.pid) == (51, 50)


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
    found = agents.working_at(later)
    assert found is not None
    while (after := ticks_now()) <= found.alive:
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
    monkeypatch.setattr("interpose.people.presence.agents.MOST_KNOWN", 1)
    agents = SeenAgents()
    with subprocess.Popen(["sleep", "60"]) as one, subprocess.Popen(["sleep", "60"]) as other:
        for program in (one, other):
            agents._remember(SeenAgent(program.pid, start_of(program.pid), ticks_now(), "agent"))
        one.kill()
        other.kill()
    assert agents.crowded


DOCTORS = [
    ("a person's doctor", "", {}, ("-m", "interpose", "doctor"), None),
    ("another command of ours", "", {}, ("-m", "interpose", "status"), "python"),
    ("an agent's doctor by its name", "/opt/claude", {}, ("-m", "interpose", "doctor"), "python"),
    ("an agent's doctor by its mark", "", {"CLAUDECODE": "1"}, ("-m", "interpose", "doctor"), "python"),
    ("a program that says it in its arguments", "", {}, ("evil.py", "-m", "interpose", "doctor"), "python"),
]


@pytest.mark.parametrize(("note", "above", "marks", "command", "want"), DOCTORS, ids=[case[0] for case in DOCTORS])
def test_a_persons_doctor_is_no_agent(
    machine: Machine, note: str, above: str, marks: dict[str, str], command: tuple[str, ...], want: str | None
) -> None:
    machine.add(50, 1, above or "/usr/bin/kitty")
    machine.add(100, 50, SHELL, terminal=TTY, environment=marks)
    machine.add(200, 100, os.path.realpath(sys.executable), terminal=TTY, session=100, command=command, name="python")
    machine.add(300, 200, "/usr/bin/bash", terminal=TTY, session=100, name="hook")
    agents = SeenAgents()
    agents.heard(300)
    found = agents.among(ancestry(300))
    assert (None if found is None else found.name) == want, note


def test_a_doctor_of_a_known_agent_is_the_agents(machine: Machine) -> None:
    machine.add(50, 1, "/opt/agent")
    machine.add(100, 50, SHELL, terminal=TTY)
    machine.add(200, 100, os.path.realpath(sys.executable), session=100, command=("-m", "interpose", "doctor"))
    machine.add(300, 200, "/usr/bin/bash", terminal=TTY, session=100)
    agents = SeenAgents()
    agents._remember(SeenAgent(50, 50, ticks_now(), "agent"))
    agents.heard(300)
    assert (200, 200) in agents._known
