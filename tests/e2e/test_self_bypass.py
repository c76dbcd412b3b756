"""An agent that tries to let its own commands pass, against a real server and real terminals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import ServerProcess
from tests.e2e.terminals import interpose
from tests.e2e.trying_agents import agent_in, orphan, terminal

GIVE = ("command", "bypass", "deploy", "--reason", "please")
GOVERNANCE = """\
version: 1
unknown_role: allow
chains:
  rules:
    - {id: BUILT, command: deploy, must_before: [{exists: BUILD, how: run /build}]}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    settings = tmp_path / ".config" / "interpose" / "governance.yaml"
    settings.parent.mkdir(parents=True, mode=0o700)
    settings.write_text(GOVERNANCE)
    with ServerProcess(tmp_path) as started:
        yield started


def tried(server: ServerProcess, arguments: str = "") -> Any:
    """What is said about the command in a session of an agent."""
    context = {"sessionId": "s", "agentId": "a"}
    body = {"name": "/deploy", "arguments": arguments, "cwd": str(server.home), "context": context}
    return server.ask("POST", "/api/v1/events/command.before", body).body


def given(server: ServerProcess) -> list[str]:
    return [one["command"] for one in server.ask("GET", "/api/v1/bypasses").body["bypasses"]]


def test_a_person_gives_one_at_their_own_terminal_and_an_agent_does_not_whatever_it_does(
    server: ServerProcess,
) -> None:
    with terminal(server) as own, terminal(server) as other:
        agent_in(other, server)
        give = " ".join(interpose(*GIVE))
        bare = f"HOME=$HOME XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR PYTHONPATH={Path(__file__).parents[2] / 'src'}"
        ways = {
            "its child": give,
            "a child in a session of its own": f"setsid -w {give}",
            "a child in a terminal of its own": f"script -qec '{give}' /dev/null",
            "an orphan in a terminal of its own": orphan("", give, "out1"),
            "an orphan with an empty environment": orphan(f"env -i {bare}", give, "out2"),
        }
        for note, line in ways.items():
            other.type(line + "\n")
            shown = other.until("code:")
            assert other.until(":") == "1", (note, shown)
        assert given(server) == []
        refused = tried(server, "--force --emergency --bypass-chain")
        assert (refused["decision"], "needs the file BUILD" in refused["reason"]) == ("deny", True)
        code, shown = own.run(*interpose("command", "check", "/deploy"))
        assert (code, "DENY  /deploy" in shown, "run /build" in shown) == (2, True, True), shown
        code, shown = own.run(*interpose(*GIVE))
        assert (code, "deploy  until" in shown) == (0, True), shown
        passed = tried(server)
        assert (passed["decision"], passed["findings"][0]["rule"]) == ("allow", "governance/bypass")
        code, shown = own.run(*interpose("command", "check", "/deploy"))
        assert (code, "governance/bypass" in shown) == (0, True), shown
    assert given(server) == ["deploy"]
    found = server.ask("GET", "/api/v1/audit?tool=command").body["records"]
    assert [(one["decision"], one["arguments"]["name"]) for one in found] == [
        ("allow", "deploy"),
        ("allow", "deploy"),
        ("deny", "deploy"),
    ]


def test_a_token_alone_gives_none_from_this_machine(server: ServerProcess) -> None:
    refused = server.ask("POST", "/api/v1/bypasses", {"command": "deploy", "reason": "please"})
    assert (refused.status, refused.body["error"]) == (403, "not_proven")
    assert "interpose governance command bypass deploy" in refused.body["message"]
    assert given(server) == []
