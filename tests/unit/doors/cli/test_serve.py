"""`interpose serve` that can't start: it says what is wrong, where, and what to do."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from interpose.doors.cli import main

Prepare = Callable[[Path], list[str]]


def _config(text: str) -> Prepare:
    def prepare(home: Path) -> list[str]:
        (home / "config" / "interpose.yaml").write_text(text, encoding="utf-8")
        return []

    return prepare


def _open_directory(home: Path) -> list[str]:
    (home / "open").mkdir()
    (home / "open").chmod(0o1777)
    return ["--socket", str(home / "open" / "api.sock")]


def _long_path(home: Path) -> list[str]:
    return ["--socket", str(home / ("d" * 120) / "api.sock")]


def _loose_tokens(home: Path) -> list[str]:
    (home / "config" / "tokens").write_text(f"ci agent {'x' * 40}\n", encoding="ascii")
    (home / "config" / "tokens").chmod(0o644)
    return []


def _broken_rules(home: Path) -> list[str]:
    (home / "config" / "policy").mkdir()
    (home / "config" / "policy" / "mine.yaml").write_text(
        "version: 1\nrules:\n  - {id: x, when: (}\n", encoding="utf-8"
    )
    return []


REFUSALS: list[tuple[str, Prepare, int, tuple[str, ...]]] = [
    (
        "every mistake of a configuration on a line of its own",
        _config("server:\n  port: abc\n  prot: 1\n"),
        78,
        ("interpose.yaml:2: server.port: expected an integer", "interpose.yaml:3: server.prot: unknown key"),
    ),
    ("a flag", lambda _: ["--port", "99999"], 78, ("command line: server.port: expected an integer from 0 to 65535",)),
    ("rules", _broken_rules, 78, ("mine.yaml:3: ",)),
    (
        "a database that is not there, without its password",
        _config("store: {url: 'postgresql://me:hush-hush@127.0.0.1:1/none'}\n"),
        69,
        ("PostgreSQL can't be reached: ",),
    ),
    ("a directory of everybody", _open_directory, 69, ("others can reach this directory (mode 1777)", "mode 0700")),
    ("a path that no socket can have", _long_path, 69, ("at most 107 bytes; set server.socket and hooks.socket",)),
    ("tokens that others can read", _loose_tokens, 69, ("chmod go-rwx",)),
    ("a name that leads nowhere", lambda _: ["--host", "nowhere.invalid"], 69, ("nowhere.invalid: can't listen here",)),
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, place in (
        ("HOME", "."), ("XDG_STATE_HOME", "state"), ("XDG_RUNTIME_DIR", "run"), ("INTERPOSE_CONFIG_DIR", "config"),
    ):  # fmt: skip
        (tmp_path / place).mkdir(exist_ok=True)
        monkeypatch.setenv(name, str(tmp_path / place))
    return tmp_path


@pytest.mark.parametrize(("note", "prepare", "code", "said"), REFUSALS, ids=[case[0] for case in REFUSALS])
def test_why_it_does_not_start(
    home: Path, capsys: pytest.CaptureFixture[str], note: str, prepare: Prepare, code: int, said: tuple[str, ...]
) -> None:
    given = prepare(home)
    assert main(["serve", *([] if "--port" in given else ["--port", "0"]), *given]) == code, note
    err = capsys.readouterr().err
    lines = [line for line in err.splitlines() if " info " not in line]
    assert lines[0] == "interpose serve: not started"
    assert len(lines) == 1 + max(1, len(said) if code == 78 else 1)
    for text in said:
        assert text in err
    assert "hush-hush" not in err
    assert "\\n" not in err


def test_a_port_that_is_taken(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 69
    assert f"127.0.0.1:{port}: can't listen here: Address already in use; stop what listens" in capsys.readouterr().err
