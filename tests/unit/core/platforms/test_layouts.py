"""The structures of macOS, computed again from the fields that its headers name, by the rules of C."""

from __future__ import annotations

import ctypes
import struct
from ctypes import c_char, c_int, c_int8, c_int16, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any

import pytest

from interpose.core.platforms.macos import layouts


def structure(name: str, *fields: tuple[str, Any]) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


def fields(kind: Any, *names: str) -> list[tuple[str, Any]]:
    return [(name, kind) for name in names]


BSDINFO = structure(
    "proc_bsdinfo",
    *fields(c_uint32, "flags", "status", "xstatus", "pid", "ppid", "uid", "gid", "ruid", "rgid", "svuid", "svgid"),
    ("rfu", c_uint32),
    ("comm", c_char * 16), ("name", c_char * 32),
    *fields(c_uint32, "nfiles", "pgid", "pjobc", "tdev", "tpgid"), ("nice", c_int32),
    *fields(c_uint64, "start_tvsec", "start_tvusec"),
)  # fmt: skip
XUCRED = structure(
    "xucred", ("version", c_uint32), ("uid", c_uint32), ("ngroups", c_int16), ("groups", c_uint32 * 16)
)  # fmt: skip
FDINFO = structure("proc_fdinfo", ("fd", c_int32), ("fdtype", c_uint32))
FILEINFO = structure(
    "proc_fileinfo", ("openflags", c_uint32), ("status", c_uint32), ("offset", c_int64), ("type", c_int32),
    ("guardflags", c_uint32),
)  # fmt: skip
STAT = structure(
    "vinfo_stat", ("dev", c_uint32), ("mode", c_uint16), ("nlink", c_uint16), ("ino", c_uint64),
    *fields(c_uint32, "uid", "gid"),
    *fields(c_int64, "atime", "atimens", "mtime", "mtimens", "ctime", "ctimens", "birth", "birthns", "size", "blocks"),
    ("blksize", c_int32), *fields(c_uint32, "flags", "gen", "rdev"), ("qspare", c_int64 * 2),
)  # fmt: skip
SOCKBUF = structure(
    "sockbuf_info", *fields(c_uint32, "cc", "hiwat", "mbcnt", "mbmax", "lowat"), *fields(c_int16, "flags", "timeo")
)
V6 = structure("insi_v6", ("hlim", c_uint8), ("cksum", c_int), ("ifindex", c_uint16), ("hops", c_int16))
ADDRESS = structure("in6_addr", ("word", c_uint32 * 4))
IN_SOCK = structure(
    "in_sockinfo", ("fport", c_int), ("lport", c_int), ("gencnt", c_uint64), ("flags", c_uint32), ("flow", c_uint32),
    ("vflag", c_uint8), ("ttl", c_uint8), ("rfu", c_uint32), ("faddr", ADDRESS), ("laddr", ADDRESS), ("v4", c_uint8),
    ("v6", V6),
)  # fmt: skip
TCP_SOCK = structure(
    "tcp_sockinfo", ("ini", IN_SOCK), ("state", c_int), ("timer", c_int * 4), ("mss", c_int), ("flags", c_uint32),
    ("rfu", c_uint32), ("tp", c_uint64),
)  # fmt: skip
UN_SOCK = structure(
    "un_sockinfo", ("so", c_uint64), ("pcb", c_uint64), ("addr", c_char * 255), ("caddr", c_char * 255)
)  # fmt: skip
PROTO = type("soi_proto", (ctypes.Union,), {"_fields_": [("tcp", TCP_SOCK), ("un", UN_SOCK)]})
SOCKET = structure(
    "socket_info", ("stat", STAT), ("so", c_uint64), ("pcb", c_uint64), *fields(c_int, "type", "protocol", "family"),
    *fields(c_int16, "options", "linger", "state", "qlen", "incqlen", "qlimit", "timeo"), ("error", c_uint16),
    ("oobmark", c_uint32), ("rcv", SOCKBUF), ("snd", SOCKBUF), ("kind", c_int), ("rfu", c_uint32), ("proto", PROTO),
)  # fmt: skip
SOCKET_FD = structure("socket_fdinfo", ("pfi", FILEINFO), ("psi", SOCKET))
TIMEVAL = structure("timeval", ("sec", c_int64), ("usec", c_int32))
EXTERN_PROC = structure(
    "extern_proc", ("start", TIMEVAL), *fields(c_void_p, "vmspace", "sigacts"), ("flag", c_int), ("stat", c_int8),
    *fields(c_int32, "pid", "oppid", "dupfd"), *fields(c_void_p, "user_stack", "exit_thread"),
    *fields(c_int32, "debugger", "sigwait"), ("estcpu", c_uint32), ("cpticks", c_int), ("pctcpu", c_uint32),
    *fields(c_void_p, "wchan", "wmesg"), *fields(c_uint32, "swtime", "slptime"), ("realtimer", TIMEVAL * 2),
    ("rtime", TIMEVAL), *fields(c_uint64, "uticks", "sticks", "iticks"), ("traceflag", c_int), ("tracep", c_void_p),
    ("siglist", c_int), ("textvp", c_void_p), ("holdcnt", c_int), *fields(c_uint32, "mask", "ignore", "catch"),
    *fields(c_uint8, "priority", "usrpri"), ("nice", c_int8), ("comm", c_char * 17), *fields(c_void_p, "pgrp", "addr"),
    *fields(c_uint16, "xstat", "acflag"), ("ru", c_void_p),
)  # fmt: skip
PCRED = structure(
    "pcred", ("lock", c_char * 72), ("ucred", c_void_p), *fields(c_uint32, "ruid", "svuid", "rgid", "svgid"),
    ("refcnt", c_int),
)  # fmt: skip
UCRED = structure("ucred", ("ref", c_int32), ("uid", c_uint32), ("ngroups", c_int16), ("groups", c_uint32 * 16))
VMSPACE = structure(
    "vmspace", ("dummy", c_int32), ("dummy2", c_void_p), ("dummy3", c_int32 * 5), ("dummy4", c_void_p * 3)
)  # fmt: skip
EPROC = structure(
    "eproc", *fields(c_void_p, "paddr", "sess"), ("pcred", PCRED), ("ucred", UCRED), ("vm", VMSPACE),
    *fields(c_int32, "ppid", "pgid"), ("jobc", c_int16), *fields(c_int32, "tdev", "tpgid"), ("tsess", c_void_p),
    ("wmesg", c_char * 8), ("xsize", c_int32), *fields(c_int16, "xrssize", "xccount", "xswrss"), ("flag", c_int32),
    ("login", c_char * 12), ("spare", c_int32 * 4),
)  # fmt: skip
KINFO = structure("kinfo_proc", ("proc", EXTERN_PROC), ("eproc", EPROC))

