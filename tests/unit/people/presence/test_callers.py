"""Which process asks at a TCP port, from the kernel's tables."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from interpose.core.platforms.connections import socket_at
from interpose.core.platforms.linux import connection_table
from interpose.core.platforms.process_values import Ends
from interpose.people.presence import callers
from interpose.people.presence.agents import SeenAgents
from interpose.people.presence.callers import Callers
from interpose.people.presence.processes import ancestry
from interpose.people.presence.terminal import prove_terminal, start_of
from tests.unit.people.presence.machines import TTY, Machine

CLIENT = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); sys.stdin.read()"


@contextmanager
def client() -> Iterator[tuple[subprocess.Popen[bytes], Ends]]:
    """A process that is connected to us."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with subprocess.Popen([sys.executable, "-S", "-c", CLIENT, str(port)], stdin=subprocess.PIPE) as program:
            accepted, theirs = server.accept()
            with accepted:
                yield program, Ends(theirs[0], theirs[1], "127.0.0.1", port)
                program.kill()


@pytest.mark.parametrize("diagnosed", [True, False], ids=["the kernel is asked", "by the table"])
def test_a_caller_is_registered_with_what_started_it(monkeypatch: pytest.MonkeyPatch, diagnosed: bool) -> None:
    if not diagnosed:

        def refuse(_ends: Ends) -> None:
            raise OSError

        monkeypatch.setattr(connection_table, "_diagnosed", refuse)
    agents = SeenAgents()
    with client() as (program, ends):
        assert Callers(agents).register(ends) == "known"
        assert agents.among(ancestry(program.pid)) is not None
        assert not agents.unplaced


def test_a_caller_that_has_closed_its_end_is_gone() -> None:
    agents = SeenAgents()
    with client() as (program, ends):
        assert socket_at(ends) is not None
        program.kill()
        program.wait()
        assert Callers(agents).register(ends) == "gone"
    assert not agents.unplaced


def test_a_caller_that_can_not_be_placed_could_be_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callers, "holder_of", lambda _inode: 0)
    agents = SeenAgents()
    with client() as (_program, ends):
        assert Callers(agents).register(ends) == "known"
    assert agents.unplaced
    with pytest.raises(Exception, match="does not show"):
        prove_terminal(os.getpid(), start_of(os.getpid()), agents)


def test_a_caller_of_another_machine_or_user_is_no_process_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    agents = SeenAgents()
    assert Callers(agents).register(Ends("203.0.113.9", 80, "127.0.0.1", 81)) == "elsewhere"
    with client() as (program, ends):
        monkeypatch.setattr("os.geteuid", lambda: 54321)
        assert Callers(agents).register(ends) == "elsewhere"
        assert agents.among(ancestry(program.pid)) is None
    assert not agents.unplaced


SHELL, PYTHON = "/usr/bin/bash", os.path.realpath(sys.executable)
SCRIPT = str(Path(os.path.realpath(Path(sys.executable).parent)) / "interpose")
PROGRAMS = [
    ("curl by hand", "/usr/bin/curl", (), True),
    ("a command of ours", PYTHON, ("-m", "interpose", "run", "ls"), False),
    ("our script", PYTHON, (SCRIPT, "run", "ls"), False),
    ("a script of another's", PYTHON, ("/tmp/interpose", "run", "ls"), True),
    ("another program with our command line", "/tmp/evil", ("-m", "interpose", "run", "ls"), True),
]


@pytest.mark.parametrize(("note", "program", "command", "known"), PROGRAMS, ids=[case[0] for case in PROGRAMS])
def test_a_caller_below_a_persons_shell_is_an_agent_itself(
    machine: Machine, note: str, program: str, command: tuple[str, ...], known: bool
) -> None:
    machine.add(100, 1, SHELL, terminal=TTY)
    machine.add(200, 100, program, terminal=TTY, session=100, command=command)
    agents = SeenAgents()
    agents.heard(200, itself=True)
    assert (agents.among(ancestry(200)) is not None) == known, note
    assert agents.among(ancestry(100)) is None
