"""The log rotates by size, keeps so many archives, and is only ever appended to."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpose.core.formats.log_file import LogFile


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_it_rotates_by_size_and_keeps_so_many_archives(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "audit.log", max_bytes=100, archives=2)
    for number in range(100):
        log.write(f"line number {number:03d}")
    assert names(tmp_path) == ["audit.log", "audit.log.1", "audit.log.2"]
    assert all(path.stat().st_size <= 100 for path in tmp_path.iterdir())
    kept = "".join((tmp_path / name).read_text() for name in reversed(names(tmp_path))).split("\n")[:-1]
    assert kept[-1] == "line number 099"
    assert kept == sorted(kept), "archives are older, the higher their number"


@pytest.mark.parametrize(("archives", "want"), [(0, ["a.log"]), (1, ["a.log", "a.log.1"])])
def test_few_archives(tmp_path: Path, archives: int, want: list[str]) -> None:
    log = LogFile(tmp_path / "a.log", max_bytes=10, archives=archives)
    for _ in range(5):
        log.write("eight ch")
    assert names(tmp_path) == want


def test_it_goes_on_where_an_earlier_process_stopped(tmp_path: Path) -> None:
    for _ in range(3):
        log = LogFile(tmp_path / "a.log", max_bytes=1000, archives=1)
        log.write("again")
        log.close()
    assert (tmp_path / "a.log").read_text() == "again\n" * 3


def test_it_follows_a_file_that_somebody_else_rotated(tmp_path: Path) -> None:
    one = LogFile(tmp_path / "a.log", max_bytes=1000, archives=1)
    one.write("first")
    (tmp_path / "a.log").rename(tmp_path / "a.log.1")
    one.write("second")
    assert (tmp_path / "a.log").read_text() == "second\n"


def test_a_line_longer_than_a_file_is_written(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "a.log", max_bytes=10, archives=1)
    log.write("x" * 50)
    log.write("y")
    assert (tmp_path / "a.log.1").read_text() == "x" * 50 + "\n"
