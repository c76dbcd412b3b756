"""A whole run names a failure at once, finds what its tests leave behind, and cleans up when it is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

PASSES = "def test_that_passes(): pass\n"
FAILS = "def test_that_fails(): assert 6 * 7 == 54\n"
LEAVES_A_PROCESS = """
import subprocess, sys
def test_that_leaves_a_process():
    # When Popen comes back it is `sleep`, and no more what was started to become it.
    detach = "import subprocess; subprocess.Popen(['sleep', '1000.25'], start_new_session=True)"
    subprocess.run([sys.executable, "-c", detach], check=True)
"""
HANGS = f"""
import os, pathlib, time
{LEAVES_A_PROCESS}
def test_that_hangs():
    test_that_leaves_a_process()
    pathlib.Path(os.environ["TEST_HANGS"]).write_text(os.environ["TMPDIR"])
    time.sleep(1000)
"""
OWN = f"{1000 + os.getpid()}.375"
"""Seconds that no other run on this machine sleeps."""
HANGS_UP = """
import os, signal
def test_that_hangs_up(): os.kill(int(os.environ["TEST_RUN"]), signal.SIGHUP)
"""
RUN = """
import os, sys
os.environ["TEST_RUN"] = str(os.getpid())
from tests.whole_run.running import Command, Suite, run
suites = [Suite(path, (path, "-p", "no:cacheprovider"), 1) for path in sys.argv[1:]]
sys.exit(run([Command("a check", ("true",))], Command("beside", ("true",)), suites, grace=1))
"""


def start(directory: Path, *texts: str, by: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    files = []
    for number, text in enumerate(texts):
        files.append(directory / f"test_suite_{number}.py")
        files[-1].write_text(text, encoding="utf-8")
    return subprocess.Popen(
        [*by, sys.executable, "-c", RUN, *map(str, files)], cwd=Path(__file__).parents[2], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ | {"TEST_HANGS": str(directory / "hangs")},
    )  # fmt: skip


def processes_with(word: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
    return [line for line in found if word in line]


def test_a_run_that_passes(tmp_path: Path) -> None:
    run = start(tmp_path, PASSES)
    output, _ = run.communicate()
    assert run.returncode == 0, output
    assert "1 passed" in output
    assert output.endswith("· all passed\n")


def test_a_failure_is_named_at_once_and_other_suites_still_run(tmp_path: Path) -> None:
    run = start(tmp_path, FAILS, PASSES)
    output, _ = run.communicate()
    assert run.returncode == 1
    at_once, _, summary = output.partition("= FAILURES =")
    assert "test_that_fails (call)" in at_once
    assert "assert (6 * 7) == 54" in at_once
    assert "1 passed" in summary
    assert "· FAILED: " in summary


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to a process that asks for them")
def test_a_process_that_is_left_behind_fails_the_run_and_is_ended(tmp_path: Path) -> None:
    run = start(tmp_path, LEAVES_A_PROCESS.replace("1000.25", OWN))
    output, _ = run.communicate()
    assert run.returncode == 1, output
    assert f"sleep {OWN}" in output
    assert "test_that_leaves_a_process" in output.partition("LEFT BEHIND")[2]
    assert processes_with(f"sleep {OWN}") == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to a process that asks for them")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_what_it_started(tmp_path: Path, number: signal.Signals) -> None:
    duration = f"{OWN}{int(number)}"
    run = start(tmp_path, HANGS.replace("1000.25", duration))
    while not (tmp_path / "hangs").exists() or not (tmp_path / "hangs").read_text():
        assert run.poll() is None
        sleep(0.05)
    directory = Path((tmp_path / "hangs").read_text(encoding="utf-8"))
    assert processes_with(f"sleep {duration}") != []
    run.send_signal(number)
    output, _ = run.communicate()
    assert run.returncode == 130, output
    assert processes_with(f"sleep {duration}") == []
    assert processes_with(str(tmp_path)) == []
    assert not directory.exists()


@pytest.mark.parametrize(("by", "code"), [((), 130), (("nohup",), 0)], ids=["a terminal", "nohup"])
def test_a_run_ends_with_its_terminal_unless_it_was_told_not_to(tmp_path: Path, by: tuple[str, ...], code: int) -> None:
    run = start(tmp_path, HANGS_UP, by=by)
    output, _ = run.communicate()
    assert run.returncode == code, output
