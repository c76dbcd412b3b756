"""The scorecard: every row has a command that exists, and the page is what the rows and the last results say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.scorecard.__main__ import main
from tests.scorecard.page import PAGE, write_page
from tests.scorecard.results import RowRuns, Run, judge, load_results, refresh_outcomes
from tests.scorecard.rows import Figure, LongForm, Row, RowsError, find_missing_parts, load_rows
from tests.scorecard.running import Commands, count_tests, read_figures, run_long, run_short
from tests.support.hosts.hooked import until

CARD = load_rows()
HEAD = "sections:\n  - title: Some\n    rows:\n"
FIGURE = Figure(name="lost", pattern="([0-9]+) lost", at_most=0)
LONG = LongForm(command="scripts/long", scale="1,000 kills", needed="Forty are few.")


def make_row(**more: Any) -> Row:
    return Row(**{"id": "R1", "promise": "It holds.", "commands": ("scripts/short",), **more})


def make_run(**more: Any) -> Run:
    given = {"date": "2026-11-18", "python": "3.11", "cores": 2, "commands": ("scripts/short",), "outcome": "held"}
    return Run(**{**given, **more})


@pytest.mark.parametrize("row", CARD.rows, ids=lambda row: row.id)
def test_what_a_row_names_exists(row: Row) -> None:
    assert row.commands
    assert find_missing_parts(row) == []


def test_the_page_is_what_rows_and_results_say() -> None:
    results = refresh_outcomes(CARD, load_results())
    assert PAGE.read_text(encoding="utf-8") == write_page(CARD, results), "write it anew: scripts/scorecard --page"


@pytest.mark.parametrize(
    ("row", "mistake"),
    [
        ("{id: R1, promise: It holds.}", "rows.yaml:4: Object missing required field `commands`"),
        ("{id: R1, promise: It holds., commands: []}", "rows.yaml:4: R1: the row has no command"),
        ("{id: R1, promise: ' ', commands: [scripts/test x/y]}", "R1: the row has no promise"),
        ("{id: R1, promise: It holds., commands: [pytest]}", "a command begins with a script of this repository"),
        ("{id: R1, promise: It holds., commands: ['scripts/test \"']}", "can not be split into words"),
        ("{id: r, promise: It holds., commands: [scripts/test]}", "an id is a letter and a number"),
        ("{id: R1, promise: It holds., commands: [scripts/test], gap: some}", "gap is a sentence"),
        ("{id: R1, promise: It holds., commands: [scripts/test], how: so}", "unknown field `how`"),
        (
            "{id: R1, promise: It holds., commands: [scripts/test], figures: [{name: f, pattern: '('}]}",
            "figure 'f': the pattern is no regular expression",
        ),
        (
            "{id: R1, promise: It holds., commands: [scripts/test], figures: [{name: f, pattern: 'f'}]}",
            "the pattern has 0 groups",
        ),
    ],
)
def test_a_mistake_in_a_row_is_located(tmp_path: Path, row: str, mistake: str) -> None:
    path = tmp_path / "rows.yaml"
    path.write_text(f"{HEAD}      - {row}\n", encoding="utf-8")
    with pytest.raises(RowsError) as found:
        load_rows(path)
    assert mistake in str(found.value)


def test_an_id_is_given_once(tmp_path: Path) -> None:
    path = tmp_path / "rows.yaml"
    path.write_text(HEAD + "      - {id: R1, promise: It holds., commands: [scripts/test]}\n" * 2, encoding="utf-8")
    with pytest.raises(RowsError, match=r"rows\.yaml:5: R1: there are two rows of this id"):
        load_rows(path)


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("scripts/absent", ["scripts/absent"]),
        ("scripts/bench absent", ["bench/absent.py"]),
        ("scripts/test -q tests/absent.py", ["tests/absent.py"]),
        ("scripts/test tests/law/test_law.py::test_absent", ["tests/law/test_law.py::test_absent"]),
        ("scripts/test -q", ["a path of tests"]),
        ("scripts/bench accuracy --no-peers", []),
    ],
)
def test_parts_that_do_not_exist_are_named(command: str, missing: list[str]) -> None:
    assert find_missing_parts(make_row(commands=(command,))) == missing


@pytest.mark.parametrize(
    ("row", "runs", "outcome"),
    [
        (make_row(), RowRuns(), "not run"),
        (make_row(), RowRuns(short=make_run()), "held"),
        (make_row(), RowRuns(short=make_run(commands=("scripts/other",))), "not run"),
        (make_row(), RowRuns(short=make_run(failures=("It exited with 1.",))), "failed"),
        (make_row(), RowRuns(short=make_run(skipped=1)), "partly"),
        (make_row(gap="Some is not shown."), RowRuns(short=make_run()), "partly"),
        (make_row(missing="It is not built."), RowRuns(short=make_run()), "not built"),
        (make_row(missing="It is not built."), RowRuns(short=make_run(failures=("It exited with 1.",))), "failed"),
        (make_row(figures=(FIGURE,)), RowRuns(short=make_run()), "failed"),
        (make_row(figures=(FIGURE,)), RowRuns(short=make_run(figures={"lost": 1})), "failed"),
        (make_row(figures=(FIGURE,)), RowRuns(short=make_run(figures={"lost": 0})), "held"),
        (make_row(long=LONG), RowRuns(short=make_run()), "partly"),
        (make_row(long=LONG), RowRuns(short=make_run(), long=make_run(commands=("scripts/long",))), "held"),
        (make_row(long=LONG), RowRuns(short=make_run(), long=make_run(commands=("scripts/less",))), "partly"),
        (
            make_row(long=LONG),
            RowRuns(short=make_run(), long=make_run(commands=("scripts/long",), outcome="failed")),
            "partly",
        ),
    ],
)
def test_runs_are_judged(row: Row, runs: RowRuns, outcome: str) -> None:
    assert judge(row, runs).outcome == outcome


def make_scripts(place: Path, **texts: str) -> None:
    (place / "scripts").mkdir()
    for name, text in texts.items():
        script = place / "scripts" / name
        script.write_text(f"#!{sys.executable} -I\n{text}\n", encoding="utf-8")
        script.chmod(0o755)


def test_commands_run_once_and_their_figures_are_kept(tmp_path: Path) -> None:
    make_scripts(
        tmp_path,
        short="open('ran', 'a').write('x')\nprint('3 lost')\nprint('0 lost')\nprint('2 passed, 1 skipped in 0.10s')",
    )
    commands = Commands(tmp_path, tmp_path)
    row = make_row(figures=(FIGURE,))
    run = run_short(row, RowRuns(), commands, lambda _: None).short
    assert run is not None
    assert (run.figures, run.passed, run.skipped, run.outcome) == ({"lost": 0}, 2, 1, "partly")
    run_short(make_row(id="R2"), RowRuns(), commands, lambda _: None)
    assert (tmp_path / "ran").read_text() == "x"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise SystemExit('the disk is full')", "`scripts/short` exited with 1. It said: the disk is full"),
        ("import os; os.kill(os.getpid(), 9)", "`scripts/short` was ended by signal 9."),
    ],
)
def test_a_command_that_fails_says_why(tmp_path: Path, text: str, said: str) -> None:
    make_scripts(tmp_path, short=text)
    run = run_short(make_row(), RowRuns(), Commands(tmp_path, tmp_path), lambda _: None).short
    assert run is not None
    assert (run.outcome, run.failures) == ("failed", (said,))


def test_a_command_ends_in_time_with_all_that_it_started(tmp_path: Path) -> None:
    make_scripts(
        tmp_path,
        short="import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "open('child', 'w').write(str(child.pid))\ntime.sleep(600)",
    )
    commands = Commands(tmp_path, tmp_path)
    done = commands.run("scripts/short", 3)
    assert done.failure == "`scripts/short` took longer than 3 s."
    if (tmp_path / "child").exists():  # on a busy machine it may not have come so far
        pid = int((tmp_path / "child").read_text())
        until(lambda: not is_running(pid))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_long_run_is_kept_with_its_scale_and_makes_the_row_whole(tmp_path: Path) -> None:
    make_scripts(tmp_path, short="", long="open('ran', 'a').write('x')")
    row = make_row(long=LongForm(command="scripts/long", scale="3 runs", times=3, needed="One is little."))
    commands = Commands(tmp_path, tmp_path)
    runs = run_short(row, RowRuns(), commands, lambda _: None)
    assert runs.short is not None
    assert runs.short.outcome == "partly"
    runs = run_long(row, runs, (), commands, lambda _: None)
    assert runs.short is not None
    assert runs.long is not None
    assert (runs.short.outcome, runs.long.outcome, runs.long.scale) == ("held", "held", "3 runs")
    assert (tmp_path / "ran").read_text() == "xxx"


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("3 passed in 0.10s", (3, 0)),
        ("= 1 failed, 3 passed, 2 skipped in 61.00s (0:01:01) =", (3, 2)),
        ("1 passed in 0.10s\n5 passed in 0.10s", (5, 0)),
        ("nothing ran", (0, 0)),
    ],
)
def test_tests_are_counted(output: str, counts: tuple[int, int]) -> None:
    assert count_tests(output) == counts


def test_the_last_number_counts() -> None:
    figure = Figure(name="answers", pattern="^([0-9,.]+) answers")
    assert read_figures((figure,), "1 answers\n12,345 answers\nno 7 answers") == {"answers": 12345}


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--row", "Z9"], 2, "Z9"),
        (["--long", "R6"], 64, "R6"),
        (["--jobs", "0"], 64, "--jobs is at least 1"),
        (["--absent"], 64, "--absent"),
    ],
)
def test_wrong_arguments_run_nothing(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    try:
        found = main(arguments)
    except SystemExit as ended:
        found = int(str(ended.code))
    assert (found, said in capsys.readouterr().err) == (code, True)
