"""Which agents should be heard of, for the overview: those with hooks here, and what keeps them from asking."""

from __future__ import annotations

import os
from pathlib import Path
from time import time_ns

import pytest

from interpose.composition.build import open_service
from interpose.core.config.load import load
from interpose.core.platforms.linux import process_table as processes
from interpose.core.types import Context, ToolCall
from interpose.doors.server import agents_heard as looking
from interpose.doors.server.agents_heard import AgentsHeard, agents_heard
from tests.unit.doors.hooks.install.homes import installed, new_home, target

SESSION = "5f0c2a11-7f1e-4a53-9d43-0a63f6a0d111"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(processes, "PROC", tmp_path / "no-processes")
    return new_home(tmp_path / "home", monkeypatch)


def test_agents_with_hooks_and_when_they_were_heard_of(home: Path) -> None:
    with open_service(load().config, follow=False) as service:
        assert agents_heard(service.store) == ()
        installed(target("claude-code"))
        (agent,) = agents_heard(service.store)
        assert (agent.name, agent.title, agent.heard, agent.warnings) == ("claude-code", "Claude Code", None, ())
        context = Context(session_id="s", source="hook:claude-code")
        service.run(context).before(ToolCall("exec", {"command": "ls"}, context=context))
        service.ledger.flush()
        (agent,) = agents_heard(service.store)
        assert agent.heard is not None
        assert abs(agent.heard.timestamp() * 1e9 - time_ns()) < 3600e9


def test_an_agent_that_works_without_asking_is_said(home: Path) -> None:
    installed(target("claude-code"))
    transcript = home / ".claude" / "projects" / "-p" / f"{SESSION}.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_text("{}\n", encoding="utf-8")
    later = time_ns() + 60 * 10**9
    os.utime(transcript, ns=(later, later))
    with open_service(load().config, follow=False) as service, pytest.MonkeyPatch.context() as clock:
        clock.setattr("interpose.doors.hooks.install.unheard_sessions.time_ns", lambda: later + 3600 * 10**9)
        (agent,) = agents_heard(service.store)
    assert any(SESSION in warning for warning in agent.warnings)


def test_a_configuration_that_broke_meanwhile_is_said(home: Path) -> None:
    with open_service(load().config, follow=False) as service:
        (home / ".config" / "interpose").mkdir(parents=True, exist_ok=True)
        (home / ".config" / "interpose" / "interpose.yaml").write_text("nope: 1\n", encoding="utf-8")
        (told,) = agents_heard(service.store)
        assert "nope" in told.warnings[0]


def test_a_look_is_good_for_a_moment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []

    def look(store: object) -> tuple[()]:
        looks.append(store)
        return ()

    monkeypatch.setattr(looking, "agents_heard", look)
    now = [100.0]
    monkeypatch.setattr(looking, "monotonic", lambda: now[0])
    with open_service(load().config, follow=False) as service:
        heard = AgentsHeard(service.store)
        assert heard() == heard() == ()
        assert len(looks) == 1
        now[0] += looking.FRESH_SECONDS + 1
        heard()
        assert len(looks) == 2
