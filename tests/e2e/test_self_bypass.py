"""An agent that tries to let its own commands pass, against a real server and real terminals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.processes import ServerProcess
from tests.e2e.terminals import interpose
from tests.e2e.trying_agents import agent_in, orphan, terminal

GIVE = ("command", "bypass", "deploy", "--reason", "please")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path) as started:
        yield started


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
        code, shown = own.run(*interpose(*GIVE))
        assert (code, "deploy  until" in shown) == (0, True), shown
    assert given(server) == ["deploy"]


def test_a_token_alone_gives_none_from_this_machine(server: ServerProcess) -> None:
    refused = server.ask("POST", "/api/v1/bypasses", {"command": "deploy", "reason": "please"})
    assert (refused.status, refused.body["error"]) == (403, "not_proven")
    assert "interpose command bypass deploy" in refused.body["message"]
    assert given(server) == []