SIZES = [
    (BSDINFO, layouts.BSD_INFO.size, 136), (XUCRED, layouts.XUCRED.size, 76), (FDINFO, layouts.FD_INFO.size, 8),
    (SOCKET_FD, layouts.SOCKET_FDINFO_SIZE, 792), (KINFO, layouts.KINFO_PROC.size, 648),
]  # fmt: skip


@pytest.mark.parametrize(("made", "ours", "public"), SIZES, ids=[made.__name__ for made, _, _ in SIZES])
def test_a_structure_has_the_size_that_c_gives_it(made: type[ctypes.Structure], ours: int, public: int) -> None:
    assert (ctypes.sizeof(made), ours) == (public, public)


def offset(made: type[ctypes.Structure], path: str) -> int:
    """Where a field is, also one of a structure in it."""
    found: Any = made
    at = 0
    for name in path.split("."):
        at += getattr(found, name).offset
        found = {each[0]: each[1] for each in found._fields_}[name]
    return at


def read_at(form: struct.Struct, number: int) -> int:
    """Where a format reads its value of this number, by a byte that goes through."""
    for at in range(form.size):
        data = bytearray(form.size)
        data[at] = 1
        value = form.unpack(data)[number]
        if value == 1 or (isinstance(value, bytes) and value[:1] == b"\1"):
            return at
    raise AssertionError(number)


READ = [
    (layouts.BSD_INFO, BSDINFO,
     "status pid ppid uid ruid comm pgid tdev tpgid start_tvsec start_tvusec"),
    (layouts.KINFO_PROC, KINFO,
     "proc.start.sec proc.start.usec proc.stat proc.pid proc.comm "  # noqa: ISC004 - one text of names
     "eproc.pcred.ruid eproc.ucred.uid eproc.ppid eproc.pgid eproc.tdev eproc.tpgid"),
    (layouts.XUCRED, XUCRED, "version uid ngroups groups"),
    (layouts.IN_SOCKINFO, IN_SOCK, "fport lport vflag ttl faddr laddr"),
    (layouts.FD_INFO, FDINFO, "fd fdtype"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "made", "names"), READ, ids=[made.__name__ for _, made, _ in READ])
def test_each_value_is_read_where_it_is(form: struct.Struct, made: type[ctypes.Structure], names: str) -> None:
    assert [read_at(form, number) for number in range(len(names.split()))] == [
        offset(made, name) for name in names.split()
    ]


def test_what_is_read_of_a_socket_is_where_it_is() -> None:
    assert offset(SOCKET_FD, "psi.so") == layouts.SOI_SO_AT
    assert offset(SOCKET_FD, "psi.kind") == layouts.SOI_KIND_AT
    assert offset(SOCKET_FD, "psi.proto") == layouts.TCP_AT
    assert layouts.TCP_AT + offset(TCP_SOCK, "state") == layouts.TCP_STATE_AT
