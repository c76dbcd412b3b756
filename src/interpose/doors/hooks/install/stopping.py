"""Ending processes of ours. A hook ends by itself; a server is asked to, waits for what it has accepted, then must."""

from __future__ import annotations

import os
import signal
from time import monotonic, sleep

from interpose.core.config.places import Places
from interpose.core.errors import text_of
from interpose.core.platforms import processes
from interpose.core.platforms.process_handle import ProcessHandle

_HOOKS_END_IN, _LOOK = 10.0, 0.02
_PROGRAM = b"\0-m\0interpose\0hook\0"
_MORE = 2.0
_KILLED_IN = 5.0
_LARGEST = 4 << 20


def hooks_that_stay(places: Places) -> list[int]:
    """Wait for the hooks that agents of this user have started. Those that don't end in time."""
    ends = monotonic() + _HOOKS_END_IN
    while found := _hooks(places):
        if monotonic() > ends:
            return found
        sleep(_LOOK)
    return []


def _hooks(places: Places) -> list[int]:
    """Our clients, the programs that they start, and what these start before it is a server."""
    client, home = f"{places.state}/hooks/".encode(), f"HOME={places.home}".encode()
    found: list[int] = []
    for pid in processes.all_pids():
        try:
            if processes.owner_of(pid) != os.geteuid():
                continue
            words = processes.command_line(pid, _LARGEST)
            if (client in words or _PROGRAM in words) and home in processes.environment(pid, _LARGEST).split(b"\0"):
                found.append(pid)
        except OSError:
            continue  # it has ended
    return found


def stopped(pid: int, seconds: float) -> str:
    """End it, and wait for its end. Empty, or why it could not be done."""
    try:
        handle = ProcessHandle(pid)
    except ProcessLookupError:
        return ""
    except OSError as error:
        return text_of(error)
    try:
        for ways, wait in (((signal.SIGTERM, signal.SIGCONT), seconds + _MORE), ((signal.SIGKILL,), _KILLED_IN)):
            for way in ways:  # one that is stopped hears nothing before it goes on
                handle.send(way)
            if handle.wait(wait):
                return ""
    except ProcessLookupError:
        return ""
    except OSError as error:
        return text_of(error)
    finally:
        handle.close()
    return "it does not end"
