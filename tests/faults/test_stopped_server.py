"""A server that is stopped (kill -STOP) costs the first hook its patience, and the others nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep, time

import pytest

from interpose.doors.hooks.clients.programs.socket_client import (
    STALLED_SECONDS,
    note_stalled,
    stalled_file,
    stalled_until,
)
from tests.e2e.processes import ServerProcess
from tests.support.hosts.hooked import Done, Hooks, event_of
from tests.support.timing.patience import PATIENCE

BAD = "rm -rf /"
WAYS = ["bash", "python", "program"]
HALF = 6.0
"""Half of what a hook has: what each call took before this was remembered."""


@pytest.fixture
def hooks(tmp_path: Path) -> Hooks:
    """Hooks that have 12 seconds for everything."""
    return Hooks(tmp_path / "home", settings=f"hooks: {{deadline: {2 * HALF}}}\n")


def _denied(done: Done) -> bool:
    return done.code == 0 and json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def _timed(hooks: Hooks, way: str) -> float:
    start = monotonic()
    assert _denied(hooks.run(way, event_of(BAD)))
    return monotonic() - start


def _until(true: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = monotonic() + seconds
    while not true():
        assert monotonic() < end
        sleep(0.02)


@pytest.mark.parametrize("way", WAYS)
def test_only_the_first_hook_waits_for_a_stopped_server(way: str, hooks: Hooks) -> None:
    with ServerProcess(hooks.home) as server:
        server.signal(signal.SIGSTOP)
        first = _timed(hooks, way)
        alone = _timed(hooks, "in process")
        for other in WAYS:
            assert _timed(hooks, other) < max(HALF - 1, 3 * alone), other
        assert first >= HALF - 1
        assert Path(stalled_file(str(hooks.socket))).stat().st_mode & 0o777 == 0o600


def test_a_server_that_goes_on_is_asked_again(hooks: Hooks) -> None:
    with ServerProcess(hooks.home) as server:
        server.signal(signal.SIGSTOP)
        note_stalled(str(hooks.socket))
        noted = Path(stalled_file(str(hooks.socket)))
        assert noted.exists()
        server.signal(signal.SIGCONT)
        _until(lambda: not noted.exists())
        _until(lambda: "gave a hook no answer in time" in (hooks.home / "stderr").read_text())


def test_another_server_is_asked_at_once(hooks: Hooks) -> None:
    with ServerProcess(hooks.home):
        note_stalled(str(hooks.socket))
        assert stalled_until(str(hooks.socket)) > time()
    noted = Path(stalled_file(str(hooks.socket)))
    note_stalled(str(hooks.socket))
    with ServerProcess(hooks.home):
        assert not noted.exists()
        assert stalled_until(str(hooks.socket)) == 0


def _made_a_link(noted: Path) -> None:
    noted.symlink_to(noted.rename(noted.with_name("x")))


NOTES: list[tuple[str, Callable[[Path, Path], object], bool]] = [
    ("as it is written", lambda _socket, _noted: None, True),
    ("older than the socket", lambda socket, _noted: os.utime(socket), False),
    ("of a clock that was set back", lambda _s, noted: noted.write_text(f"{int(time()) + 10 * STALLED_SECONDS}\n"),
     False),
    ("no number", lambda _socket, noted: noted.write_text("soon\n"), False),
    ("empty", lambda _socket, noted: noted.write_text(""), False),
    ("a link", lambda _socket, noted: _made_a_link(noted), False),
    ("without a socket", lambda socket, _noted: socket.unlink(), False),
]  # fmt: skip


@pytest.mark.parametrize(("note", "change", "counts"), NOTES, ids=[row[0] for row in NOTES])
def test_what_counts_as_a_note(note: str, change: Callable[[Path, Path], object], counts: bool, tmp_path: Path) -> None:
    socket = tmp_path / "hook.sock"
    socket.touch()
    os.utime(socket, (time() - 100, time() - 100))
    note_stalled(str(socket))
    change(socket, Path(stalled_file(str(socket))))
    assert (stalled_until(str(socket)) > time()) == counts, note


@pytest.mark.parametrize("verb", ["doctor", "status"])
def test_a_stopped_server_is_reported_with_what_to_do(verb: str, hooks: Hooks) -> None:
    def told() -> tuple[str, float]:
        start = monotonic()
        done = subprocess.run(
            [sys.executable, "-I", "-m", "interpose", verb], env=hooks.environment, cwd=hooks.home,
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return done.stdout, monotonic() - start

    with ServerProcess(hooks.home) as server:
        _, usual = told()
        server.signal(signal.SIGSTOP)
        said, took = told()
        assert f"process {server.child.pid} listens and does not answer" in said
        assert f"kill -CONT {server.child.pid}" in said
        assert verb == "status" or "OPEN  server" in said
        assert took < 30 + 3 * usual, "it does not wait for each of its questions"
