"""Running the commands of rows: each in a process group of its own, with its output in a file and an end in time."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from platform import python_version
from time import monotonic

import msgspec
from msgspec import Struct

from tests.scorecard.results import RowRuns, Run, judge, judge_long
from tests.scorecard.rows import ROOT, Figure, Row, RowsError

SHORT_SECONDS = 900
"""A short command that takes longer than this has failed."""

_SUMMARY = re.compile(r"^=* ?(?:\d+ [a-z]+, )*\d+ [a-z]+(?:, \d+ [a-z]+)* in [\d.]+s", re.M)
_COUNT = re.compile(r"(\d+) (passed|skipped|xfailed)")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


class Done(Struct, frozen=True):
    """What one command gave. `failure` is empty if it passed."""

    output: str
    seconds: float
    failure: str = ""
    passed: int = 0
    skipped: int = 0


class Commands:
    """Runs commands, each text once: rows that name the same command share its result."""

    def __init__(self, logs: Path, root: Path = ROOT) -> None:
        self.logs = logs
        self._root = root
        self._lock = threading.Lock()
        self._results: dict[str, Future[Done]] = {}
        self._live: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(self, command: str, seconds: float | None) -> Done:
        """The result of a command; another thread may be about to have it."""
        with self._lock:
            known = self._results.get(command)
            mine = self._results.setdefault(command, Future())
        if known is None:
            try:
                mine.set_result(self.run_again(command, seconds))
            except BaseException as error:
                mine.set_exception(error)
                raise
        return mine.result()

    def run_again(self, command: str, seconds: float | None) -> Done:
        """Run a command, whether or not it ran before."""
        # Every process of every test would compile all of it again, and options of the caller's are not the row's.
        dropped = ("PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS")
        environment = {name: value for name, value in os.environ.items() if name not in dropped}
        log = self.logs / f"{re.sub(r'[^A-Za-z0-9]+', '-', command)[:80]}.log"
        began = monotonic()
        with log.open("wb") as out:
            try:
                child = self._start(command, environment, out.fileno())
            except OSError as error:
                return Done("", 0.0, f"`{command}` could not be started: {error.strerror}.")
            late = False
            try:
                child.wait(seconds)
            except subprocess.TimeoutExpired:
                late = True
            finally:
                self._end(child)
        output = _ESCAPES.sub("", log.read_text(encoding="utf-8", errors="replace"))
        spent = monotonic() - began
        passed, skipped = count_tests(output)
        failure = f"`{command}` took longer than {seconds:.0f} s." if late else describe_exit(command, child.returncode)
        if failure:
            failure += _last_words(output)
        else:
            log.unlink()
        return Done(output, spent, failure, passed, skipped)

    def _start(self, command: str, environment: dict[str, str], out: int) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise OSError(0, "the run was stopped")
            child = subprocess.Popen(
                shlex.split(command), cwd=self._root, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            self._live.add(child)
            return child

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        """End a process and all that it started: nothing may be left behind."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        with self._lock:
            self._live.discard(child)

    def stop(self) -> None:
        """End everything that runs, and start nothing more."""
        with self._lock:
            self._stopped = True
            live = list(self._live)
        for child in live:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)


def count_tests(output: str) -> tuple[int, int]:
    """How many tests passed and were skipped, as the last summary of pytest says."""
    summaries = _SUMMARY.findall(output)
    counts = {word: int(number) for number, word in _COUNT.findall(summaries[-1])} if summaries else {}
    return counts.get("passed", 0), counts.get("skipped", 0)


def describe_exit(command: str, code: int) -> str:
    """Why a command failed; nothing if it did not."""
    if code == 0:
        return ""
    return f"`{command}` was ended by signal {-code}." if code < 0 else f"`{command}` exited with {code}."


def _last_words(output: str) -> str:
    """The last line that says something, for the row: the log has the rest."""
    lines = [line.strip("= \t\r") for line in output.splitlines() if line.strip("= \t\r")]
    return f" It said: {lines[-1][:160].replace('|', '/').replace('`', '')}" if lines else ""


def read_figures(figures: Sequence[Figure], output: str) -> dict[str, float]:
    """The figures that were printed."""
    found: dict[str, float] = {}
    for figure in figures:
        numbers = re.findall(figure.pattern, output, re.M)
        if numbers:
            try:
                found[figure.name] = float(numbers[-1].replace(",", ""))
            except ValueError:
                raise RowsError(f"figure {figure.name!r}: {numbers[-1]!r} is no number") from None
    return found


def run_short(row: Row, runs: RowRuns, commands: Commands, began: Callable[[str], None]) -> RowRuns:
    """Run the short form of a row, and say what is known of the row now."""
    done = []
    for command in row.commands:
        began(command)
        done.append(commands.run(command, SHORT_SECONDS))
    run = _put_together(done, row.figures, row.commands, "")
    new = msgspec.structs.replace(runs, short=run)
    return msgspec.structs.replace(runs, short=msgspec.structs.replace(run, outcome=judge(row, new).outcome))


def run_long(
    row: Row, runs: RowRuns, files: Sequence[str], commands: Commands, began: Callable[[str], None]
) -> RowRuns:
    """Run the long form of a row. Raises RowsError if it has none, or if it lacks files."""
    long = row.long
    if long is None:
        raise RowsError(f"{row.id} has no long form: its commands show all that is promised")
    if bool(long.takes) != bool(files):
        raise RowsError(
            f"{row.id} is measured with files of your own: scripts/scorecard --long {row.id} -- {long.takes}"
            if long.takes
            else f"{row.id} takes no files"
        )
    command = shlex.join(
        part for word in shlex.split(long.command) for part in (files if word == long.takes and word else [word])
    )
    done: list[Done] = []
    for number in range(long.times):
        began(f"{command} ({number + 1} of {long.times})" if long.times > 1 else command)
        done.append(commands.run_again(command, None))
        if done[-1].failure:
            break
    run = _put_together(done, row.long_figures, (long.command,), long.scale)
    run = msgspec.structs.replace(run, outcome=judge_long(row, run).outcome)
    new = msgspec.structs.replace(runs, long=run)
    if new.short is None:
        return new
    return msgspec.structs.replace(new, short=msgspec.structs.replace(new.short, outcome=judge(row, new).outcome))


def _put_together(done: Sequence[Done], figures: Sequence[Figure], commands: tuple[str, ...], scale: str) -> Run:
    return Run(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        python=python_version(),
        cores=os.cpu_count() or 1,
        commands=commands,
        outcome="not run",
        seconds=round(sum(one.seconds for one in done), 1),
        scale=scale,
        passed=sum(one.passed for one in done),
        skipped=sum(one.skipped for one in done),
        figures=read_figures(figures, "\n".join(one.output for one in done)),
        failures=tuple(dict.fromkeys(one.failure for one in done if one.failure)),
    )
