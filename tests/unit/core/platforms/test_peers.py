"""Who is at the other end of a Unix socket, on both systems."""

from __future__ import annotations

import errno
import importlib
import os
import socket
import sqlite3
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from interpose.core.platforms import peer_owner, peers, system
from interpose.core.platforms.process_values import Credentials

PID = struct.pack("<i", 4711)
XUCRED = struct.pack("<IIhxx16I", 0, 501, 2, 20, 12, *[0] * 14)


class MacSocketPair:
    """A Unix socket of macOS: it knows the options of its level, and no other."""

    def __init__(self, cred: bytes | OSError = XUCRED, pid: bytes | OSError = PID) -> None:
        self._said = {(0, 1): (76, cred), (0, 2): (4, pid)}

    def getsockopt(self, level: int, option: int, size: int = 0) -> bytes:
        wanted, said = self._said.get((level, option), (0, OSError(errno.ENOPROTOOPT, "no such option")))
        if isinstance(said, OSError):
            raise said
        assert size == wanted, "the kernel fills what it is given, and cuts off the rest"
        return said


@pytest.fixture
def on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")


@pytest.mark.usefixtures("on_macos")
def test_macos_tells_user_group_and_process() -> None:
    assert peers.peer_credentials(MacSocketPair()) == Credentials(4711, 501, 20)


@pytest.mark.usefixtures("on_macos")
@pytest.mark.parametrize("pid", [OSError(errno.ENOTCONN, "gone"), b"", b"\1"])
def test_a_process_that_is_not_named_has_no_number(pid: Any) -> None:
    assert peers.peer_credentials(MacSocketPair(pid=pid)) == Credentials(0, 501, 20)


@pytest.mark.usefixtures("on_macos")
@pytest.mark.parametrize(
    "cred",
    [
        OSError(errno.ENOTCONN, "gone"), b"", XUCRED[:-1], struct.pack("<IIhxx16I", 1, 501, 1, *[0] * 16),
        struct.pack("<IIhxx16I", 0, 501, 0, *[0] * 16),
    ],
)  # fmt: skip
def test_a_user_that_is_not_told_is_nobody(cred: Any) -> None:
    """The doors take what raises for a user that none has."""
    with pytest.raises(OSError):  # noqa: PT011 - which one is the kernel's
        peers.peer_credentials(MacSocketPair(cred=cred))


def test_a_real_socket_tells() -> None:
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there:
        assert peers.peer_credentials(here) == Credentials(os.getpid(), os.geteuid(), os.getegid())
        assert peer_owner.peer_owner(here) == os.geteuid()


def test_the_installed_client_asks_macos_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        monkeypatch.setattr(sys, "platform", "darwin")
        asked: Any = importlib.reload(peer_owner)
        assert asked.peer_owner(MacSocketPair()) == 501
    finally:
        monkeypatch.undo()
        importlib.reload(peer_owner)


def test_a_system_without_either_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "SO_PEERCRED", raising=False)
    monkeypatch.setattr(peer_owner, "_ASKED", (1, -1, 12))
    sent: Any = object()
    assert peers.peer_credentials(sent) is None
    assert peer_owner.peer_owner(sent) == peer_owner.NOT_TOLD


@pytest.mark.usefixtures("on_macos")
@pytest.mark.parametrize(
    ("number", "then"), [(0, "full"), (errno.ENOTSUP, "fsync"), (errno.EINVAL, "fsync"), (errno.EIO, "raises")]
)
def test_data_reaches_the_disk_of_a_mac(monkeypatch: pytest.MonkeyPatch, number: int, then: str) -> None:
    """`fsync` alone leaves it in the memory of the disk."""
    done: list[str] = []

    def control(handle: int, command: int) -> int:
        assert (handle, command) == (7, 51)
        if number:
            raise OSError(number, "no")
        done.append("full")
        return 0

    monkeypatch.setattr("fcntl.fcntl", control)
    monkeypatch.setattr("os.fsync", lambda _handle: done.append("fsync"))
    if then == "raises":
        with pytest.raises(OSError, match="no"):
            system.sync_data(7)
        assert done == []
    else:
        system.sync_data(7)
        assert done == [then]


def test_sqlite_is_told_to_reach_the_disk_of_a_mac(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert system.durable_statements() == ()
    monkeypatch.setattr(sys, "platform", "darwin")
    connection = sqlite3.connect(tmp_path / "x.db")
    try:
        for statement in system.durable_statements():
            connection.execute(statement)
        said = [connection.execute(f"PRAGMA {name}").fetchone() for name in ("fullfsync", "checkpoint_fullfsync")]
    finally:
        connection.close()
    assert said == [(1,), (1,)]
