"""Work in a child process: what it says comes back whole, and everything else is an error in time."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

from interpose.doors.hooks.clients import child_process
from interpose.doors.hooks.clients.child_process import ChildError, Send, start_in_child


@pytest.mark.parametrize("data", [b"", b"yes", b"+:-" * 100_000], ids=["nothing", "a word", "more than a pipe holds"])
def test_what_is_sent_comes_back_whole(data: bytes) -> None:
    assert start_in_child(lambda send: send(data), monotonic() + 20)() == data


def _raise(_send: Send) -> None:
    raise KeyError("no such thing")


def _interrupt(_send: Send) -> None:
    raise KeyboardInterrupt


def _silent(_send: Send) -> None:
    pass


def _killed(_send: Send) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _cut_off(send: Send) -> None:
    def die_in_between(handle: int, data: bytes) -> None:
        os.writev(handle, [data[:8]])
        os._exit(0)

    vars(os)["write"] = die_in_between  # this is the child: nobody else sees it
    send(b"allow" * 100)


def _endless(_send: Send) -> None:
    while True:
        signal.pause()


@pytest.mark.parametrize(
    ("work", "says"),
    [
        (_raise, "no such thing"),
        (_interrupt, "KeyboardInterrupt"),
        (_silent, "crashed"),
        (_killed, "crashed"),
        (_cut_off, "crashed"),
    ],
)
def test_whatever_is_no_answer_is_an_error(work: Callable[[Send], None], says: str) -> None:
    with pytest.raises(ChildError, match=says):
        start_in_child(work, monotonic() + 20)()


def test_no_answer_in_time_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    end = child_process._end

    def end_at_once(child: int, reading: int, linger: float) -> None:
        given.append(linger)
        end(child, reading, 0)

    monkeypatch.setattr(child_process, "_end", end_at_once)
    before = _children()
    with pytest.raises(ChildError, match="no decision in time"):
        start_in_child(_endless, monotonic() + 0.2)()
    assert given == [0]
    assert _children() <= before


def _children() -> set[str]:
    """Processes that this one started and has not waited for."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # others end meanwhile
            parent = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1]
            if parent == str(os.getpid()):
                found.add(stat.parent.name)
    return found


def test_a_child_that_does_not_end_has_still_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "_LINGER", 0.1)

    def work(send: Send) -> None:
        send(b"yes")
        _endless(send)

    before = _children()  # other tests of this process may have left some
    assert start_in_child(work, monotonic() + 20)() == b"yes"
    assert _children() <= before


def test_a_child_has_no_streams_of_ours(capfd: pytest.CaptureFixture[str]) -> None:
    def work(send: Send) -> None:
        os.write(1, b"to whoever reads the answer")
        os.write(2, b"as well")
        send(os.read(0, 10))

    assert start_in_child(work, monotonic() + 20)() == b""
    assert capfd.readouterr() == ("", "")
