"""Run checks and suites one after another, name what failed, and leave nothing behind."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NamedTuple, NoReturn

from tests.whole_run.mounts import mounted, unmount_below
from tests.whole_run.processes import ProcessTree

ROOT = Path(__file__).parents[2]
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
GRACE = 60.0
"""Seconds in which a process that is ending may end: a busy machine takes its time."""
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Command(NamedTuple):
    """A program that must exit with 0."""

    title: str
    words: tuple[str, ...]


class Suite(NamedTuple):
    """Tests that pytest runs together."""

    title: str
    arguments: tuple[str, ...]
    workers: int = CORES


class InterruptedRunError(Exception):
    """The run was asked to end."""


def run(checks: Sequence[Command], beside: Command, suites: Sequence[Suite], *, grace: float = GRACE) -> int:
    """Run all of them and return the exit code: 0 when everything passed, 130 when the run was interrupted."""
    os.chdir(ROOT)
    for number in _ENDING_SIGNALS:
        if (number, signal.getsignal(number)) != (signal.SIGHUP, signal.SIG_IGN):  # `nohup` wants it to go on
            signal.signal(number, _interrupt)
    # Everything that tests write lies in one directory; a short one, because paths of sockets have 107 bytes at most.
    directory = tempfile.mkdtemp(prefix="i", dir="/tmp")
    tree = ProcessTree()
    try:
        failed = _run_everything(tree, directory, checks, beside, suites, grace)
    except InterruptedRunError as stop:
        _say(f"interrupted ({stop}): ending what runs")
        return 130
    finally:
        for number in _ENDING_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        tree.end_everything()
        unmount_below(directory)
        shutil.rmtree(directory, ignore_errors=True)
    _say(f"FAILED: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


def _run_everything(
    tree: ProcessTree, directory: str, checks: Sequence[Command], beside: Command, suites: Sequence[Suite], grace: float
) -> list[str]:
    environment = os.environ | {"TMPDIR": directory}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # every process of every test would compile all of it again
    failed = []
    for check in checks:
        _say(check.title)
        if tree.wait(tree.start(check.words)):
            failed.append(check.title)
    with (Path(directory) / "beside").open("w+b") as output:
        started_beside = tree.start(beside.words, output=output)
        before = mounted()
        for suite in suites:
            failed += _failures_of(suite, tree, environment, before, grace)
        _say(beside.title)
        if tree.wait(started_beside):
            output.seek(0)
            sys.stdout.write(output.read().decode())
            failed.append(beside.title)
    return failed


def _failures_of(
    suite: Suite, tree: ProcessTree, environment: dict[str, str], before: frozenset[str], grace: float
) -> list[str]:
    """What of a suite went wrong: its tests, or what they left behind."""
    _say(f"pytest: {suite.title}")
    failed = []
    options = ("-q", "-n", str(suite.workers), "--dist", "worksteal", "-p", "tests.whole_run.failures")
    command = [sys.executable, "-m", "pytest", *options, *suite.arguments]
    started = time.monotonic()
    if tree.wait(tree.start(command, environment=environment)):
        failed.append(suite.title)
    for left in tree.left_behind(grace):
        _say(f"LEFT BEHIND by {suite.title}: {left}")
        failed.append(f"{suite.title} (a process was left behind)")
    tree.end_orphans()
    for place in sorted(mounted() - before):
        _say(f"LEFT BEHIND by {suite.title}: the mount {place}")
        failed.append(f"{suite.title} (a mount was left behind)")
    _say(f"{suite.title}: {time.monotonic() - started:.0f} s")
    return failed


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    raise InterruptedRunError(signal.Signals(number).name)


def _say(text: str) -> None:
    sys.stdout.write(f"· {text}\n")
    sys.stdout.flush()
