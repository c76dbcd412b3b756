"""Structures and numbers of macOS, from the public headers of XNU.

`sys/proc_info.h`: `proc_bsdinfo`, `proc_fdinfo`, `socket_fdinfo`. `sys/sysctl.h` and `sys/proc.h`: `kinfo_proc`.
`sys/ucred.h`: `xucred`. `sys/un.h`: the options of Unix sockets. All of them are the same on Intel and on Apple's own
processors: 64 bits, little-endian, naturally aligned. tests/unit/platforms/test_layouts.py computes each size and
offset again, by the rules of C.
"""

from __future__ import annotations

import struct

SOL_LOCAL, LOCAL_PEERCRED, LOCAL_PEERPID = 0, 1, 2
XUCRED = struct.Struct("<IIhxxI60x")
"""`cr_version`, `cr_uid`, `cr_ngroups` and the first of sixteen `cr_groups`."""
XUCRED_VERSION = 0
PEER_PID = struct.Struct("<i")

PROC_ALL_PIDS = 1
PROC_PIDLISTFDS, PROC_PIDTBSDINFO = 1, 3
PROC_PIDFDSOCKETINFO = 3
PROC_PIDPATHINFO_MAXSIZE = 4 * 1024

BSD_INFO = struct.Struct("<4xI4xIII4xI16x16s32x4xI4xIi4xQQ")
"""`pbi_status`, `pbi_pid`, `pbi_ppid`, `pbi_uid`, `pbi_ruid`, `pbi_comm`, `pbi_pgid`, `e_tdev`, `e_tpgid`, and the
seconds and microseconds of the start."""
SZOMB = 5
NODEV = 0xFFFFFFFF

FD_INFO = struct.Struct("<iI")
PROX_FDTYPE_SOCKET = 2
SOCKET_FDINFO_SIZE = 792
SOI_SO_AT = 24 + 136
"""`soi_so`, the kernel's own number of a socket: behind `proc_fileinfo` and `vinfo_stat`."""
SOI_KIND_AT = 24 + 232
SOCKINFO_TCP = 2
TCP_AT = 24 + 240
"""`tcp_sockinfo`, which begins with `in_sockinfo`."""
IN_SOCKINFO = struct.Struct("<ii16xBB6x16s16s")
"""`insi_fport`, `insi_lport`, `insi_vflag`, `insi_ip_ttl`, `insi_faddr`, `insi_laddr`. Ports are in network order."""
TCP_STATE_AT = TCP_AT + 80
TSI_S_ESTABLISHED = 4
INI_IPV4, INI_IPV6 = 1, 2

CTL_KERN, KERN_PROC, KERN_PROC_PID, KERN_PROCARGS2 = 1, 14, 1, 49
BOOT_SESSION = b"kern.bootsessionuuid"
MACHINE = b"kern.uuid"
KINFO_PROC = struct.Struct("<qi24xB3xI199x17s132xI24xI136xII4xIi68x")
"""`p_starttime` in seconds and microseconds, `p_stat`, `p_pid`, `p_comm`, `p_ruid`, `cr_uid`, `e_ppid`, `e_pgid`,
`e_tdev`, `e_tpgid`."""
