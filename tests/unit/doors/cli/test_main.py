"""What every verb has in common: readers that go away, interrupts, wrong usage."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from interpose.doors.cli import EXIT_CONFIG, EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_USAGE, main
from interpose.doors.cli.shared.missing_packages import EXTRAS

# Tests may be run where interrupts are ignored, as in the background of a shell: who is started here heeds them.
HEEDING = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
INTERPOSE = [sys.executable, "-c", f"{HEEDING}; import sys; from interpose.doors.cli import main; sys.exit(main())"]


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


@pytest.mark.parametrize(
    ("missing", "verb", "extra", "code"),
    [
        ("httptools", ["serve"], "server", EXIT_CONFIG),
        ("cryptography", ["policy", "keygen", "key"], "signatures", EXIT_CONFIG),
        ("asyncpg", ["audit", "tail", "--ledger", "postgresql://127.0.0.1/none"], "postgres", EXIT_CONFIG),
    ],
)
def test_a_missing_extra_is_one_line_that_says_what_to_install(
    missing: str, verb: list[str], extra: str, code: int, tmp_path: Path
) -> None:
    without = f"import sys; sys.modules[{missing!r}] = None; from interpose.doors.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", without, *verb],
        capture_output=True, text=True, check=False, cwd=tmp_path, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (code, "")
    assert f"pip install 'interpose[{extra}]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert list(tmp_path.rglob("key*")) == []


def test_every_optional_package_has_its_extra() -> None:
    project = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for package, extra in EXTRAS.items():
        wanted = project["optional-dependencies"][extra]
        names = (package, package.replace("_", "-"), f"Py{package.upper()}")
        assert any(one.startswith(names) for one in wanted), (package, extra)


def test_a_failure_of_ours_ends_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_args: object) -> int:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("interpose.doors.cli.status.run", broken)
    assert main(["status"]) == EXIT_INTERNAL
    said = capsys.readouterr().err
    assert "ZeroDivisionError: a mistake" in said
    assert "open an issue" in said.splitlines()[-2]
    assert "interpose doctor" in said.splitlines()[-1]


def test_a_package_of_nobody_that_is_missing_is_a_failure_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_args: object) -> int:
        raise ModuleNotFoundError("No module named 'msgspec'", name="msgspec")

    monkeypatch.setattr("interpose.doors.cli.status.run", broken)
    assert main(["status"]) == EXIT_INTERNAL
    assert "pip install" not in capsys.readouterr().err
