"""`interpose serve token`: tokens are made, end, are listed and taken back, and a server that runs takes them over."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from interpose.doors.cli import main
from interpose.doors.http_server.messages import Caller
from interpose.doors.http_server.tokens import open_tokens, read_tokens
from tests.e2e.processes import ServerProcess, clean_environment
from tests.support.timing.patience import PATIENCE

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / ".config" / "interpose" / "tokens"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    for name, value in clean_environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)

    def run(*argv: str) -> tuple[int, str, str]:
        code = main(["token", *argv])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_token_is_printed_once_and_kept_as_a_digest(run: Run, file: Path) -> None:
    code, out, err = run("new", "ci")
    secret = out.strip()
    assert (code, len(secret) >= 43) == (0, True)
    assert "No server runs here" in err
    assert secret not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert read_tokens(file).caller(secret) == Caller("agent", "ci")
    assert [path.name for path in file.parent.iterdir()] == ["tokens"]


def test_a_token_ends(run: Run, file: Path) -> None:
    _, out, _ = run("new", "ci", "--role", "auditor", "--for", "90d", "--json")
    told = json.loads(out)
    ends = datetime.fromisoformat(told["until"])
    assert timedelta(days=89) < ends - datetime.now(UTC) < timedelta(days=91)
    assert read_tokens(file).caller(told["token"]) == Caller("auditor", "ci")
    file.write_text(re.sub(r"until=\S+", "until=2020-01-01", file.read_text()))
    assert read_tokens(file).caller(told["token"]) is None
    assert "ci        auditor  ended 2020-01-01T00:00:00Z" in run("list")[1]


def test_a_token_is_taken_back(run: Run, file: Path) -> None:
    _, out, _ = run("new", "ci")
    before = file.read_text()
    assert run("revoke", "ci")[0] == 0
    assert read_tokens(file).caller(out.strip()) is None
    assert file.read_text() == "".join(line for line in before.splitlines(True) if not line.startswith("ci "))
    assert run("revoke", "ci")[0] == 1


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (("new", "anonymous"), "those who have no token"),
        (("new", "a b"), "a name has"),
        (("new", "operator"), "already"),
        (("new", "x", "--for", "soon"), "days or hours"),
        (("revoke", "operator"), "the only token"),
    ],
)
def test_wrong_usage_says_what_is_right(run: Run, file: Path, argv: tuple[str, ...], why: str) -> None:
    open_tokens(file)
    before = file.read_text()
    code, _, err = run(*argv)
    assert code == 64
    assert why in err
    assert file.read_text() == before


def test_a_server_that_runs_takes_it_over(run: Run, tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        _, out, err = run("new", "ci")
        assert "The server knows." in err
        shown = {"Authorization": f"Bearer {out.strip()}"}
        assert asked(server, shown) == 200
        assert "The server knows." in run("revoke", "ci")[1]
        assert asked(server, shown) == 401


def asked(server: ServerProcess, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    body = json.dumps({"command": "ls"})
    try:
        connection.request("POST", "/api/v1/cli/validate", body, headers | {"Content-Type": "application/json"})
        return connection.getresponse().status
    finally:
        connection.close()
