"""What every verb has in common: readers that go away, interrupts, wrong usage."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from interpose.cli import EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_USAGE, main

# Tests may be run where interrupts are ignored, as in the background of a shell: who is started here heeds them.
HEEDING = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
INTERPOSE = [sys.executable, "-c", f"{HEEDING}; import sys; from interpose.cli import main; sys.exit(main())"]


@pytest.mark.parametrize("verb", [["demo", "--tour"], ["redact", "--list"], ["check", "--json", "rm -rf /"]])
def test_a_reader_that_goes_away_is_no_crash(verb: list[str]) -> None:
    with subprocess.Popen([*INTERPOSE, *verb], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (EXIT_INTERNAL, b"")


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        (["demo"], b"ls\n"),
        (["redact"], b"ls\n"),
        (["check", "--jsonl"], b'{"id": 1, "args": {"command": "ls"}}\n'),
    ],
)
def test_an_interrupt_ends_it_without_a_trace(verb: list[str], said: bytes) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([*INTERPOSE, *verb], stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(said)
        shown = b""
        while shown.count(b"exec> ") < 2 if verb == ["demo"] else not shown:  # until it waits for more
            shown += process.stdout.read(4096)
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, complained = process.communicate()
    assert (process.returncode, complained) == (EXIT_INTERRUPTED, b"")


def test_a_call_that_is_none_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--tool", "tool_call", "--arg", "name="]) == EXIT_USAGE
    assert "carries no tool name" in capsys.readouterr().err


def test_a_row_that_is_no_call_is_refused_and_no_failure_of_ours() -> None:
    done = subprocess.run(
        [*INTERPOSE, "check", "--jsonl"],
        input=b'{"id": 1, "tool": "tool_call", "args": {}}\n',
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert b'"rule":"bad-input"' in done.stdout


def test_the_text_that_is_explained_is_the_text_that_was_judged(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--arg", "command=rm -rf", "--arg", "args=/"]) == 2
    assert "rm -rf /\n         ^" in capsys.readouterr().out


def test_a_relative_directory_is_seen_from_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--cwd", ".", "rm -rf node_modules"]) == 0
    assert "/node_modules" in capsys.readouterr().out
