"""People and agents at real terminals: a shell that leads one, and what it starts."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Self

from tests.support.timing.patience import PATIENCE

PYTHON = sys.executable


class Terminal:
    """A shell that leads a terminal of its own, as a terminal program starts it. Ends with the test."""

    def __init__(self, environment: Mapping[str, str], directory: Path) -> None:
        self._environment, self._directory = dict(environment) | {"PS1": "$ ", "TERM": "dumb"}, directory
        self.shown = ""

    def __enter__(self) -> Self:
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.chdir(self._directory)
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], self._environment)
        return self

    def __exit__(self, *_error: object) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # the shell has ended already
        os.close(self._master)
        os.waitpid(self.pid, 0)

    def type(self, text: str) -> None:
        """Keys that somebody presses."""
        os.write(self._master, text.encode())

    def until(self, wanted: str, seconds: float = PATIENCE) -> str:
        """What was shown since the last time, up to where it shows this."""
        deadline = monotonic() + seconds
        while wanted not in self.shown:
            ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - monotonic()))
            if not ready:
                raise AssertionError(f"the terminal never showed {wanted!r}: {self.shown!r}")
            try:
                self.shown += os.read(self._master, 65536).decode("utf-8", "replace")
            except OSError:
                raise AssertionError(f"the terminal closed before {wanted!r}: {self.shown!r}") from None
        before, _, self.shown = self.shown.partition(wanted)
        return before

    def run(self, *words: str) -> tuple[int, str]:
        """A command, its exit code and all that it showed."""
        # The mark is put together by the shell, so that the echo of what was typed does not hold it.
        self.type(f"{' '.join(words)}; echo do''ne:$?:\n")
        shown = self.until("done:")
        return int(self.until(":")), shown


def approve_shown(watching: Terminal, key: str = "y") -> None:
    """Approve the question that `approvals watch` shows: a key, and the beginning of its id."""
    watching.type(key)
    watching.until(", type ")
    watching.type(watching.until(" and Enter: ") + "\r")


def interpose(*words: str) -> Sequence[str]:
    """A command line of ours."""
    return (PYTHON, "-m", "interpose", *words)
