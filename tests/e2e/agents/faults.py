"""What can be wrong with our side of a hook while an agent runs. Each is a context around the run."""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.agents.home import Home
from tests.e2e.processes import ServerProcess
from tests.support.timing.patience import PATIENCE

Fault = Callable[[Home], AbstractContextManager[None]]

# Only the question before a tool is answered wrongly: a refusal of the session or of the prompt would hide it.
_AT_THE_GATE = """#!/bin/sh
body=$(cat)
case $body in *'"PreToolUse"'* | *'"BeforeTool"'* | *'"tool.execute.before"'*) {does} ;; esac
"""


@contextmanager
def nothing(_home: Home) -> Iterator[None]:
    """All is well: no server runs, the first hook starts one."""
    yield


@contextmanager
def killed_server(home: Home) -> Iterator[None]:
    """A server ran and was killed: its socket and the file with its port are still there."""
    with ServerProcess(home.home) as server:
        server.child.kill()
        server.child.wait(PATIENCE)
    assert home.socket.exists()
    assert home.address.exists()
    yield


@contextmanager
def hanging_server(home: Home) -> Iterator[None]:
    """Something listens where a server should be, takes every question and never answers."""
    home.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as unix, socket.socket() as tcp:
        unix.bind(str(home.socket))
        home.socket.chmod(0o600)
        unix.listen(100)
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(100)
        home.address.write_text(f"{tcp.getsockname()[1]} {os.getpid()} {'t' * 43} {'p' * 43}\n")
        home.address.chmod(0o600)
        yield
        home.address.unlink(missing_ok=True)


@contextmanager
def no_interpreter(home: Home) -> Iterator[None]:
    """The Python that the hook was installed with is gone, and no server runs."""
    for file in home.client.parent.iterdir():
        file.write_text(file.read_text().replace(sys.executable, "/gone/python"))
    yield


@contextmanager
def no_client(home: Home) -> Iterator[None]:
    """The program that the host should run is gone."""
    home.client.unlink()
    yield


def client_that(does: str) -> Fault:
    """The program that the host runs does something else when it is asked about a call."""

    @contextmanager
    def fault(home: Home) -> Iterator[None]:
        home.client.write_text(_AT_THE_GATE.format(does=does))
        yield

    return fault


def saying(answer: Any, log: Path) -> Fault:
    """The program that the host runs says this about every call but reading, and keeps the events that it hears."""
    keep = f"printf '%s\\n' \"$body\" >> {shlex.quote(str(log))}"
    at_the_gate = _AT_THE_GATE.format(does=f"printf '%s' {shlex.quote(json.dumps(answer))}")
    reading = """case $body in *'"tool_name":"Read"'* | *'"tool_name":"read_file"'*) exit 0 ;; esac"""
    script = at_the_gate.replace("case $body", f"{keep}\n{reading}\ncase $body", 1)

    @contextmanager
    def fault(home: Home) -> Iterator[None]:
        home.client.write_text(script)
        yield

    return fault
