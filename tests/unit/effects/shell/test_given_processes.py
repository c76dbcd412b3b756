"""A process of ours that is given to a program is a question, whatever the program is called."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from interpose.effects.invocation import FOUND_PROCESSES
from interpose.effects.paths import held, ours
from interpose.effects.programs.shared import watchers
from interpose.rules.guards.command_safety_guard import CommandSafetyGuard

HOME, CWD = "/home/dev", "/home/dev/proj"
OURS = 31337
GUARD = CommandSafetyGuard(home=HOME)

GIVEN = [
    ("a priority", "renice 19 {}"),
    ("a debugger", "gdb --batch -p {} -ex bt"),
    ("a profiler, attached to its option", "py-spy dump --pid={}"),
    ("a tracer, attached to its letter", "strace -p{}"),
    ("a group", "cgclassify -g cpu:slow {}"),
    ("a limit on the time it gets", "cpulimit -p {} -l 1"),
    ("a program that nobody knows", "frobnicate --target {}"),
]
LOOKS = [("a table", "ps -p {}"), ("its end", "tail --pid {} -f log"), ("a number", "sleep {}"), ("a word", "echo {}")]


@pytest.fixture(autouse=True)
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "_held", replace(held(), processes=frozenset({OURS})))


@pytest.mark.parametrize(("note", "command"), GIVEN, ids=[row[0] for row in GIVEN])
def test_our_process_is_a_question(note: str, command: str) -> None:
    assert GUARD.judge(command.format(OURS), CWD, HOME, CWD).decision != "allow", note


@pytest.mark.parametrize(("note", "command"), GIVEN, ids=[row[0] for row in GIVEN])
def test_another_process_is_none(note: str, command: str) -> None:
    assert GUARD.judge(command.format(OURS + 1), CWD, HOME, CWD).decision == "allow", note


def test_a_small_number_is_a_count_unless_its_option_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "_held", replace(held(), processes=frozenset({8})))
    assert GUARD.judge("make -j8 -l 8", CWD, HOME, CWD).decision == "allow"
    assert GUARD.judge("py-spy dump --pid 8", CWD, HOME, CWD).decision != "allow"


@pytest.mark.parametrize(("note", "command"), LOOKS, ids=[row[0] for row in LOOKS])
def test_looking_is_none(note: str, command: str) -> None:
    assert GUARD.judge(command.format(OURS), CWD, HOME, CWD).decision == "allow", note


def test_every_taint_of_a_found_process_counts() -> None:
    assert watchers.WATCHER | watchers.OURS | watchers.AT_OUR_PORT == FOUND_PROCESSES
