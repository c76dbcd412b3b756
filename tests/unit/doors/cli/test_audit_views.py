"""What people see of a ledger at first: numbers to ask for, who asked, and no canaries; words that mean nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from interpose.composition.build import open_ledger
from interpose.core.registry import InterceptorRegistry
from interpose.core.types import Context, ToolCall
from interpose.doors.cli import main
from interpose.doors.cli.auditing.audit_text import lines
from interpose.doors.cli.explaining.verdict_text import Ink
from interpose.engine.engine import Engine
from interpose.record.ledger.canaries import ALLOWED, REFUSED, SESSION
from interpose.record.store import open_store
from tests.support.ledgers import all_records

CALLS = [
    # command, session, agent, source, request
    ("ls", "s1", "", "hook:claude-code", ""),
    (REFUSED, SESSION, "", "hook:claude-code", ""),
    (ALLOWED, SESSION, "", "hook:gemini-cli", ""),
    ("cat notes", "s1", "sub-7", "hook:claude-code", "1"),
    ("curl example.com", SESSION, "", "hook:codex", ""),
    ("pwd", "s2", "main", "library", ""),
]

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("views") / "interpose" / "ledger"
    with open_ledger(directory) as ledger:
        engine = Engine(InterceptorRegistry(), recorder=ledger.recorder)
        for command, session, agent, source, request in CALLS:
            context = Context(session_id=session, agent_id=agent, source=source, request_id=request)
            engine.run_tool(ToolCall("exec", {"command": command}, context=context), lambda _: "done")
    return directory


@pytest.fixture
def audit(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Run:
    shutil.copytree(made, tmp_path / "interpose" / "ledger")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def run(*words: str) -> tuple[int, str, str]:
        try:
            code = main(["audit", *words])
        except SystemExit as error:  # argparse
            code = int(str(error.code))
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


def commands(out: str) -> list[str]:
    known = [command for command, *_ in CALLS]
    return [next(command for command in known if line.endswith(command)) for line in out.splitlines()]


NOT_SHOWN = "2 canaries of `interpose doctor` are not shown: --canaries shows them\n"
VIEWS = [
    ("canaries are hidden, and counted", ["search"], ["pwd", "curl example.com", "cat notes", "ls"], NOT_SHOWN),
    ("tail, too", ["tail"], ["ls", "cat notes", "curl example.com", "pwd"], NOT_SHOWN),
    ("one that is hidden", ["search", "--decision", "allow", "--text", ALLOWED],
     [], "nothing found\n1 canary of `interpose doctor` is not shown: --canaries shows them\n"),
    ("hidden ones take nobody's place", ["search", "-n", "3"], ["pwd", "curl example.com", "cat notes"], ""),
    ("all of them", ["search", "--canaries"], [command for command, *_ in CALLS[::-1]], ""),
    ("whoever asks for their session means them", ["search", "--session", SESSION],
     ["curl example.com", ALLOWED, REFUSED], ""),
    ("a host is the agent where none is named", ["search", "--agent", "claude-code"],
     ["ls"], "1 canary of `interpose doctor` is not shown: --canaries shows them\n"),
    ("an agent that is named", ["search", "--agent", "sub-7"], ["cat notes"], ""),
]  # fmt: skip


@pytest.mark.parametrize(("note", "words", "wanted", "said"), VIEWS, ids=[view[0] for view in VIEWS])
def test_what_is_shown(note: str, words: list[str], wanted: list[str], said: str, audit: Run) -> None:
    code, out, err = audit(*words)
    assert (commands(out), err) == (wanted, said)
    assert code == (0 if wanted else 1)


def test_programs_get_everything(audit: Run) -> None:
    for words in (["search", "--json"], ["tail", "--json"], ["export"], ["search", "--format", "record"]):
        _, out, err = audit(*words)
        assert (len(out.splitlines()), err) == (len(CALLS), "")
    _, out, _ = audit("stats", "--json")
    assert json.loads(out)["total"] == len(CALLS)


def test_statistics_leave_canaries_out_and_say_so(audit: Run) -> None:
    # The session is counted as a whole: numbers have no commands.
    _, out, _ = audit("stats")
    assert out.startswith("3 decisions ")
    assert "(3 canaries of `interpose doctor` not counted: --canaries counts them)" in out
    assert "gemini-cli" not in out
    _, out, _ = audit("stats", "--canaries")
    assert out.startswith(f"{len(CALLS)} decisions ")
    assert "gemini-cli" in out


@pytest.mark.parametrize("name", ["{}", "#{}"])
def test_a_number_shows_what_search_printed_it_for(name: str, audit: Run) -> None:
    _, out, _ = audit("search", "--canaries")
    for line in out.splitlines():
        number = line.split()[0].removeprefix("#")
        code, shown, _ = audit("show", name.format(number))
        assert code == 0
        assert json.dumps(commands(line)[0]) in shown


def test_a_request_that_is_called_like_a_number_hides_no_record(audit: Run) -> None:
    """`cat notes` came in a request `1`; `ls` is number 1."""
    assert '"ls"' in audit("show", "1")[1]
    assert commands(audit("search", "--request", "1")[1]) == ["cat notes"]


def test_a_number_that_nothing_has(audit: Run) -> None:
    code, out, err = audit("show", "4711")
    assert (code, out) == (1, "")
    assert err == "interpose audit show: there is no call, number or request 4711\n"


def test_a_terminal_has_headings(made: Path) -> None:
    store = open_store(made / "ledger.db", read_only=True)
    head, *rows = lines(all_records(store), Ink(False), 100)
    store.close()
    for name, first in (("agent", "claude-code"), ("tool", "exec"), ("call", "ls")):
        assert rows[-1].index(first) == head.index(name)
    assert lines([], Ink(False), 100) == []


MISTYPED = [
    (
        "a decision",
        ["audit", "search", "--decision", "dney"],
        "no decision 'dney'. Did you mean deny? Known are allow,",
    ),
    ("in capitals", ["audit", "tail", "--decision", "DENY"], "Did you mean deny?"),
    ("nothing like it", ["audit", "stats", "--decision", "x"], "no decision 'x'. Known are allow, rewrite, ask, deny."),
    ("an effect", ["audit", "export", "--effect", "fs.delet"], "Did you mean fs.delete?"),
    ("a format", ["audit", "search", "--format", "intercpt"], "Did you mean intercept?"),
    ("a role", ["token", "new", "ann", "--role", "approvr"], "no role 'approvr'. Did you mean approver?"),
    ("a profile", ["check", "--profile", "strikt", "ls"], "no profile 'strikt'. Did you mean strict?"),
    ("a pack", ["policy", "show", "basline"], "no pack 'basline'. Did you mean baseline?"),
    ("what steers a terminal", ["audit", "search", "--decision", "\x1b[2Jdeny"], "no decision '\\x1b[2Jdeny'."),
    ("one that is very long", ["audit", "search", "--decision", "deny" * 10_000], "Known are allow"),
]


@pytest.mark.parametrize(("note", "words", "wanted"), MISTYPED, ids=[note for note, _, _ in MISTYPED])
def test_a_word_that_means_nothing(
    note: str, words: list[str], wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(words)
    except SystemExit as error:
        code = int(str(error.code))
    said = capsys.readouterr().err
    assert code == 64
    assert wanted in said
    assert "\x1b" not in said
    assert len(said) < 2500
