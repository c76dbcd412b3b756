"""A user's home with a configuration, a project in it, and a decision server that all doors share."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from interpose import reset_global_interceptors
from tests.e2e.corridor.calls import GOVERNANCE, PLUGIN, PROJECT_RULES, SCOUT, SETTINGS, USER_RULES
from tests.e2e.processes import ServerProcess, clean_environment
from tests.support.timing.patience import PATIENCE
from tests.unit.composition.test_plugins import distribution

SHELL_SERVER = Path(__file__).parents[1] / "mcp_servers" / "echo_server.py"
ROWS = 1000
"""Rows of one page of the ledger: more than one door plays."""


class World(Struct, frozen=True):
    """Where everything is. `server` decides for all who ask over a socket."""

    home: Path
    project: str
    environment: dict[str, str]
    server: ServerProcess
    governed: bool

    def run(self, *words: str, given: str = "") -> str:
        """What a program prints that is started in the project and ends well."""
        done = subprocess.run(
            [sys.executable, *words], env=self.environment, cwd=self.project, input=given, capture_output=True,
            text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def records(self) -> list[dict[str, Any]]:
        """Everything that the ledger has, the oldest first."""
        rows: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self.server.ask("GET", f"/api/v1/audit?limit={ROWS}{cursor}").body
            rows += page["records"]
            if page["next"] is None:
                return rows[::-1]
            cursor = f"&cursor={page['next']}"

    def question(self, id: str) -> dict[str, Any]:
        """A question at the desk."""
        found: dict[str, Any] = self.server.ask("GET", f"/api/v1/approvals/{id}").body
        return found

    def hook(self, host: str, event: bytes) -> tuple[bytes, str, int]:
        """What the server says to a hook of a host: its output, its line for people, its exit code."""
        connection = _UnixConnection(str(Path(self.environment["XDG_RUNTIME_DIR"]) / "interpose" / "hook.sock"))
        try:
            connection.request("POST", f"/hook/{host}", event)
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, body
            return body, answer.headers["X-Interpose-Stderr"], int(answer.headers["X-Interpose-Exit"])
        finally:
            connection.close()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self._path)


@contextmanager
def opened(place: Path, *, governed: bool) -> Iterator[World]:
    """The world while its server runs. This process lives in it, too: the library reads its configuration."""
    home = place.resolve() / "home"
    site = distribution(  # beside the home: a server trusts no package of the directory that it is started in
        place.resolve() / "site",
        "corridor",
        points="corridor = corridor_plugin:register",
        modules={"corridor_plugin": PLUGIN},
    )
    # The gateway and the proxy are told by their settings for whom they act: they are the reader's, if there are roles.
    agent = f", agent: {SCOUT}" if governed else ""
    gateway = f"gateway: {{servers: {{box: {json.dumps(_server())}}}{agent}}}\nproxy: {{wait: 0{agent}}}\n"
    files = {
        ".config/interpose/interpose.yaml": f"{SETTINGS}{gateway}",
        ".config/interpose/policy/own.yaml": USER_RULES,
        "project/.interpose/policy.yaml": PROJECT_RULES,
    }
    for name, text in (files | ({".config/interpose/governance.yaml": GOVERNANCE} if governed else {})).items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(0o600)
    found = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    environment = clean_environment(home) | {"PYTHONPATH": found}
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("XDG_", "INTERPOSE_"))]:
            patch.delenv(name)
        for name in ("HOME", "XDG_RUNTIME_DIR"):
            patch.setenv(name, environment[name])
        patch.syspath_prepend(str(site))
        patch.chdir(home / "project")
        reset_global_interceptors()
        with ServerProcess(home, PYTHONPATH=found) as server:
            yield World(home, str(home / "project"), environment, server, governed)
        reset_global_interceptors()


def _server() -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-I", str(SHELL_SERVER)]}
