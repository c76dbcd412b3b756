from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interpose.composition.build import open_engines
from interpose.core.types import ToolCall
from interpose.doors.cli import main
from interpose.doors.cli.auditing.jsonl_rows import MAX_ROW_BYTES
from interpose.doors.cli.check import CallJudge, home_of, judge_rows
from interpose.doors.cli.explaining.verdict_text import Ink, columns, explain, visible
from tests.support.timing.patience import PATIENCE

CWD, HOME = "/workspace/project", "/home/dev"
JUDGE = CallJudge(open_engines)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` is a process of its own, and takes the home of the row that it judges."""
    monkeypatch.setenv("HOME", os.environ["HOME"])


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*argv: str) -> tuple[int, str, str]:
        try:
            code = main(["check", *argv])
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.mark.parametrize(
    ("command", "code", "word"), [("ls", 0, "ALLOW"), ("git reset --hard", 1, "ASK"), ("rm -rf /", 2, "DENY")]
)
def test_exit_codes(run: Run, command: str, code: int, word: str) -> None:
    status, out, _ = run(command, "--cwd", CWD, "--home", HOME)
    assert status == code
    assert out.startswith(word)


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["--profile", "lax", "ls"],
        ["--arg", "novalue", "ls"],
        ["ls", "--arg", "command=ls"],
        ["--jsonl", "ls"],
        ["a", "b"],
    ],
)
def test_wrong_usage(run: Run, argv: list[str]) -> None:
    status, out, err = run(*argv)
    assert status == 64
    assert not out
    assert err


def test_a_failure_of_ours_has_its_own_exit_code(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("interpose.reading.calls.reading_of", broken)
    status, _, err = run("ls")
    assert status == 70
    assert "broken" in err


def test_json_tells_all(run: Run) -> None:
    status, out, _ = run("cd / && rm -rf *", "--json", "--cwd", CWD, "--home", HOME)
    answer = json.loads(out)
    assert status == 2
    assert answer["decision"] == "deny"
    assert answer["rule"] == "delete-system"
    assert "fs.delete" in {effect["kind"] for effect in answer["effects"]}


def test_other_tools(run: Run) -> None:
    assert run("--tool", "read", "--arg", "path=~/.ssh/id_rsa", "--cwd", CWD, "--home", HOME)[0] == 1
    assert run("--tool", "read", "--arg", "path=README.md", "--cwd", CWD, "--home", HOME)[0] == 0
    assert run("--tool", "Bash", "--arg", "command=rm -rf /")[0] == 2


def test_strict(run: Run) -> None:
    assert run("sudo ls", "--profile", "strict")[0] == 1


def test_no_colour_without_a_terminal(run: Run) -> None:
    assert "\x1b" not in run("rm -rf /")[1]


def test_the_cause_is_underlined() -> None:
    command = "echo hi && rm -rf /"
    shown = explain(command, JUDGE("exec", {"command": command}, CWD, HOME), Ink(False)).splitlines()
    at = next(index for index, line in enumerate(shown) if "fs.delete" in line)
    marks = next(line for line in reversed(shown[:at]) if set(line) <= {" ", "^"} and line)
    text = shown[shown.index(marks) - 1]
    marked = text[marks.index("^") : marks.rindex("^") + 1]
    assert marked in command
    assert marked in ("/", "rm -rf /")


def test_colours_when_asked_for() -> None:
    judged = JUDGE("exec", {"command": "rm -rf /"}, CWD, HOME)
    assert "\x1b[1;31mDENY" in explain("rm -rf /", judged, Ink(True))


def test_a_command_cannot_steer_the_terminal() -> None:
    hostile = "echo \x1b[2J\u202e\r hidden"
    shown = explain(hostile, JUDGE("exec", {"command": hostile}, CWD, HOME), Ink(False))
    assert not set("\x1b\u202e\r") & set(shown)
    assert visible("\x1b") == "\\x1b"
    assert columns("日本") == 4


@pytest.mark.parametrize(
    ("cwd", "home"),
    [
        ("/home/dev/project", "/home/dev"),
        ("/Users/ann/x", "/Users/ann"),
        ("/root", "/root"),
        ("/rooted/x", ""),
        ("/workspace/project", ""),
        ("", ""),
    ],
)
def test_whose_home_a_row_means(cwd: str, home: str) -> None:
    assert home_of(cwd) == home


def _rows(*chunks: bytes) -> list[dict[str, Any]]:
    left = list(chunks)
    out = bytearray()
    written = bytearray()

    def flush() -> None:
        written.extend(out)
        out.clear()

    judge_rows(lambda _size: left.pop(0) if left else b"", out, flush, JUDGE)
    return [json.loads(line) for line in written.splitlines()]


def _row(row_id: object, command: str, **more: object) -> bytes:
    return json.dumps({"id": row_id, "tool": "exec", "args": {"command": command}, **more}).encode() + b"\n"


def test_rows_are_answered_in_order() -> None:
    answers = _rows(_row("a", "ls") + _row(2, "rm -rf /"), b"\n", _row("c", "git reset --hard"))
    assert [(a["id"], a["decision"]) for a in answers] == [("a", "allow"), (2, "deny"), ("c", "ask")]
    assert set(answers[0]) >= {"id", "decision", "rule", "reason", "effects"}


def test_a_row_may_arrive_in_pieces() -> None:
    line = _row("a", "rm -rf /")
    assert _rows(*(bytes([byte]) for byte in line))[0]["decision"] == "deny"
    assert _rows(line.rstrip())[0]["decision"] == "deny"


def test_a_rows_directory_says_whose_home() -> None:
    assert _rows(_row(1, "rm -rf ../../ann", cwd="/home/ann/project"))[0]["decision"] == "deny"


@pytest.mark.parametrize(
    ("line", "row_id", "says"),
    [
        (b"{", None, "not JSON"),
        (b"[1]", None, "a list"),
        (b'{"tool":"exec","args":{}}', None, "'id' is missing"),
        (b'{"id":null,"tool":"exec","args":{}}', None, "'id'"),
        (b'{"id":true,"tool":"exec","args":{}}', None, "'id'"),
        (b'{"id":"a","tool":7,"args":{}}', "a", "'tool'"),
        (b'{"id":"a","tool":"exec"}', "a", "'args' is missing"),
        (b'{"id":"a","tool":"exec","args":[]}', "a", "a list"),
        (b'{"id":"a","tool":"exec","args":{"command":"ls"},"cwd":1}', "a", "'cwd'"),
        (b'{"id":"a","tool":"exec","args":{"command":"ls","command":"rm"}}', "a", "twice"),
        (b'{"id":"a","id":"b","tool":"exec","args":{"command":"ls"}}', None, "twice"),
        (b'{"id":"a","tool":"exec","args":{"command":NaN}}', "a", "not JSON"),
        (b'{"id":"a","tool":"exec","args":{"command":"\xff"}}', None, "UTF-8 at byte 43"),
        (b'{"id":"a","tool":"exec","args":{"command":"\\ud800"}}', "a", "surrogate"),
        (b'{"id":"a","tool":"exec","args":{"x":' + b"[" * 200 + b"]" * 200 + b"}}", "a", "deeper than 129"),
        (b'{"id":"a","tool":"exec","args":{"x":' + b"[" * 100_000, None, "deep"),
        (b'{"id":"a","tool":"exec","args":{"command":null}}', "a", "no command"),
        (b"x" * (MAX_ROW_BYTES + 1), None, "larger than"),
    ],
)
def test_a_bad_row_is_refused_and_the_next_one_answered(line: bytes, row_id: object, says: str) -> None:
    bad, good = _rows(line + b"\n" + _row("next", "ls"))
    assert bad["decision"] == "deny"
    assert bad["id"] == row_id
    assert says in bad["reason"]
    assert (good["id"], good["decision"]) == ("next", "allow")


def test_characters_that_are_none_are_shown_escaped() -> None:
    odd, good = _rows(_row("a", """python3 -c "open('\\\\ud800', 'a')" """) + _row("b", "ls"))
    assert odd["effects"][0]["resource"].endswith("\\ud800")
    assert (odd["decision"], good["decision"]) == ("allow", "allow")


def test_a_failure_on_one_row_is_a_refusal_of_that_row(monkeypatch: pytest.MonkeyPatch) -> None:
    from interpose.reading.calls import reading_of as real

    def fragile(call: ToolCall, home: str) -> object:
        if call.arguments["command"] == "boom":
            raise RuntimeError
        return real(call, home)

    monkeypatch.setattr("interpose.reading.calls.reading_of", fragile)
    answers = _rows(_row("a", "boom") + _row("b", "ls"))
    assert [(a["decision"], a["rule"]) for a in answers] == [("deny", "internal-error"), ("allow", "")]


def test_a_driver_that_waits_for_each_answer_is_not_left_waiting() -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from interpose.doors.cli import main; sys.exit(main(['check', '--jsonl']))",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4] / "src")},
    )
    assert process.stdin
    assert process.stdout
    try:
        for index in range(3):
            process.stdin.write(_row(index, "ls"))
            process.stdin.flush()
            assert select.select([process.stdout], [], [], 20)[0], "no answer while the driver waits"
            assert json.loads(process.stdout.readline())["id"] == index
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.stdout.close()
        process.wait()
