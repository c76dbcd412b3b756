"""Somebody watches for questions before there is a server, a ledger or a question: at a real terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.processes import ServerProcess, clean_environment
from tests.e2e.terminals import Terminal, approve_shown, interpose

NOTHING_YET = "waiting for the first question: nothing was asked yet, and no server runs"
ASKED = "git push --force origin feature"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    settings = tmp_path / ".config" / "interpose" / "interpose.yaml"
    settings.parent.mkdir(parents=True, mode=0o700)
    settings.write_text("approvals:\n  ask: queue\n")
    return tmp_path


@pytest.fixture
def watching(home: Path) -> Iterator[Terminal]:
    """The command line ends with its exit code."""
    with Terminal(clean_environment(home), home) as shell:
        shell.type(f"{' '.join(interpose('approvals', 'watch'))}; echo co''de:$?:\n")
        shell.until(NOTHING_YET)
        yield shell


def code(shell: Terminal) -> int:
    shell.until("code:")
    return int(shell.until(":"))


def test_the_first_question_is_shown_and_answered_when_it_comes(home: Path, watching: Terminal) -> None:
    with ServerProcess(home) as server:
        watching.until("waiting for questions; q ends")
        assert not server.intercept(ASKED)["valid"]
        assert ASKED in watching.until("[q] quit ")
        approve_shown(watching)
        watching.until("approved")
        assert server.intercept(ASKED)["valid"]
    watching.until("waiting for questions: no server runs")
    watching.type("q")
    assert code(watching) == 0


def test_a_question_of_a_server_that_ended_is_shown_and_answered_when_one_is_back(home: Path) -> None:
    with Terminal(clean_environment(home), home) as shell:  # older than the program that asks
        with ServerProcess(home) as server:
            assert not server.intercept(ASKED)["valid"]
        shell.type(f"{' '.join(interpose('approvals', 'watch'))}; echo co''de:$?:\n")
        shell.until("waiting for questions: no server runs")
        assert ASKED in shell.until("[q] quit ")
        approve_shown(shell)
        shell.until("not done")
        shell.until("[q] quit ")
        with ServerProcess(home) as server:
            approve_shown(shell)
            shell.until("approved")
            assert server.intercept(ASKED)["valid"]
        shell.type("q")
        assert code(shell) == 0


def test_ctrl_c_ends_it(watching: Terminal) -> None:
    watching.type("\x03")
    assert code(watching) == 130
    assert "Traceback" not in watching.shown


def test_a_server_that_is_not_there_yet_is_waited_for(home: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t" * 40)
    (tmp_path / "token").chmod(0o600)
    with Terminal(clean_environment(home), home) as shell:
        place = ("--server", "http://127.0.0.1:1", "--token-file", str(tmp_path / "token"))
        shell.type(f"{' '.join(interpose('approvals', 'watch', *place))}; echo co''de:$?:\n")
        shell.until("can not look")
        shell.until("waiting for questions at http://127.0.0.1:1")
        shell.type("q")
        assert code(shell) == 0
