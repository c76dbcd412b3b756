"""Processes of benchmarks: started on a core of their own, waited for, and ended whatever happens."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import IO

from bench.checks import require

STARTING, STOPPING = 60.0, 20.0
FIRST_CORE, LAST_CORE = 0, -1


def pin(command: Sequence[str], core: int | None) -> list[str]:
    """A command that runs on the first or the last core that this process may use; None is on any."""
    return list(command) if core is None else ["taskset", "-c", str(core_number(core)), *command]


def core_number(core: int) -> int:
    """The system's number of the first or the last core that this process may use."""
    return _CORES[core]


_CORES = sorted(os.sched_getaffinity(0))


def stay_on(core: int) -> None:
    """Keep this process on one core."""
    os.sched_setaffinity(0, {core_number(core)})


def free_port() -> int:
    """A loopback port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has had, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def serving(
    command: Sequence[str], port: int, *, core: int | None, env: Mapping[str, str], cwd: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A server, once it listens on its port. It ends with the block, and must not have ended before."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            pin(command, core), env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
        )
        try:
            _wait_for(child, port, errors)
            yield child
            require(child.poll() is None, f"{command} ended with {child.returncode}: {_last_line(errors)}")
        finally:
            stop(child)


def stop(child: subprocess.Popen[bytes]) -> None:
    """End a process, by force if it takes too long."""
    child.terminate()
    try:
        child.wait(STOPPING)
    except subprocess.TimeoutExpired:
        pass
    finally:  # also when this waiting is interrupted
        child.kill()
        child.wait()


def run_checked(
    command: Sequence[str], *, input: str | None = None, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A program that must end with 0; the message has the last that it said otherwise."""
    done = subprocess.run(command, input=input, env=env, cwd=cwd, text=True, capture_output=True, check=False)
    said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    require(done.returncode == 0, f"{' '.join(command)[:160]} ended with {done.returncode}: {said}")
    return done


def _wait_for(child: subprocess.Popen[bytes], port: int, errors: IO[bytes]) -> None:
    until = monotonic() + STARTING
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            break
        require(child.poll() is None, f"{child.args!r} ended with {child.returncode}: {_last_line(errors)}")
        require(monotonic() < until, f"{child.args!r} does not listen on port {port}: {_last_line(errors)}")
        sleep(0.05)
    # Another program may have taken the port in between, and would be measured.
    require(child.poll() is None, f"{child.args!r} ended with {child.returncode}: {_last_line(errors)}")


def _last_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
