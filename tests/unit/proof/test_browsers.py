"""Which process is at the other end of a connection, as the kernel says it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from interpose.errors import NotProvenError
from interpose.proof.agents import SeenAgent, SeenAgents
from interpose.proof.browsers import connected, holder_of, prove_browser
from interpose.proof.terminal import start_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")

CONNECTS = """\
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as own:
    print(own.getsockname()[1], flush=True)
    sys.stdin.read()
"""


@contextmanager
def child(host: str = "127.0.0.1", **environment: str) -> Iterator[tuple[int, int]]:
    """A process that is connected to us: its number, and its port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as listening:
        listening.bind((host, 0))
        listening.listen()
        command = [sys.executable, "-c", CONNECTS, host, str(listening.getsockname()[1])]
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
            try:
                yield made.pid, port
            finally:
                accepted.close()
                made.communicate()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_connection_is_found_with_its_user_and_its_process(host: str) -> None:
    try:
        with child(host) as (pid, port):
            found = connected(host, port)
            assert found is not None
            assert (found.uid, holder_of(found.inode)) == (os.geteuid(), pid)
    except OSError:
        pytest.skip(f"{host} is not there")


def test_an_agents_process_does_not_answer() -> None:
    with child(CLAUDECODE="1") as (_pid, port), pytest.raises(NotProvenError, match="which set CLAUDECODE"):
        prove_browser("127.0.0.1", port, SeenAgents(), uid=os.geteuid())


def test_a_process_of_a_known_agent_does_not_answer() -> None:
    agents = SeenAgents()
    with child() as (pid, port):
        agents._remember(SeenAgent(pid, start_of(pid), 0, "some-agent"))
        with pytest.raises(NotProvenError, match=f"process {pid}"):
            prove_browser("127.0.0.1", port, agents, uid=os.geteuid())


def test_another_users_process_does_not_answer() -> None:
    with child() as (_pid, port):
        other = os.geteuid() + 1
        if os.geteuid() == 0:
            prove_browser("127.0.0.1", port, SeenAgents(), uid=other)  # root may be anybody
            return
        with pytest.raises(NotProvenError, match="was let in"):
            prove_browser("127.0.0.1", port, SeenAgents(), uid=other)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "no address", ""])
def test_what_can_not_be_seen_refuses_nothing(address: str) -> None:
    prove_browser(address, 1, SeenAgents(), uid=os.geteuid())
