"""Real server processes for tests: each with a home of its own, on ports that the system gives."""

from __future__ import annotations

import atexit
import functools
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from msgspec import Struct

from tests.e2e.callers import Caller
from tests.support.timing.patience import PATIENCE

AGENTS = ("/api/v1/intercept", "/api/v1/validate", "/api/v1/events")
JSON = {"Content-Type": "application/json"}


class Reply(Struct, frozen=True):
    """What a server said."""

    status: int
    body: Any


class ServerProcess:
    """`interpose serve` in a directory. Ends with the test."""

    def __init__(self, home: Path, *arguments: str, **environment: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self._environment = clean_environment(home) | environment
        self._arguments = arguments
        self._caller: Caller | None = None

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "interpose", "serve", "--port", "0", *self._arguments]
        self.log = (self.home / "stderr").open("wb")
        self.child = subprocess.Popen(
            command, cwd=self.home, env=self._environment, stdout=subprocess.PIPE, stderr=self.log
        )
        self.port = self._read_port()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._caller is not None:
            self._caller.close()
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait(PATIENCE)
        if self.child.stdout is not None:
            self.child.stdout.close()
        self.log.close()

    def _read_port(self) -> int:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            if found := re.search(rb"http://127\.0\.0\.1:(\d+)", line):
                return int(found[1])
        raise AssertionError(f"the server did not start: {(self.home / 'stderr').read_text()}")

    @property
    def token(self) -> str:
        """The operator's."""
        lines = (self.home / ".config" / "interpose" / "tokens").read_text().splitlines()
        return next(line.split()[2] for line in lines if not line.startswith("#"))

    def ask(self, method: str, path: str, value: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        """One request on a connection of its own. With the operator's token, but for health."""
        named = dict(JSON) | dict(headers or {})
        if path not in ("/healthz", "/readyz"):
            named["Authorization"] = f"Bearer {self.token}"
        if path.startswith(AGENTS):  # what asks is an agent, and so must not be whoever opens the terminals of a test
            self._caller = self._caller or Caller()
            return Reply(*self._caller.ask(self.port, method, path, value, named))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, None if value is None else json.dumps(value), named)
            answer = connection.getresponse()
            return Reply(answer.status, json.loads(answer.read()))
        finally:
            connection.close()

    def intercept(self, command: str, *, session: str = "s", **headers: str) -> Any:
        """What is said about a command."""
        body = {
            "event": "tools/call",
            "phase": "request",
            "payload": {"name": "Bash", "arguments": {"command": command}},
            "context": {"sessionId": session, "principal": {"type": "agent", "id": "tester"}},
            "config": {"working_directory": "/home/dev/project"},
        }
        return self.ask("POST", "/api/v1/intercept", body, headers).body

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.child.send_signal(number)


def clean_environment(home: Path) -> dict[str, str]:
    """An environment with this home, and nothing of whoever runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "PYTHONPATH") if name in os.environ}
    return kept | {"HOME": str(home), "XDG_RUNTIME_DIR": _runtime(str(home))}


@functools.cache
def _runtime(_home: str) -> str:
    """A home in a directory of a test is too long a way for a Unix socket."""
    directory = tempfile.mkdtemp(prefix="ip")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory
