"""What `scripts/setup` shows while something takes longer than a second. The step ends when the test says so."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.terminals import Terminal
from tests.support.timing.patience import PATIENCE

SCRIPTS = Path(__file__).parents[2] / "scripts"
STEP = (
    '. scripts/progress; TOTAL=9 step "doing it" bash -c '
    "'echo Collecting a; echo Collecting b; echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done; echo why; exit 3'"
    "; echo ended:$?"
)


@contextmanager
def started(place: Path) -> Iterator[subprocess.Popen[str]]:
    (place / "scripts").symlink_to(SCRIPTS)
    child = subprocess.Popen(
        ["bash", "-c", STEP], cwd=place, env=os.environ | {"PROGRESS_EVERY": "1"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        yield child
    finally:
        (place / "go").touch()
        child.communicate(timeout=PATIENCE)


def test_lines_come_while_it_goes_on_and_its_words_if_it_fails(tmp_path: Path) -> None:
    with started(tmp_path) as child:
        assert child.stderr is not None
        assert child.stdout is not None
        assert child.stderr.readline() == "· doing it\n"
        assert child.stderr.readline().endswith(" s, 2 of 9 packages\n"), "before it has ended"
        (tmp_path / "go").touch()
        assert "why\n" in child.stderr
        assert child.stdout.read() == "ended:3\n"


def test_an_interrupt_ends_what_was_started(tmp_path: Path) -> None:
    with started(tmp_path) as child:
        assert child.stderr is not None
        child.stderr.readline()
        child.stderr.readline()
        pid = int((tmp_path / "pid").read_text())
        child.send_signal(signal.SIGINT)
        assert child.wait(PATIENCE) == 130
        while Path(f"/proc/{pid}").exists():  # until it is reaped
            time.sleep(0.05)


def test_a_terminal_sees_the_seconds(tmp_path: Path) -> None:
    (tmp_path / "scripts").symlink_to(SCRIPTS)
    with Terminal({"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, tmp_path) as shell:
        shell.type(f"bash -c {_quoted(STEP)}\n")
        shell.until("doing it, 1 s, 2 of 9 packages")
        (tmp_path / "go").touch()
        shell.until("ended:3")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
