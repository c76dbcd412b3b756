"""The desk of the decision server, for a gateway or a proxy that is no server: it has no key.

A question is put over the server's own Unix socket, as hooks are. If none runs, one is started and waited for.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from interpose.core.answers import Approved, Edited, Pending
from interpose.core.errors import text_of
from interpose.core.platforms.peer_owner import NOT_TOLD, peer_owner
from interpose.core.types import Deny, PermissionRequest
from interpose.doors.hooks.clients.questions import Asker, PutQuestion, QuestionAnswer, question_of

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.people.approvals import ConfirmationHandler
    from interpose.people.presence.agents import SeenAgents

PATH = "/question"
_ANSWER_SECONDS = 10.0
_START_SECONDS = 15.0
_LARGEST = 1 << 20
_START = "import sys; from interpose.doors.hooks.clients.on_demand import start_server; start_server(sys.argv[1])"


class NoDeskError(Exception):
    """Nobody can be asked; the text says why."""


class RemoteDesk(Struct, frozen=True):
    """A confirmation handler whose questions are answered at the desk of the server behind a Unix socket."""

    socket: str
    wait: float = 0.0
    start: bool = True
    """Whether a server is started if none runs."""
    agents: SeenAgents | None = None
    """Those who came to us: they may not answer there."""
    counts_votes: bool = True

    async def confirm(self, request: PermissionRequest, /) -> Approved | Deny | Pending | Edited:
        """What that desk says. INVARIANT: what goes wrong on the way is a no."""
        try:
            answer = await self._asked(self._naming_askers(question_of(request, self.wait)))
        except (NoDeskError, OSError, ValueError, TimeoutError, EOFError, msgspec.MsgspecError) as error:
            why = text_of(error) or type(error).__name__
            return Deny(f"Nobody can be asked now: {why}. Asked was: {request.message}", rule="approval-no-server")
        match answer.said:
            case "approved" if answer.by:
                return Approved(answer.by, answer.word)
            case "pending" if answer.approval:
                return Pending(answer.approval, answer.word)
            case "edited" if answer.by and answer.arguments is not None:
                return Edited(answer.arguments, answer.by, answer.approval)
            case _:
                return Deny(answer.reason or "Refused at the desk", rule=answer.rule or "approval-denied")

    def _naming_askers(self, question: PutQuestion) -> PutQuestion:
        if self.agents is None:
            return question
        known = tuple(Asker(one.pid, one.start) for one in self.agents.known())
        return replace(question, askers=known, unplaced=self.agents.unplaced or self.agents.crowded)

    async def _asked(self, question: PutQuestion) -> QuestionAnswer:
        if not self.socket:
            raise NoDeskError("there is no decision server here (hooks.socket is empty)")
        body = msgspec.json.encode(question, enc_hook=text_of)
        async with asyncio.timeout(_ANSWER_SECONDS + _START_SECONDS + self.wait):
            reader, writer = await self._connected()
            try:
                _check_peer(writer)
                head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                writer.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
                await writer.drain()
                return _parsed(await _whole(reader))
            finally:
                writer.close()

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await self._connect()
        except OSError:
            if not self.start:
                raise NoDeskError("no server runs: start one with `interpose serve`") from None
        await _start_server(self.socket)
        end = asyncio.get_running_loop().time() + _START_SECONDS
        while True:
            try:
                return await self._connect()
            except OSError:
                if asyncio.get_running_loop().time() > end:
                    raise NoDeskError("a server was started and does not listen; `interpose doctor` says why") from None
            await asyncio.sleep(0.05)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        found = os.lstat(self.socket)
        # Nobody but us may have put the socket there, or be able to take its place.
        if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise NoDeskError(f"{self.socket} is not ours alone")
        return await asyncio.open_unix_connection(self.socket, limit=_LARGEST)


def desk_of(
    service: Service, wait: float = 0.0, *, start: bool = True, hears: bool = False, rewrites: bool = False
) -> ConfirmationHandler:
    """Our own desk if we are a server, else that of the server."""
    if service.answering is not None:
        return service.desk.waiting(wait, hears=hears, rewrites=rewrites)
    return RemoteDesk(service.config.hooks.socket, wait, start, service.agents)


async def _start_server(path: str) -> None:
    """In a process of its own: this one has threads, and must not be forked."""
    null = asyncio.subprocess.DEVNULL
    starter = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", _START, path, stdin=null, stdout=null, stderr=null
    )
    await starter.wait()


def _check_peer(writer: asyncio.StreamWriter) -> None:
    owner = peer_owner(writer.get_extra_info("socket"))
    if owner not in (NOT_TOLD, os.geteuid()):  # where the system does not tell, the owner of the socket must do
        raise NoDeskError("another user listens there")


async def _whole(reader: asyncio.StreamReader) -> bytes:
    data = bytearray()
    while part := await reader.read(65536):
        data += part
        if len(data) > _LARGEST:
            raise NoDeskError("the answer of the server is too long")
    return bytes(data)


def _parsed(data: bytes) -> QuestionAnswer:
    head, end, body = data.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    lengths = [line.partition(b":")[2].strip() for line in lines if line.lower().startswith(b"content-length:")]
    if not end or lengths != [b"%d" % len(body)]:
        raise NoDeskError("the answer of the server is not whole")
    if not status.startswith(b"HTTP/1.1 200 "):
        told: Any = msgspec.json.decode(body) if body.startswith(b"{") else {}
        raise NoDeskError(f"the server said {status[9:12].decode('ascii', 'replace')}: {told.get('error', '')}")
    return msgspec.json.decode(body, type=QuestionAnswer)
