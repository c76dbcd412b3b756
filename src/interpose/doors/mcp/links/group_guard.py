"""The end of a server whose gateway was killed.

A gateway ends its servers itself. When it is killed, or crashes, it can't: a server that ignores the end of its input
would run on, and so would the processes that it started. So a small shell runs beside each server. It waits at a pipe
whose other end only the gateway holds, and kills the server's process group when that pipe ends unannounced.
"""

from __future__ import annotations

import asyncio
import logging

log = logging.getLogger("interpose.gateway")

_SHELL = "/bin/sh"
_WAIT = 'read -r line || kill -s KILL -- "-$1"'
"""A line is the announcement: the group has ended. The end of the pipe is the gateway's own end."""


class GroupGuard:
    """One such shell."""

    def __init__(self, shell: asyncio.subprocess.Process) -> None:
        self._shell = shell

    @classmethod
    async def start(cls, group: int) -> GroupGuard | None:
        """Guard this process group. None where there is no shell: then only the gateway itself ends its servers."""
        nothing = asyncio.subprocess.DEVNULL
        try:
            # In a session of its own: a signal to the gateway's group must not end it together with the gateway.
            shell = await asyncio.create_subprocess_exec(
                _SHELL, "-c", _WAIT, "interpose-guard", str(group), stdin=asyncio.subprocess.PIPE, stdout=nothing,
                stderr=nothing, env={}, cwd="/", start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            log.warning("servers are not ended if this gateway is killed", extra={"why": str(error)})
            return None
        return cls(shell)

    async def dismiss(self) -> None:
        """The group has ended: its number may belong to others from now on."""
        stdin = self._shell.stdin
        if stdin is not None:
            stdin.write(b"\n")
            stdin.close()
        await self._shell.wait()
