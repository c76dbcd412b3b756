"""Every process that a run starts, down to the last grandchild: the kernel hands orphans to this process.

A process that sets itself up as a subreaper inherits whatever its descendants leave behind. So "left behind" needs no
list of names: it is what is still a child of this process when a suite has ended.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

_SET_CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>
_TEST_VARIABLE = b"PYTEST_CURRENT_TEST="


class LeftBehind(NamedTuple):
    """A process that was still there when its suite had ended."""

    pid: int
    command: str
    directory: str
    test: str

    def __str__(self) -> str:
        return f"process {self.pid}: {self.command} (in {self.directory}; started by {self.test or 'an unknown test'})"


class ProcessTree:
    """Starts commands, waits for them, and knows what they left behind."""

    def __init__(self) -> None:
        self._running: set[int] = set()
        self._ended: dict[int, int] = {}
        self._adopts = sys.platform == "linux" and _adopt_orphans()

    def start(
        self, command: Sequence[str], *, environment: Mapping[str, str] | None = None, output: IO[bytes] | None = None
    ) -> int:
        """Start a command and return its process id."""
        # The Popen is only a way to start it: `wait` reaps every child, also those that were started elsewhere.
        started = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
        )  # fmt: skip
        started.returncode = 0  # or it would warn that it was never waited for
        self._running.add(started.pid)
        return started.pid

    def wait(self, wanted: int) -> int:
        """Wait for a command and return its exit code. Orphans that end meanwhile are reaped at once."""
        while wanted not in self._ended:
            pid, status = os.waitpid(-1, 0)
            self._note(pid, status)
        return self._ended.pop(wanted)

    def left_behind(self, grace: float) -> tuple[LeftBehind, ...]:
        """What is still running besides the commands that were started here, after it had time to end."""
        deadline = time.monotonic() + grace
        while left := self._orphans():
            if time.monotonic() > deadline:
                return tuple(map(_described, left))
            time.sleep(0.1)
        return ()

    def end_orphans(self) -> None:
        """Kill what was left behind, and what that leaves behind in turn."""
        while orphans := self._orphans():
            _kill(orphans)
            time.sleep(0.02)

    def end_everything(self) -> None:
        """Ask every command to end, as an interrupt at the keyboard would, and kill what does not or is left."""
        for pid in self._running:
            _send(pid, signal.SIGINT)
        deadline = time.monotonic() + 20
        while self._running and time.monotonic() < deadline:
            self._reap()
            time.sleep(0.05)
        while children := self._children():
            _kill(children)
            self._reap()
            time.sleep(0.02)

    def _orphans(self) -> list[int]:
        self._reap()
        return [pid for pid in self._children() if pid not in self._running]

    def _children(self) -> list[int]:
        if not self._adopts:
            return sorted(self._running)
        return list(_children_of(os.getpid()))

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._note(pid, status)

    def _note(self, pid: int, status: int) -> None:
        if pid in self._running:
            self._running.discard(pid)
            self._ended[pid] = os.waitstatus_to_exitcode(status)


def _adopt_orphans() -> bool:
    failed: int = ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return failed == 0


def _children_of(parent: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name of a program may hold blanks and brackets: the fields begin after the last one.
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if int(fields[1]) == parent:
            yield int(entry.name)


def _described(pid: int) -> LeftBehind:
    place = Path("/proc") / str(pid)
    try:
        command = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        directory = str((place / "cwd").readlink())
        variables = (place / "environ").read_bytes().split(b"\0")
    except OSError:
        return LeftBehind(pid, "?", "?", "")
    test = next((one.removeprefix(_TEST_VARIABLE).decode() for one in variables if one.startswith(_TEST_VARIABLE)), "")
    return LeftBehind(pid, command[:300], directory, test)


def _kill(pids: Sequence[int]) -> None:
    for pid in pids:
        _send(pid, signal.SIGKILL)


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
