"""Installed hooks for tests: clients in a home of their own, and servers in our place saying what they like."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from interpose.core.config.load import Loaded, load
from interpose.doors.hooks.clients.client_files import address_file, client_for
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from tests.e2e.processes import clean_environment
from tests.support.timing.patience import PATIENCE

TOKEN, PROOF = "t" * 43, "p" * 43


class Done(Struct, frozen=True):
    """How a hook ended."""

    stdout: bytes
    stderr: str
    code: int


def event_of(command: str, **more: object) -> bytes:
    """What Claude Code says before it runs a command."""
    told = {"session_id": "s1", "cwd": "/home/dev/proj", "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    return json.dumps(told | {"tool_input": {"command": command}, "tool_use_id": "t1"} | more).encode()


class Hooks:
    """The clients of one host, installed in a home. `python` stands in for the interpreter."""

    def __init__(
        self, home: Path, host: str = "claude-code", *, python: str = sys.executable, settings: str = "",
        fail_open: bool = False,
    ) -> None:  # fmt: skip
        self.home = home
        if settings:
            (home / ".config" / "interpose").mkdir(parents=True)
            (home / ".config" / "interpose" / "interpose.yaml").write_text(settings, encoding="utf-8")
        self.environment = clean_environment(home)
        self.loaded: Loaded = load(environ=self.environment)
        client = client_for(
            HOSTS[host], self.loaded.config, self.loaded.places, python=python, fail_open=fail_open,
            settings=home / "settings.json",
        )  # fmt: skip
        self.bash, self.python, *others = (file.path for file in client.files)
        self.line = others[0] if others else None
        """What a host runs each second to show what is asked."""
        self.command, self.program, self._without_bash = client.command, client.program, client.without_bash
        self.telling = client.telling
        for file in client.files:
            file.path.parent.mkdir(parents=True, exist_ok=True)
            file.path.write_text(file.text, encoding="utf-8")
            file.path.chmod(file.mode)
        self.old_bash = self.bash.with_name(f"{self.bash.name}.old")
        self.old_bash.write_text(as_in_bash_3(self.bash.read_text(encoding="utf-8")), encoding="utf-8")
        self.old_bash.chmod(0o700)
        self.socket = Path(self.loaded.config.hooks.socket)
        self.address = address_file(str(self.socket))
        self.socket.parent.mkdir(parents=True, exist_ok=True, mode=0o700)

    def ways(self) -> dict[str, list[str]]:
        """Each program that answers events."""
        return {
            "bash": [str(self.bash)],
            "old bash": [str(self.old_bash)],
            "python": [sys.executable, *self._without_bash[1:]],
            "program": [sys.executable, "-I", "-m", "interpose", "hook", "claude-code"],
            "in process": [sys.executable, "-I", "-m", "interpose", "hook", "claude-code", "--in-process"],
        }

    def start(self, way: str, *words: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """A hook that waits for its event."""
        return subprocess.Popen(
            [*self.ways()[way], *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.environment | dict(environment or {}), cwd=self.home,
        )  # fmt: skip

    def run(
        self,
        way: str,
        body: bytes,
        *words: str,
        environment: Mapping[str, str] | None = None,
        timeout: float = PATIENCE,
    ) -> Done:
        """One event from beginning to end."""
        return finished(self.start(way, *words, environment=environment), body, timeout)

    def point_to(self, port: int, pid: int | None = None, proof: str = PROOF) -> None:
        """Say where a server listens."""
        self.address.write_text(f"{port} {os.getpid() if pid is None else pid} {TOKEN} {proof}\n", encoding="ascii")
        self.address.chmod(0o600)


def as_in_bash_3(client: str) -> str:
    """The bash client, which takes the bash that runs it for version 3.2. `read` is what it was there.

    From bash 3.2's own source: a `read` whose time is up says 1, and assigns nothing. It knows no `-N`.
    """
    newer = "BASH_VERSINFO[0] >= 5"
    assert newer in client
    first, _, rest = client.partition("\n")
    return f"{first}\n{_BASH_3}\n{rest.replace(newer, 'BASH_VERSINFO[0] >= 99')}"


_BASH_3 = """\
BASH_COMPAT=3.2
unset EPOCHSECONDS EPOCHREALTIME
read() {
  local name=${!#} kept code
  if [[ $1 == *N* || $2 == *N* ]]; then return 2; fi
  kept=${!name}
  builtin read "$@"
  code=$?
  if ((code > 128)); then printf -v "$name" %s "$kept"; return 1; fi
  return "$code"
}"""


def finished(process: subprocess.Popen[bytes], body: bytes, timeout: float = PATIENCE) -> Done:
    """How a hook ends that is given this event."""
    out, err = process.communicate(body, timeout)
    return Done(out, err.decode("utf-8", "surrogateescape"), process.returncode)


def answer_bytes(body: bytes = b"", *, code: str = "0", proof: str = PROOF, stderr: str = "") -> bytes:
    """An answer as our server gives it."""
    head = f"HTTP/1.1 200 OK\r\nX-Interpose-Exit: {code}\r\nX-Interpose-Stderr: {stderr}\r\n"
    return f"{head}X-Interpose-Proof: {proof}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@contextmanager
def saying(reply: bytes | None, path: Path | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """A server that hears a request and says these bytes, or nothing at all. Gives its port and what it heard."""
    family = socket.AF_INET if path is None else socket.AF_UNIX
    heard: list[bytes] = []
    kept: list[socket.socket] = []
    with socket.socket(family) as server:
        server.bind(("127.0.0.1", 0) if path is None else str(path))
        if path is not None:
            path.chmod(0o600)
        server.listen(16)

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                if reply is None:
                    kept.append(connection)
                    continue
                heard.append(_request(connection))
                connection.sendall(reply)
                connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield (0 if path else server.getsockname()[1]), heard
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join(PATIENCE)
            for connection in kept:
                connection.close()


def _request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length"))
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body[:length]


STAND_IN = """#!/bin/sh
printf '%s\\n' "$*" > "$0.words"
env > "$0.environment"
cat > "$0.event"
printf decided
exit {code}
"""


class StandIn:
    """A program in the place of the interpreter: it keeps what it was given and says `decided`."""

    def __init__(self, directory: Path, code: int = 0) -> None:
        self.path = directory / "stand-in"
        self.path.write_text(STAND_IN.format(code=code), encoding="ascii")
        self.path.chmod(0o700)

    @property
    def words(self) -> str:
        file = Path(f"{self.path}.words")
        return file.read_text(encoding="utf-8") if file.exists() else ""

    @property
    def event(self) -> bytes:
        return Path(f"{self.path}.event").read_bytes()

    @property
    def environment(self) -> dict[str, str]:
        lines = Path(f"{self.path}.environment").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)


def until(true: Callable[[], bool]) -> None:
    """Come back when something is true. The test's own limit of time ends what never is."""
    waiting = threading.Event()
    while not true():
        waiting.wait(0.01)
