"""A kernel of macOS whose processes and sockets are written by a test, behind the functions of its library.

Each function is called through ctypes, as the real one is, and fills the structures byte by byte as the headers of XNU
lay them out. `tests/unit/core/platforms/test_layouts.py` computes those layouts by the rules of C.
"""

from __future__ import annotations

import ctypes
import errno
import ipaddress
import struct
from collections.abc import Callable
from typing import Any

from msgspec import Struct

USER, ROOT = 501, 0
TTY = 0x10000003
START = 1_700_000_000


class MacSocket(Struct, frozen=True):
    """An open TCP socket: both of its ends, its own first."""

    number: int
    near: tuple[str, int]
    far: tuple[str, int]
    state: int = 4
    kind: int = 2


class MacProcess(Struct, frozen=True, kw_only=True):
    """One process."""

    pid: int
    parent: int = 1
    program: str = "/bin/zsh"
    uid: int = USER
    start: tuple[int, int] = (START, 7)
    group: int = 0
    terminal: int = 0xFFFFFFFF
    foreground: int = 0
    status: int = 2
    words: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    sockets: tuple[MacSocket, ...] = ()
    files: int = 3
    """How many other files it has open."""

    @property
    def name(self) -> bytes:
        return self.program.rpartition("/")[2].encode()


class MacKernel:
    """The library that `Libproc` is given. It answers as a kernel does to an ordinary user."""

    def __init__(self, *processes: MacProcess, me: int = USER) -> None:
        self.processes = {one.pid: one for one in processes}
        self.me = me
        number, data, count = ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t
        sizes = ctypes.POINTER(count)
        self._kept: list[Any] = []
        self.proc_pidinfo = self._made(self._pidinfo, number, number, ctypes.c_uint64, data, number)
        self.proc_pidfdinfo = self._made(self._pidfdinfo, number, number, number, data, number)
        self.proc_listpids = self._made(self._listpids, ctypes.c_uint32, ctypes.c_uint32, data, number)
        self.proc_pidpath = self._made(self._pidpath, number, data, ctypes.c_uint32)
        self.sysctl = self._made(self._sysctl, ctypes.POINTER(number), ctypes.c_uint, data, sizes, data, count)
        self.sysctlbyname = self._made(self._sysctlbyname, ctypes.c_char_p, data, sizes, data, count)

    def _made(self, function: Callable[..., int], *arguments: Any) -> Any:
        made = ctypes.CFUNCTYPE(ctypes.c_int, *arguments, use_errno=True)(function)
        self._kept.append(made)
        return made

    def _pidinfo(self, pid: int, flavor: int, _argument: int, place: int | None, size: int) -> int:
        one = self.processes.get(pid)
        if one is None:
            return failed(errno.ESRCH)
        if self.me not in (one.uid, ROOT):
            return failed(errno.EPERM)
        match flavor:
            case 1:
                kinds = [(each, 1) for each in range(one.files)] + [(100 + at, 2) for at in range(len(one.sockets))]
                return filled(place, size, b"".join(struct.pack("<iI", *each) for each in kinds), spare=8 * 20)
            case 3 if size >= 136:
                return filled(place, size, bsdinfo(one))
            case 3:
                return failed(errno.ENOMEM)
            case _:
                return failed(errno.EINVAL)

    def _pidfdinfo(self, pid: int, number: int, flavor: int, place: int | None, size: int) -> int:
        one = self.processes.get(pid)
        if one is None or flavor != 3 or not 0 <= number - 100 < len(one.sockets):
            return failed(errno.EBADF)
        if self.me not in (one.uid, ROOT):
            return failed(errno.EPERM)
        return filled(place, size, socket_fdinfo(one.sockets[number - 100]))

    def _listpids(self, kind: int, _argument: int, place: int | None, size: int) -> int:
        if kind != 1:
            return failed(errno.EINVAL)
        return filled(place, size, b"".join(struct.pack("<i", pid) for pid in (*self.processes, 0)), spare=80)

    def _pidpath(self, pid: int, place: int | None, size: int) -> int:
        one = self.processes.get(pid)
        return failed(errno.ESRCH) if one is None else filled(place, size, one.program.encode())

    def _sysctl(self, name: Any, count: int, place: int | None, size: Any, _new: int | None, _length: int) -> int:
        match name[:count]:
            case [1, 14, 1, pid]:
                one = self.processes.get(pid)
                return told(place, size, b"" if one is None else kinfo_proc(one))
            case [1, 49, pid]:
                one = self.processes.get(pid)
                if one is None or self.me not in (one.uid, ROOT):
                    return failed(errno.EINVAL, -1)
                return told(place, size, procargs(one))
            case _:
                return failed(errno.ENOENT, -1)

    def _sysctlbyname(self, name: bytes, place: int | None, size: Any, _new: int | None, _length: int) -> int:
        known = {
            b"kern.bootsessionuuid": b"0F3A5C1E-0000-4000-8000-000000000001\0",
            b"kern.uuid": b"5D1A7C1E-0000-4000-8000-000000000002\0",
        }
        return told(place, size, known[name]) if name in known else failed(errno.ENOENT, -1)


