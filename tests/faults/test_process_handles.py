"""A process is held on to and ended, by the handle of each system. The kqueue of macOS is one that asks Linux here."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from interpose.core.platforms.linux import pid_handle as linux
from interpose.core.platforms.linux import process_table
from interpose.core.platforms.macos import pid_handle as macos
from interpose.doors.hooks.install.stopping import stopped
from tests.support.timing.patience import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fake kqueue asks Linux")


class Kevent:
    def __init__(self, ident: int, *, filter: int, flags: int, fflags: int) -> None:  # noqa: A002 - its name there
        assert (filter, flags, fflags) == (-5, 0x0001 | 0x0010, 0x80000000), (
            "EVFILT_PROC, EV_ADD and ONESHOT, NOTE_EXIT"
        )
        self.ident = ident


class Kqueue:
    """What EVFILT_PROC does, by a pidfd."""

    def __init__(self) -> None:
        self._handle = -1

    def control(self, changes: list[Kevent] | None, most: int, seconds: float | None = None) -> list[int]:
        for one in changes or ():
            self._handle = os.pidfd_open(one.ident)  # ESRCH, as there
        if not most:
            return []
        return select.select([self._handle], [], [], seconds)[0]

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)


FAKE = SimpleNamespace(
    kqueue=Kqueue, kevent=Kevent, KQ_FILTER_PROC=-5, KQ_EV_ADD=0x0001, KQ_EV_ONESHOT=0x0010, KQ_NOTE_EXIT=0x80000000
)


@pytest.fixture(params=["linux", "macos"])
def handle(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(macos, "_queues", FAKE)
    monkeypatch.setattr(macos, "start_of", process_table.start_of)
    return linux.PidfdHandle if request.param == "linux" else macos.KqueueHandle


@contextmanager
def program(code: str = "input()") -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-S", "-c", f"print(1, flush=True); {code}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as made:
        assert made.stdout is not None
        made.stdout.readline()
        try:
            yield made
        finally:
            made.kill()


def test_a_signal_reaches_it_and_its_end_is_seen(handle: Any) -> None:
    with program() as made:
        held = handle(made.pid)
        try:
            assert not held.wait(0)
            held.send(signal.SIGTERM)
            assert held.wait(PATIENCE)
            assert held.wait(0), "it stays ended"
        finally:
            held.close()


def test_a_process_that_has_ended_is_none(handle: Any) -> None:
    with program() as made:
        held = handle(made.pid)
        made.kill()
        assert held.wait(PATIENCE)
        made.wait()
    with pytest.raises(ProcessLookupError):
        held.send(signal.SIGTERM)
    held.close()
    with pytest.raises(ProcessLookupError):
        handle(made.pid)


def test_on_macos_another_process_with_its_number_gets_no_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = iter([5, 5, 6])
    monkeypatch.setattr(macos, "_queues", FAKE)
    monkeypatch.setattr(macos, "start_of", lambda _pid: next(starts))
    with program() as made:
        held = macos.KqueueHandle(made.pid)
        with pytest.raises(ProcessLookupError):
            held.send(signal.SIGKILL)
        held.close()
        assert made.poll() is None


def test_on_macos_a_process_that_was_exchanged_meanwhile_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = iter([5, 6])
    monkeypatch.setattr(macos, "_queues", FAKE)
    monkeypatch.setattr(macos, "start_of", lambda _pid: next(starts))
    with program() as made, pytest.raises(ProcessLookupError):
        macos.KqueueHandle(made.pid)


@pytest.mark.parametrize("code", ["input()", "import signal; signal.signal(15, signal.SIG_IGN); input()"])
def test_a_server_is_ended_by_either(handle: Any, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr("interpose.doors.hooks.install.stopping.ProcessHandle", handle)
    monkeypatch.setattr("interpose.doors.hooks.install.stopping._MORE", 0.2)
    with program(code) as made:
        assert stopped(made.pid, 0.0) == ""
        assert made.wait(PATIENCE) in (-signal.SIGTERM, -signal.SIGKILL)
        assert stopped(made.pid, 0.0) == "", "what is gone is ended"
