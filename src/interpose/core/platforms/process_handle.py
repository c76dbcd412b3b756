"""A process that is held on to, so that a signal reaches it and no other that got its number."""

from __future__ import annotations

import sys

__all__ = ["ProcessHandle"]

if sys.platform == "darwin":
    from interpose.core.platforms.macos.pid_handle import KqueueHandle as ProcessHandle
else:
    from interpose.core.platforms.linux.pid_handle import PidfdHandle as ProcessHandle