def failed(number: int, said: int = 0) -> int:
    ctypes.set_errno(number)
    return said


def filled(place: int | None, size: int, data: bytes, spare: int = 0) -> int:
    """What libproc does: without a place it says how much there may be."""
    if place is None:
        return len(data) + spare
    ctypes.memmove(place, data, min(size, len(data)))
    return min(size, len(data))


def told(place: int | None, size: Any, data: bytes) -> int:
    """What sysctl does."""
    if len(data) > size[0]:
        return failed(errno.ENOMEM, -1)
    if place is not None:
        ctypes.memmove(place, data, len(data))
    size[0] = len(data)
    return 0


def at(size: int, *values: tuple[int, str, Any]) -> bytes:
    """A structure: each value at its offset."""
    made = bytearray(size)
    for offset, form, value in values:
        struct.pack_into(f"<{form}", made, offset, value)
    return bytes(made)


def bsdinfo(one: MacProcess) -> bytes:
    return at(
        136, (0, "I", 0x4004), (4, "I", one.status), (12, "I", one.pid), (16, "I", one.parent), (20, "I", one.uid),
        (24, "I", 20), (28, "I", one.uid), (32, "I", 20), (48, "16s", one.name[:15]), (64, "32s", one.name[:31]),
        (96, "I", 9), (100, "I", one.group or one.pid), (104, "I", 1), (108, "I", one.terminal),
        (112, "I", one.foreground or one.pid), (120, "Q", one.start[0]), (128, "Q", one.start[1]),
    )  # fmt: skip


def kinfo_proc(one: MacProcess) -> bytes:
    return at(
        648, (0, "q", one.start[0]), (8, "i", one.start[1]), (36, "B", one.status), (40, "i", one.pid),
        (243, "17s", one.name[:16]), (392, "I", one.uid), (420, "I", one.uid), (560, "i", one.parent),
        (564, "i", one.group or one.pid), (572, "I", one.terminal), (576, "i", one.foreground or one.pid),
    )  # fmt: skip


def procargs(one: MacProcess) -> bytes:
    words = one.words or (one.program,)
    texts = "".join(f"{text}\0" for text in (*words, *one.variables))
    # Behind the variables the kernel leaves an empty text and values of its own.
    return struct.pack("<i", len(words)) + one.program.encode() + b"\0" * 5 + texts.encode() + b"\0executable_path=/x\0"


def socket_fdinfo(one: MacSocket) -> bytes:
    packed = [ipaddress.ip_address(address).packed for address, _ in (one.far, one.near)]
    wide = len(packed[0]) == 16
    far, near = (each if wide else bytes(12) + each for each in packed)
    base = 24 + 240
    return at(
        792, (24 + 136, "Q", one.number), (24 + 232, "i", one.kind),
        (base, "i", swapped(one.far[1])), (base + 4, "i", swapped(one.near[1])), (base + 24, "B", 2 if wide else 1),
        (base + 25, "B", 64), (base + 32, "16s", far), (base + 48, "16s", near), (base + 80, "i", one.state),
    )  # fmt: skip


def swapped(port: int) -> int:
    return int.from_bytes(port.to_bytes(2, "big"), "little")
