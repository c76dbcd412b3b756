"""Text fits the terminal, and is left alone where a program may read it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from interpose.doors.cli.shared import terminal
from interpose.doors.cli.shared.terminal import hanging, page_width, width, wrapped

INTERPOSE = [sys.executable, "-m", "interpose"]


@pytest.mark.parametrize(
    ("note", "columns", "at_terminal", "want", "want_of_pages"),
    [
        ("a pipe has no width", "", False, None, None),
        ("whatever COLUMNS says, but for help", "60", False, None, 60),
        ("a terminal as COLUMNS says", "60", True, 60, 60),
        ("not narrower than can be read", "3", True, 40, 40),
        ("nor wider", "500", True, 100, 100),
        ("no number", "wide", False, None, None),
        ("a number that is none", "٣٠", False, None, None),
        ("nought", "0", False, None, None),
        ("a number without end", "9" * 100_000, True, 100, 100),
    ],
)
def test_how_wide_text_may_be(
    note: str,
    columns: str,
    at_terminal: bool,
    want: int | None,
    want_of_pages: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(terminal, "is_terminal", lambda: at_terminal)
    assert (width(), page_width()) == (want, want_of_pages), note


@pytest.mark.parametrize(
    ("note", "text", "across", "first", "later", "want"),
    [
        ("short", "one two", 40, "", "", ["one two"]),
        ("nobody cuts off", "one two " * 9, None, "- ", "  ", ["- " + "one two " * 9]),
        ("wrapped", "one two three", 9, "- ", "  ", ["- one two", "  three"]),
        ("a long word stays whole", "a /very/long/path b", 8, "", "", ["a", "/very/long/path", "b"]),
        ("an option stays whole", "say --dry-run now", 12, "", "", ["say", "--dry-run", "now"]),
        ("colours take no room", "one two", 9, "\x1b[1mok\x1b[0m ", "   ", ["\x1b[1mok\x1b[0m one", "   two"]),
        ("nothing", "", 40, "label ", "", ["label"]),
    ],
)
def test_text_in_lines(note: str, text: str, across: int | None, first: str, later: str, want: list[str]) -> None:
    assert wrapped(text, across, first=first, later=later) == want, note


def test_a_label_that_takes_most_of_the_line_leaves_room_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "width", lambda: 40)
    first, second, *_ = hanging("x" * 30 + " ", "one two three four five six seven").split("\n")
    assert first.startswith("x" * 30 + " one")
    assert re.match(r" {8}\S", second)
    assert hanging("ab ", "one " * 20).split("\n")[1].startswith("   one")


def at_terminal(columns: int, words: list[str], home: Path) -> list[str]:
    """What a verb shows on a terminal of so many columns, without colours."""
    handle, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", "TERM": "xterm"}
    shown = b""
    with subprocess.Popen([*INTERPOSE, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environ):
        os.close(theirs)
        try:
            while part := os.read(handle, 4096):
                shown += part
        except OSError:
            pass  # so a terminal ends whose program has
    os.close(handle)
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).replace("\r", "").splitlines()


def piped(words: list[str], home: Path) -> str:
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", "COLUMNS": "50"}
    return subprocess.run([*INTERPOSE, *words], capture_output=True, text=True, check=False, env=environ).stdout


@pytest.mark.parametrize("words", [["status"], ["doctor"], ["policy", "list"], ["check", "cat ~/.ssh/id_rsa"]], ids=str)
def test_what_verbs_say_fits_a_terminal_and_is_whole_in_a_pipe(words: list[str], tmp_path: Path) -> None:
    narrow = at_terminal(72, words, tmp_path)
    whole = piped(words, tmp_path)
    assert max(len(line) for line in narrow if "/" not in line) <= 72
    assert max(map(len, whole.splitlines())) > 72
    assert "\x1b" not in whole
    assert " ".join("\n".join(narrow).split()) == " ".join(whole.split())
