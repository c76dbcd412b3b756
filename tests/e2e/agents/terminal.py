"""A terminal with a program in it."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from tests.support.timing.patience import PATIENCE


class Terminal:
    """Entered, the program runs in a tmux of its own; left, both are gone."""

    def __init__(self, command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> None:
        self._command, self._cwd, self._environment = command, cwd, dict(environment)

    def __enter__(self) -> Self:
        self._place = tempfile.TemporaryDirectory()  # sockets have short names
        wanted = self._environment | {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
        size = ("-x", "140", "-y", "50")
        started = self._tmux(
            "new-session", "-d", *size, "-c", str(self._cwd), f"exec {shlex.join(self._command)}", environment=wanted
        )
        if started.returncode:
            raise AssertionError(f"tmux: {started.stderr}")
        return self

    def __exit__(self, *_error: object) -> None:
        self._tmux("kill-server")
        self._place.cleanup()  # and the socket with it: whoever asks now hears of no session

    def alive(self) -> bool:
        """Whether the program still runs."""
        return not self._tmux("has-session").returncode

    def text(self) -> str:
        """What is on the screen."""
        return self._tmux("capture-pane", "-p").stdout

    def press(self, key: str) -> None:
        """One key, by the name that tmux has for it."""
        self._tmux("send-keys", key)

    def _tmux(self, *words: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        command = ["tmux", "-f", os.devnull, "-S", str(Path(self._place.name) / "s"), *words]
        return subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=PATIENCE)
