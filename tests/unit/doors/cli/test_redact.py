"""`interpose audit redact`: text through a pipe, rows of JSON, and the list of kinds."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from interpose.doors.cli import main
from interpose.doors.cli.redact import redact_rows, redact_text
from interpose.reading.secrets import Redactor
from interpose.reading.secrets.catalogue import catalogue
from tests.support.timing.patience import PATIENCE
from tests.unit.reading.secrets.templates import filled
from tests.unit.reading.secrets.test_multiline import pem

TOKEN = filled("ghp_{alnum:36}")
REDACTOR = Redactor(b"key")
COMMAND = [sys.executable, "-c", "import sys; from interpose.doors.cli import main; sys.exit(main())", "redact"]


class Pipe:
    """Gives out input in parts, takes output, and keeps the order in which that happened."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = list(parts)
        self.out = b""
        self.before_read: list[bytes] = []

    def read(self, _size: int) -> bytes:
        self.before_read.append(self.out)
        return self._parts.pop(0) if self._parts else b""

    def write(self, data: bytes) -> None:
        self.out += data


def rows_of(*lines: str | bytes) -> tuple[int, list[dict[str, object]]]:
    data = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    pipe = Pipe(data)
    status = redact_rows(pipe.read, pipe.write, REDACTOR)
    return status, [json.loads(line) for line in pipe.out.splitlines()]


def test_text_passes_through() -> None:
    pipe = Pipe(f"a\nT={TOKEN}\n".encode(), pem().encode(), b"\nlast \xff line")
    redact_text(pipe.read, pipe.write, REDACTOR, lambda: True)
    want = f"a\nT={TOKEN}\n{pem()}\nlast ".encode() + b"\xff line"
    assert pipe.out == REDACTOR.redact_bytes(want)[0]
    assert b"PRIVATE" not in pipe.out


def test_finished_lines_are_out_before_the_next_read() -> None:
    pipe = Pipe(b"one\n", b"two\nthr", b"ee\n")
    redact_text(pipe.read, pipe.write, REDACTOR, lambda: False)
    assert pipe.before_read == [b"", b"one\n", b"one\ntwo\n", b"one\ntwo\nthree\n"]


def test_rows() -> None:
    status, rows = rows_of(
        json.dumps({"id": "a", "text": f"T={TOKEN} {TOKEN}"}), json.dumps({"id": 2, "text": "clean é"}), "", "  "
    )
    assert status == 0
    mark = REDACTOR.redact(TOKEN).text
    assert rows == [
        {"id": "a", "text": f"T={mark} {mark}", "found": ["github-personal-token"] * 2},
        {"id": 2, "text": "clean é", "found": []},
    ]


@pytest.mark.parametrize(
    ("note", "line", "row_id", "part"),
    [
        ("no JSON", b"{nonsense", None, "not JSON"),
        ("no UTF-8", b'{"id": 1, "text": "\xff"}', None, "not UTF-8"),
        ("no object", b"[]", None, "a list"),
        ("no id", b'{"text": "x"}', None, "'id' is missing"),
        ("no text", b'{"id": "r"}', "r", "'text' is missing"),
        ("text of another type", b'{"id": "r", "text": 5}', "r", "'text' must be text"),
        ("a key twice", b'{"id": "r", "text": "x", "text": "y"}', "r", "stands twice"),
    ],
)
def test_a_bad_row_is_answered_and_the_others_too(note: str, line: bytes, row_id: object, part: str) -> None:
    good = json.dumps({"id": "good", "text": "x"})
    status, rows = rows_of(good, line, good)
    assert status == 65, note
    assert [row["id"] for row in rows] == ["good", row_id, "good"]
    assert part in str(rows[1]["error"])
    assert "text" not in rows[1]


def test_a_bad_row_never_repeats_what_it_held() -> None:
    _, rows = rows_of(f'{{"id": 1, "text": "{TOKEN}"')
    assert TOKEN not in json.dumps(rows)


def test_the_list_names_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["redact", "--list"]) == 0
    assert tuple(capsys.readouterr().out.split()) == catalogue()


def test_one_key_gives_one_digest_in_every_run(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"shared\n")

    def run(*options: str) -> bytes:
        return subprocess.run([*COMMAND, *options], input=TOKEN.encode(), capture_output=True, check=True).stdout

    assert (
        run("--key-file", str(key))
        == run("--key-file", str(key))
        == Redactor(b"shared").redact_bytes(TOKEN.encode())[0]
    )
    assert run() != run()


@pytest.mark.parametrize("content", [None, b""])
def test_a_key_that_can_not_be_used_is_an_error(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    assert main(["redact", "--key-file", str(path)]) == 64
    assert "interpose audit redact:" in capsys.readouterr().err


def test_a_live_stream_is_not_held_back() -> None:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"T={TOKEN}\n".encode())
        process.stdin.flush()
        assert select.select([process.stdout], [], [], 30)[0], "nothing came while the input stayed open"
        assert os.read(process.stdout.fileno(), 1000).startswith(b"T=[redacted:github-personal-token:")
        process.stdin.close()
        assert process.wait(PATIENCE) == 0


def test_whoever_reads_may_leave(tmp_path: Path) -> None:
    source = tmp_path / "long.txt"
    source.write_bytes(b"line\n" * 200_000)
    with source.open("rb") as lines, subprocess.Popen(COMMAND, stdin=lines, stdout=-1, stderr=-1) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.read(5) == b"line\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 70
