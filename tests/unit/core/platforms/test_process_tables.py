"""Processes of macOS as its kernel tells them, and the same questions on both systems."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from interpose.core.platforms import connections, processes
from interpose.core.platforms.linux import connection_table as linux_connections
from interpose.core.platforms.linux import pid_handle as linux_handle
from interpose.core.platforms.linux import process_table as linux
from interpose.core.platforms.macos import connection_table as macos_connections
from interpose.core.platforms.macos import pid_handle as macos_handle
from interpose.core.platforms.macos import process_table as macos
from interpose.core.platforms.macos.libproc import Libproc
from interpose.core.platforms.process_values import Process
from interpose.people.presence.agents import SeenAgents
from interpose.people.presence.processes import ancestry, environment_of
from tests.unit.core.platforms.machines import ROOT, START, TTY, MacKernel, MacProcess

Mac = Callable[..., MacKernel]
LOGIN = MacProcess(pid=90, parent=80, program="/usr/bin/login", uid=ROOT, start=(START + 1, 2), terminal=TTY)
SHELL = MacProcess(
    pid=100, parent=90, start=(START + 2, 3), terminal=TTY, foreground=200, words=("-zsh",),
    variables=("HOME=/Users/ann", "LANG=de", "EMPTY="),
)  # fmt: skip


@pytest.mark.parametrize(
    ("facade", "here", "there"),
    [
        (processes, linux, macos),
        (connections, linux_connections, macos_connections),
    ],
    ids=["processes", "connections"],
)
def test_both_systems_answer_the_same_questions(facade: ModuleType, here: ModuleType, there: ModuleType) -> None:
    asked = [name for name, value in vars(facade).items() if callable(value)]
    assert len(asked) > 6
    for name in asked:
        assert inspect.signature(getattr(here, name)) == inspect.signature(getattr(there, name)), name


def test_both_systems_hold_on_to_a_process_alike() -> None:
    for name in ("__init__", "send", "wait", "close"):
        of_linux, of_macos = (
            inspect.signature(getattr(each, name)) for each in (linux_handle.PidfdHandle, macos_handle.KqueueHandle)
        )
        assert of_linux == of_macos, name


def test_a_process_of_ones_own(mac: Mac) -> None:
    mac(SHELL)
    assert macos.process(100) == Process(
        pid=100, start=(START + 2) * 1_000_000 + 3, parent=90, group=100, session=100, terminal=TTY, foreground=200,
        name="zsh",
    )  # fmt: skip
    assert macos.start_of(100) == (START + 2) * 1_000_000 + 3
    assert macos.started_ns(100) == ((START + 2) * 1_000_000 + 3) * 1000
    assert (macos.real_user(100), macos.owner_of(100)) == (501, 501)
    assert macos.program_of(100) == "/bin/zsh"


def test_of_another_users_process_the_older_table_tells_as_much(mac: Mac) -> None:
    """Between a terminal program and its shell there is a `login` of root."""
    mac(LOGIN, SHELL)
    assert macos.process(90) == Process(
        pid=90, start=(START + 1) * 1_000_000 + 2, parent=80, group=90, session=90, terminal=TTY, foreground=90,
        name="login",
    )  # fmt: skip
    assert (macos.real_user(90), macos.owner_of(90), macos.program_of(90)) == (0, 0, "/usr/bin/login")
    for ask in (macos.command_line, macos.environment):
        with pytest.raises(OSError, match="Invalid"):
            ask(90, 1000)


@pytest.mark.parametrize("uid", [501, ROOT])
def test_what_has_ended_is_no_process(mac: Mac, uid: int) -> None:
    mac(MacProcess(pid=7, uid=uid, status=5))
    for pid in (7, 8, 0, -1):
        assert macos.process(pid) is None
        assert (macos.start_of(pid), macos.real_user(pid)) == (0, -1)
        with pytest.raises(OSError):  # noqa: PT011 - which one depends on the table
            macos.owner_of(pid)
    assert macos.program_of(8) == ""


def test_a_process_without_a_terminal_has_none(mac: Mac) -> None:
    mac(MacProcess(pid=7))
    found = macos.process(7)
    assert found is not None
    assert found.terminal == 0


def test_words_and_variables(mac: Mac) -> None:
    mac(SHELL, MacProcess(pid=7, words=("node", "", "a b"), variables=()))
    assert macos.command_line(100, 1000) == b"-zsh\0"
    assert macos.environment(100, 1000) == b"HOME=/Users/ann\0LANG=de\0EMPTY=\0"
    assert macos.command_line(7, 1000) == b"node\0\0a b\0"
    assert macos.command_line(7, 3) == b"nod"
    assert b"=" not in macos.environment(7, 1000).replace(b"executable_path=/x", b"")


@pytest.mark.parametrize("data", [b"", b"\1\0", b"\2\0\0\0/bin/x", b"\2\0\0\0/bin/x\0\0one\0two"])
def test_words_that_are_cut_off_raise_nothing_unforeseen(
    mac: Mac, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    mac(SHELL)
    monkeypatch.setattr(Libproc, "sysctl", lambda _self, _name, _most: data)
    try:
        words = macos.command_line(100, 100)
    except OSError:
        assert len(data) < 4
    else:
        assert words in (b"", b"one\0two")


def test_every_process_is_listed(mac: Mac) -> None:
    mac(*(MacProcess(pid=pid) for pid in range(1, 500)))
    assert macos.all_pids() == list(range(1, 500))


def test_a_boot_has_a_name(mac: Mac) -> None:
    mac()
    assert macos.this_boot() == "0F3A5C1E-0000-4000-8000-000000000001"
    assert abs(macos.ticks_now() - macos.ticks_now()) < 60_000_000


def test_a_machine_has_a_name(mac: Mac, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mac()
    assert macos.this_machine() == b"5D1A7C1E-0000-4000-8000-000000000002"
    monkeypatch.setattr(linux, "MACHINE", tmp_path / "machine-id")
    assert linux.this_machine() == b""
    (tmp_path / "machine-id").write_bytes(b"0123\n")
    assert linux.this_machine() == b"0123\n"


def test_code_is_never_called_the_systems_own(mac: Mac) -> None:
    mac(SHELL)
    assert macos.code_files(100) is None
    assert macos.where_shown(100) == "ps -ww -o command= -p 100"


def test_an_agent_above_a_hook_is_found(mac: Mac, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the proofs ask of processes, on a Mac from end to end."""
    agent = MacProcess(pid=200, parent=100, program="/opt/homebrew/bin/node", words=("node", "claude"), terminal=TTY)
    hook = MacProcess(pid=300, parent=200, program="/bin/bash", variables=("CLAUDECODE=1",), terminal=TTY)
    mac(MacProcess(pid=1, parent=0, program="/sbin/launchd", uid=ROOT), MacProcess(pid=80), LOGIN, SHELL, agent, hook)
    for module in ("processes", "agents", "own_program"):
        for name in ("process", "environment", "command_line", "program_of", "real_user", "ticks_now", "this_boot"):
            monkeypatch.setattr(f"interpose.people.presence.{module}.{name}", getattr(macos, name), raising=False)
    assert [one.pid for one in ancestry(300)] == [300, 200, 100, 90, 80, 1]
    assert environment_of(300) == {"CLAUDECODE": "1"}
    agents = SeenAgents()
    agents.heard(300)
    assert [(one.pid, one.name) for one in agents.known()] == [(200, "node")]
    assert agents.among(ancestry(300)) is not None
    assert agents.among(ancestry(100)) is None


def test_linux_tells_of_a_real_process() -> None:
    if sys.platform != "linux":
        pytest.skip("only there")
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={"TOLD": "yes"}
    ) as program:  # fmt: skip
        found = processes.process(program.pid)
        assert found is not None
        assert (found.parent, found.start) == (os.getpid(), processes.start_of(program.pid))
        assert processes.owner_of(program.pid) == os.geteuid()
        assert program.pid in processes.all_pids()
        program.kill()
