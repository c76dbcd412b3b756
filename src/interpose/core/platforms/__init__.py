"""What differs between operating systems: who is connected, which processes run, how one is ended, where files go.

| module | Linux | macOS |
|---|---|---|
| `peers`, `peer_owner` | `SO_PEERCRED` | `LOCAL_PEERCRED`, `LOCAL_PEERPID` |
| `connections` | netlink, `/proc/net/tcp`, `/proc/*/fd` | `proc_pidfdinfo` of every process of this user |
| `processes` | `/proc` | `proc_pidinfo`, `proc_pidpath`, `KERN_PROC_PID`, `KERN_PROCARGS2` |
| `process_handle` | pidfd | kqueue with `EVFILT_PROC`, and the start of the process |
| `system` | what is known of this system; `fdatasync` | the same; `F_FULLFSYNC` |

INVARIANT: no other room makes a call that only one system has. tests/architecture/test_platforms.py reads the source.
Any other system is treated as Linux without `/proc`: nothing is known of processes, and what can't be placed counts as
an agent.
"""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["connections", "peer_owner", "peers", "process_handle", "process_values", "processes", "system"]
