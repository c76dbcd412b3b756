"""`interpose serve token` and a server that a hook started: it listens to its socket alone, takes new tokens."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from interpose.doors.cli.shared.server_client import connection_to, reachable
from tests.e2e.processes import clean_environment
from tests.support.timing.patience import PATIENCE

COMMAND = [sys.executable, "-m", "interpose"]


@pytest.fixture
def socket(tmp_path: Path) -> Iterator[str]:
    environment = clean_environment(tmp_path)
    path = str(Path(environment["XDG_RUNTIME_DIR"]) / "interpose" / "hook.sock")
    child = subprocess.Popen(
        [*COMMAND, "serve", "--on-demand"], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while not reachable(path):
            assert child.poll() is None
            time.sleep(0.05)
        yield path
    finally:
        child.kill()
        child.wait(PATIENCE)


def token(tmp_path: Path, *words: str) -> tuple[str, str]:
    done = subprocess.run(
        [*COMMAND, "token", *words], cwd=tmp_path, env=clean_environment(tmp_path), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return done.stdout.strip(), done.stderr


def status(socket: str, method: str, path: str, headers: Mapping[str, str]) -> int:
    connection = connection_to(socket, 30.0)
    try:
        connection.request(method, f"/api/v1/{path}", headers=dict(headers))
        return connection.getresponse().status
    finally:
        connection.close()


def test_tokens_are_taken_over(socket: str, tmp_path: Path) -> None:
    secret, said = token(tmp_path, "new", "ann", "--role", "approver")
    assert "The server knows." in said
    shown = {"Authorization": f"Bearer {secret}"}
    assert status(socket, "GET", "approvals", shown) == 200
    assert "The server knows." in token(tmp_path, "revoke", "ann")[0]
    assert status(socket, "GET", "approvals", shown) == 401


def test_reloading_takes_the_token_of_an_operator(socket: str, tmp_path: Path) -> None:
    secret, _ = token(tmp_path, "new", "ann", "--role", "approver")
    assert status(socket, "POST", "reload", {}) == 401
    assert status(socket, "POST", "reload", {"Authorization": f"Bearer {secret}"}) == 403


def test_a_broken_file_of_tokens_is_said_and_the_old_ones_stay(socket: str, tmp_path: Path) -> None:
    secret, _ = token(tmp_path, "new", "ann", "--role", "operator")
    shown = {"Authorization": f"Bearer {secret}"}
    assert status(socket, "POST", "reload", shown) == 200
    (file,) = [path for path in tmp_path.rglob("tokens") if path.is_file()]
    whole = file.read_bytes()
    file.write_bytes(whole + b"this is no token\n")
    assert status(socket, "POST", "reload", shown) == 409
    assert status(socket, "GET", "approvals", shown) == 200
    file.write_bytes(whole)
    assert status(socket, "POST", "reload", shown) == 200
