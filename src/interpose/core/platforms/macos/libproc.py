"""Questions to the kernel of macOS, by the functions of libproc and sysctl that its public headers declare.

Each raises OSError with the kernel's own number where it does not answer.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from interpose.core.platforms.macos.layouts import (
    FD_INFO,
    PROC_ALL_PIDS,
    PROC_PIDFDSOCKETINFO,
    PROC_PIDLISTFDS,
    PROC_PIDPATHINFO_MAXSIZE,
    SOCKET_FDINFO_SIZE,
)

_SPARE = 64
"""Entries for what is started between two questions."""
_TRIES = 8
_PID = ctypes.sizeof(ctypes.c_int)


class Libproc:
    """The functions of one library: that of the system, or one that a test has written."""

    def __init__(self, library: Any) -> None:
        number, data, count = ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t
        self._pidinfo = _function(library.proc_pidinfo, number, number, ctypes.c_uint64, data, number)
        self._pidfdinfo = _function(library.proc_pidfdinfo, number, number, number, data, number)
        self._listpids = _function(library.proc_listpids, ctypes.c_uint32, ctypes.c_uint32, data, number)
        self._pidpath = _function(library.proc_pidpath, number, data, ctypes.c_uint32)
        sizes = ctypes.POINTER(count)
        self._sysctl = _function(library.sysctl, ctypes.POINTER(number), ctypes.c_uint, data, sizes, data, count)
        self._named = _function(library.sysctlbyname, ctypes.c_char_p, data, sizes, data, count)

    def pid_info(self, pid: int, flavor: int, size: int) -> bytes:
        """One structure about a process."""
        made = ctypes.create_string_buffer(size)
        if _counted(self._pidinfo(pid, flavor, 0, made, size)) != size:
            raise OSError(0, "the system answers with another structure")
        return made.raw

    def path(self, pid: int) -> bytes:
        """The path of a process's program."""
        made = ctypes.create_string_buffer(PROC_PIDPATHINFO_MAXSIZE)
        size = _counted(self._pidpath(pid, made, PROC_PIDPATHINFO_MAXSIZE))
        return made.raw[:size]

    def all_pids(self) -> list[int]:
        """The number of every process."""
        data = _grown(lambda made, size: _counted(self._listpids(PROC_ALL_PIDS, 0, made, size)), _PID)
        numbers = (int.from_bytes(data[at : at + _PID], "little") for at in range(0, len(data), _PID))
        return [pid for pid in numbers if pid]

    def open_files(self, pid: int) -> list[tuple[int, int]]:
        """Number and kind of everything that a process has open."""
        data = _grown(
            lambda made, size: _counted(self._pidinfo(pid, PROC_PIDLISTFDS, 0, made, size), none=True), FD_INFO.size
        )
        return list(FD_INFO.iter_unpack(data[: len(data) // FD_INFO.size * FD_INFO.size]))

    def socket(self, pid: int, number: int) -> bytes:
        """What is known of a socket that a process has open."""
        made = ctypes.create_string_buffer(SOCKET_FDINFO_SIZE)
        said = self._pidfdinfo(pid, number, PROC_PIDFDSOCKETINFO, made, SOCKET_FDINFO_SIZE)
        if _counted(said) != SOCKET_FDINFO_SIZE:
            raise OSError(0, "the system answers with another structure")
        return made.raw

    def sysctl(self, name: Sequence[int], most: int) -> bytes:
        """A value by its numbers, at most so many bytes of it."""
        numbers = (ctypes.c_int * len(name))(*name)
        return _value(lambda made, size: self._sysctl(numbers, len(name), made, size, None, 0), most)

    def sysctl_named(self, name: bytes, most: int) -> bytes:
        """A value by its name."""
        return _value(lambda made, size: self._named(name, made, size, None, 0), most)


@cache
def kernel() -> Libproc:
    """The system's own: every program of macOS has its library loaded."""
    return Libproc(ctypes.CDLL(None, use_errno=True))


def _function(found: Any, *arguments: Any) -> Callable[..., int]:
    found.argtypes, found.restype = arguments, ctypes.c_int
    called: Callable[..., int] = found
    return called


def _counted(said: int, *, none: bool = False) -> int:
    """How many bytes there are. These functions say 0 where they fail, and say why beside."""
    if said > 0 or (none and said == 0 and not ctypes.get_errno()):
        return said
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number))


def _grown(ask: Callable[[Any, int], int], entry: int) -> bytes:
    """A list whose length changes while it is read."""
    ctypes.set_errno(0)
    size = ask(None, 0) + _SPARE * entry
    for _ in range(_TRIES):
        made = ctypes.create_string_buffer(size)
        ctypes.set_errno(0)
        if (got := ask(made, size)) < size:
            return made.raw[:got]
        size *= 2
    raise OSError(0, "the list does not end")


def _value(ask: Callable[[Any, Any], int], most: int) -> bytes:
    made, size = ctypes.create_string_buffer(most), ctypes.c_size_t(most)
    if ask(made, ctypes.byref(size)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return made.raw[: size.value]
