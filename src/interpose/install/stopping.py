"""Ending a process of ours: it is asked to, and waits for what it has accepted; then it is made to."""

from __future__ import annotations

import os
import select
import signal

from interpose.errors import text_of

_MORE = 2.0
_KILLED_IN = 5.0


def stopped(pid: int, seconds: float) -> str:
    """End it, and wait for its end. Empty, or why it could not be done."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return ""
    except OSError as error:
        return text_of(error)
    try:
        for ways, wait in (((signal.SIGTERM, signal.SIGCONT), seconds + _MORE), ((signal.SIGKILL,), _KILLED_IN)):
            for way in ways:  # one that is stopped hears nothing before it goes on
                signal.pidfd_send_signal(handle, way)
            if select.select([handle], [], [], wait)[0]:
                return ""
    except ProcessLookupError:
        return ""
    except OSError as error:
        return text_of(error)
    finally:
        os.close(handle)
    return "it does not end"
