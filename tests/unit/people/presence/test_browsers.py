"""Which process is at the other end of a connection, as the kernel says it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from interpose.core.errors import NotProvenError
from interpose.core.platforms.connections import connected, holder_of
from interpose.core.platforms.linux import process_table
from interpose.core.platforms.process_values import Ends
from interpose.people.presence import agents as known_agents
from interpose.people.presence.agents import SeenAgent, SeenAgents
from interpose.people.presence.browsers import prove_browser
from interpose.people.presence.terminal import start_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")

CONNECTS = """\
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as own:
    print(own.getsockname()[1], flush=True)
    if sys.argv[3] == "half":
        own.shutdown(socket.SHUT_WR)
    elif sys.argv[3] == "closed":
        own.close()
    elif sys.argv[3] == "sent":
        here, there = socket.socketpair()
        socket.send_fds(here, [b"x"], [own.fileno()])
        own.close()
    print("ready", flush=True)
    sys.stdin.read()
"""


@contextmanager
def child(host: str = "127.0.0.1", then: str = "", **environment: str) -> Iterator[tuple[int, Ends]]:
    """A process that is connected to us: its number, and both ends. `then` says whether it closes its own."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.bind((host, 0))
        listening.listen()
        command = [sys.executable, "-c", CONNECTS, host, str(listening.getsockname()[1]), then]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"]} | environment,
        ) as made:
            assert made.stdout is not None
            port = int(made.stdout.readline())
            accepted, _ = listening.accept()
            assert made.stdout.readline() == "ready\n"
            if then in ("half", "closed"):
                assert accepted.recv(1) == b"", "the end is here"
            try:
                yield made.pid, Ends(host, port, host, listening.getsockname()[1])
            finally:
                accepted.close()
                made.communicate()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_connection_is_found_with_its_user_and_its_process(host: str) -> None:
    try:
        with child(host) as (pid, ends):
            found = connected(ends)
            assert found is not None
            assert (found.uid, holder_of(found.inode)) == (os.geteuid(), pid)
    except OSError:
        pytest.skip(f"{host} is not there")


def test_an_agents_process_does_not_answer() -> None:
    with child(CLAUDECODE="1") as (_pid, ends), pytest.raises(NotProvenError, match="which set CLAUDECODE"):
        prove_browser(ends, SeenAgents(), uid=os.geteuid())


def test_a_process_of_a_known_agent_does_not_answer() -> None:
    agents = SeenAgents()
    with child() as (pid, ends):
        agents._remember(SeenAgent(pid, start_of(pid), 0, "some-agent"))
        with pytest.raises(NotProvenError, match=f"process {pid}"):
            prove_browser(ends, agents, uid=os.geteuid())


def test_an_agent_that_starts_many_others_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_agents, "MOST_KNOWN", 1)
    agents = SeenAgents()
    with child() as (pid, ends):
        agents._remember(SeenAgent(pid, start_of(pid), 0, "some-agent"))
        agents._remember(SeenAgent(os.getpid(), start_of(os.getpid()), 0, "another"))
        agents._remember(SeenAgent(os.getppid(), start_of(os.getppid()), 0, "a third"))
        assert agents.crowded
        with pytest.raises(NotProvenError, match="more agents ask here"):
            prove_browser(ends, agents, uid=os.geteuid())


def test_another_users_process_does_not_answer() -> None:
    with child() as (_pid, ends):
        other = os.geteuid() + 1
        if os.geteuid() == 0:
            prove_browser(ends, SeenAgents(), uid=other)  # root may be anybody
            return
        with pytest.raises(NotProvenError, match="was let in"):
            prove_browser(ends, SeenAgents(), uid=other)


@pytest.mark.parametrize("then", ["half", "closed", "sent"])
def test_who_closes_its_end_at_once_does_not_answer(then: str) -> None:
    """An answer counts though nobody waits for what is said to it: an agent with a cookie would be nobody. Nobody holds
    an end that is on its way to another process either."""
    with child(then=then, CLAUDECODE="1") as (_pid, ends), pytest.raises(NotProvenError, match="does not say which"):
        prove_browser(ends, SeenAgents(), uid=os.geteuid())


def test_who_hangs_up_while_we_look_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with child() as (pid, ends):
        for seen in ([pid, 0], [0, 0], [1 << 22, 1 << 22]):
            answers = iter(seen)
            monkeypatch.setattr(
                "interpose.people.presence.browsers.holder_of", lambda _inode, answers=answers: next(answers)
            )
            with pytest.raises(NotProvenError, match="does not say which"):
                prove_browser(ends, SeenAgents(), uid=os.geteuid())
        monkeypatch.undo()
        prove_browser(ends, SeenAgents(), uid=os.geteuid())


def test_another_connection_from_the_same_port_is_not_taken_for_it() -> None:
    """One port may be that of several connections, and of several processes, if they lead to different places."""
    with child() as (pid, ends):
        assert connected(Ends(ends.address, ends.port, ends.our_address, ends.our_port ^ 1)) is None
        found = connected(ends)
        assert found is not None
        assert holder_of(found.inode) == pid


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "no address", ""])
def test_a_connection_that_is_in_no_table_answers_nothing(address: str) -> None:
    with pytest.raises(NotProvenError, match="does not say which"):
        prove_browser(Ends(address, 1, address, 1), SeenAgents(), uid=os.geteuid())


def test_a_system_without_tables_refuses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_table, "PROC", tmp_path)
    prove_browser(Ends("127.0.0.1", 1, "127.0.0.1", 1), SeenAgents(), uid=os.geteuid())
