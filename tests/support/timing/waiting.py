"""Hooks that wait for a person, for tests: a server whose questions a test answers by its token."""

from __future__ import annotations

import json
import socket
import subprocess
from typing import Any

from tests.e2e.processes import ServerProcess
from tests.support.hosts.hooked import Done, Hooks, until
from tests.support.timing.patience import PATIENCE

ASKED = "git push --force origin feature"
SETTINGS = "hooks: {deadline: 8, idle_timeout: 20, wait: {all: %d}}\napprovals: {proof: token, ask: queue}\n"


def questions(server: ServerProcess) -> list[dict[str, Any]]:
    """Those that wait for an answer."""
    found: list[dict[str, Any]] = server.ask("GET", "/api/v1/approvals?limit=500").body["approvals"]
    return [one for one in found if one["state"] == "waiting"]


def question(server: ServerProcess, but: tuple[str, ...] = ()) -> str:
    """The one that comes, besides those that are known."""
    until(lambda: any(one["id"] not in but for one in questions(server)))
    (new,) = (one["id"] for one in questions(server) if one["id"] not in but)
    return str(new)


def answer(server: ServerProcess, id: str, word: str = "approve", **more: Any) -> None:
    said = server.ask("POST", f"/api/v1/approvals/{id}/{word}", more)
    assert said.status == 200, said


def started(hooks: Hooks, way: str, body: bytes) -> subprocess.Popen[bytes]:
    """A hook that was given its event, and can wait as long as its installed client does."""
    wait = str(int(hooks.loaded.config.hooks.wait.get("all", 0)))
    hook = hooks.start(way, *(("--wait", wait) if way == "program" else ()))
    assert hook.stdin is not None
    hook.stdin.write(body)
    hook.stdin.close()
    hook.stdin = None
    return hook


def ended(hook: subprocess.Popen[bytes], timeout: float = PATIENCE) -> Done:
    out, err = hook.communicate(timeout=timeout)
    return Done(out, err.decode(), hook.returncode)


def said(done: Done) -> dict[str, Any]:
    """What Claude Code is told about its call."""
    assert done.code == 0, done
    told: dict[str, Any] = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}
    return told


def put(hooks: Hooks, body: bytes, wait: int, host: str = "claude-code") -> socket.socket:
    """An event at the server's own socket, as a client puts it that can wait so long."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE)
    connection.connect(str(hooks.socket))
    head = f"POST /hook/{host} HTTP/1.1\r\nHost: localhost\r\nX-Interpose-Wait: {wait}\r\n"
    connection.sendall(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
    return connection


def heard(connection: socket.socket) -> bytes:
    """All that it says, up to its end."""
    with connection:
        data = b""
        while part := connection.recv(65536):
            data += part
        return data
