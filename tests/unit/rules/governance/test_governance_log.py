"""The log that people read: one line for each event, rotated by size, shared by processes, forged by nobody."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interpose.rules.governance.governance_log import GovernanceLog, LogEvent, line_of
from tests.support.timing.patience import PATIENCE

EVENT = LogEvent(
    at_ns=1_794_952_801_000_000_000, word="deny", host="claude-code", session="s-12", role="researcher", tool="write",
    rule="governance/role", text="write is none of its tools",
)  # fmt: skip
LINE = re.compile(r"\S+Z \S+ +\S+ \S+  \S+  \S+  \S+  .*")

WRITER = """
import sys
from pathlib import Path
from interpose.rules.governance.governance_log import GovernanceLog, LogEvent
log = GovernanceLog(Path(sys.argv[1]), max_bytes=4000, archives=60)
for number in range(300):
    log.write(LogEvent(at_ns=0, word="deny", session=sys.argv[2], text=f"number {number}"))
log.close(50)
assert not log.lost, log.problem
"""


def test_a_line() -> None:
    assert line_of(EVENT) == (
        "2026-11-17T22:00:01Z deny   claude-code s-12  researcher  write  governance/role  write is none of its tools"
    )
    assert line_of(LogEvent(at_ns=0, word="halt")) == "1970-01-01T00:00:00Z halt   - -  -  -  -"


HOSTILE = [
    ("a line break", "a\n2026-11-17T22:00:01Z lift   - s-1  -  -  -  by ann"),
    ("a return", "a\r2026-11-17T22:00:01Z lift"),
    ("an escape sequence", "\x1b[2K\x1b[1A"),
    ("a line break of Unicode", "a\u2028b\u2029c\x85d"),
    ("text that turns its direction", "\u202eevil\u2066"),
    ("half a letter", "\ud800"),
    ("length", "x" * 1_000_000),
]


@pytest.mark.parametrize(("note", "text"), HOSTILE, ids=[row[0] for row in HOSTILE])
def test_no_text_forges_a_line_or_steers_a_terminal(note: str, text: str, tmp_path: Path) -> None:
    log = GovernanceLog(tmp_path / "g.log")
    for field in ("word", "host", "session", "role", "tool", "rule", "text"):
        log.write(replace(EVENT, **{field: text}))
    assert log.flush()
    lines = (tmp_path / "g.log").read_bytes().split(b"\n")
    assert (len(lines), lines[-1]) == (8, b"")
    for line in lines[:-1]:
        assert LINE.fullmatch(line.decode()), line
        assert line.decode().isprintable()
        assert len(line) < 1500


@given(st.text(max_size=80), st.text(max_size=80))
def test_fields_stay_fields(one: str, other: str) -> None:
    line = line_of(replace(EVENT, session=one, tool=other))
    assert LINE.fullmatch(line)
    assert line.split()[7:] == line_of(EVENT).split()[7:]


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_no_secret_of_a_refused_command_is_in_it(tmp_path: Path) -> None:
    refused = f"The role researcher may not run curl -H 'Authorization: Bearer {SECRET}'"
    log = GovernanceLog(tmp_path / "governance.log")
    log.write(replace(EVENT, text=refused))
    log.write(replace(EVENT, text="x" * 390 + f" {SECRET}"))  # it would be cut in the middle of it
    log.close()
    told = (tmp_path / "governance.log").read_text(encoding="utf-8")
    assert "may not run curl" in told
    assert SECRET[:8] not in told


def test_a_line_that_can_not_be_made_keeps_no_other_from_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_text: str) -> str:
        raise RuntimeError("no patterns")

    log = GovernanceLog(tmp_path / "governance.log")
    with monkeypatch.context() as broken:
        broken.setattr("interpose.rules.governance.governance_log.hidden", fails)
        log.write(EVENT)
        assert log.flush()
    log.write(EVENT)
    log.close()
    assert (log.lost, len((tmp_path / "governance.log").read_text(encoding="utf-8").splitlines())) == (1, 1)


def test_every_archive_is_there_and_the_last_one_too(tmp_path: Path) -> None:
    log = GovernanceLog(tmp_path / "g.log", max_bytes=500, archives=3)
    for number in range(100):
        log.write(replace(EVENT, text=f"number {number}"))
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.log", "g.log.1", "g.log.2", "g.log.3"]
    assert all(path.stat().st_size <= 500 for path in tmp_path.iterdir())
    kept = [
        int(line.rpartition(" ")[2])
        for name in ("g.log.3", "g.log.2", "g.log.1", "g.log")
        for line in (tmp_path / name).read_text().splitlines()
    ]
    assert kept == list(range(kept[0], 100)), "no line is lost between the archives"
    assert oct((tmp_path / "g.log").stat().st_mode & 0o777) == "0o600"


def test_several_processes_lose_no_line_and_tear_none(tmp_path: Path) -> None:
    file = tmp_path / "g.log"
    started = [subprocess.Popen([sys.executable, "-c", WRITER, str(file), f"s-{which}"]) for which in range(4)]
    assert [process.wait(PATIENCE) for process in started] == [0] * 4
    told = [line for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    assert all(LINE.fullmatch(line) for line in told)
    assert len(told) == len(set(told)) == 4 * 300
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"g.log", *(f"g.log.{number}" for number in range(1, len(names)))}
    assert len(names) < 60


def test_what_is_there_is_never_read_again(tmp_path: Path) -> None:
    """The file can't even be read, and each line is one write to its end."""
    file = tmp_path / "g.log"
    log = GovernanceLog(file)
    log.write(EVENT)
    assert log.flush()
    opened = next(link for link in Path("/proc/self/fd").iterdir() if os.path.realpath(link) == str(file))
    flags = int(re.findall(r"flags:\s*(\d+)", Path(f"/proc/self/fdinfo/{opened.name}").read_text())[0], 8)
    assert flags & os.O_ACCMODE == os.O_WRONLY
    assert flags & os.O_APPEND
    log.close()


def test_a_log_that_can_not_be_written_breaks_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "g.log").mkdir()
    log = GovernanceLog(tmp_path / "g.log")
    for _ in range(3):
        log.write(EVENT)
    assert log.flush()
    assert log.lost == 3
    assert "Is a directory" in log.problem
    assert len(caplog.records) == 1
    (tmp_path / "g.log").rmdir()
    log.write(EVENT)
    assert log.flush()
    assert log.problem == ""
    assert (tmp_path / "g.log").read_text().count("\n") == 1


def test_a_process_that_was_stopped_while_it_rotates_holds_up_nobody(tmp_path: Path) -> None:
    import fcntl

    file = tmp_path / "g.log"
    log = GovernanceLog(file, max_bytes=300, archives=2)
    log.write(EVENT)
    assert log.flush()
    with file.open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        for _ in range(10):
            log.write(EVENT)
        assert log.flush()
        assert file.read_text().count("\n") == 11
    log.write(EVENT)
    log.close()
    assert (file.read_text().count("\n"), (tmp_path / "g.log.1").read_text().count("\n")) == (1, 11)
