"""JSON-RPC to a program with interceptors: over its input and output, or over HTTP.

Everything here runs on one event loop of its own (remote_programs.py).
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from interpose.core.config.remote_interceptors import RemoteInterceptorProgram
from interpose.core.formats.plain_text import one_line

log = logging.getLogger("interpose.interceptors")

LARGEST = 16 * 1024 * 1024
"""Bytes of one message. A program that sends more is cut off."""
PASSED_ON = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""Variables of ours that a program gets. INVARIANT: none of them carries a secret."""
GRACE = 2.0
SETTLING = 1.0
"""Seconds in which the end of a process and the end of its output find together."""
_SHOWN = 500


class RemoteUnavailableError(Exception):
    """A program can't be reached, or not any more. The text says why."""


class RemoteRefusalError(Exception):
    """A program answered a request with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message[:_SHOWN]} ({code})")
        self.code = code


class RemoteLink(Protocol):
    """One connection."""

    @property
    def alive(self) -> bool:
        """Whether it can be used."""
        ...

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """The result of a request. Cancelled, the other side is told. Raises one of the two errors above."""
        ...

    async def notify(self, method: str) -> None:
        """A notification."""
        ...

    def agreed(self, protocol: str) -> None:
        """The version that is spoken from now on."""
        ...

    async def close(self) -> None:
        """End it within a bounded time. Never raises."""
        ...


def result_of(message: Mapping[str, Any]) -> Any:
    """The result of an answer. Raises RemoteRefusalError."""
    error = message.get("error")
    if isinstance(error, dict):
        code, text = error.get("code"), error.get("message")
        raise RemoteRefusalError(code if isinstance(code, int) else 0, text if isinstance(text, str) else "no text")
    return message.get("result")


class ProgramLink:
    """A program of ours: one line a message. Opened by `start`."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self._name, self._process = name, process
        self._next = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._gone = self._last = ""
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._read_errors())]

    @classmethod
    async def start(cls, name: str, program: RemoteInterceptorProgram) -> ProgramLink:
        """Start it without a shell, in a process group of its own. Raises RemoteUnavailableError."""
        variables = {key: os.environ[key] for key in PASSED_ON if key in os.environ} | dict(program.env)
        found = shutil.which(program.command, path=variables.get("PATH"))
        if found is None:
            raise RemoteUnavailableError(f"there is no program {program.command!r} in its PATH")
        try:
            process = await asyncio.create_subprocess_exec(
                found, *program.args, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, env=variables, cwd=program.cwd or None, start_new_session=True,
                limit=LARGEST,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise RemoteUnavailableError(f"{program.command} can't be started: {error}") from None
        return cls(name, process)

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return not self._gone

    @property
    def group(self) -> int:
        """Its process group; 0 if it has ended."""
        return 0 if self._process.returncode is not None else self._process.pid

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """One request."""
        self._next += 1
        id = self._next
        future = self._waiting[id] = asyncio.get_running_loop().create_future()
        try:
            await self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            return result_of(await future)
        except asyncio.CancelledError:
            self._tell_cancelled(id)
            raise
        finally:
            self._waiting.pop(id, None)

    async def notify(self, method: str) -> None:
        """One notification."""
        await self._send({"jsonrpc": "2.0", "method": method})

    def agreed(self, protocol: str) -> None:
        """Pipes have no headers."""

    async def close(self) -> None:
        """End its input, then it, with all that it started."""
        self._end("it was closed")
        if self._process.stdin is not None:
            self._process.stdin.close()
        for sent in (0, signal.SIGTERM, signal.SIGKILL):
            if sent and (group := self.group):
                end_group(group, sent)
            try:
                async with asyncio.timeout(GRACE):
                    await self._process.wait()
                break
            except TimeoutError:
                continue
        for task in self._tasks:
            task.cancel()

    def _tell_cancelled(self, id: int) -> None:
        stdin = self._process.stdin
        if stdin is not None and not self._gone and not stdin.is_closing():
            said = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}
            stdin.write(msgspec.json.encode(said) + b"\n")

    async def _send(self, message: Mapping[str, Any]) -> None:
        stdin = self._process.stdin
        if self._gone or stdin is None or stdin.is_closing():
            raise RemoteUnavailableError(self._gone or "its input is closed")
        try:
            stdin.write(msgspec.json.encode(message, enc_hook=str) + b"\n")
            await stdin.drain()
        except OSError:
            self._end("it closed its input")
            raise RemoteUnavailableError(self._gone) from None

    async def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - a pipe
        try:
            while line := await self._process.stdout.readline():
                self._take(line)
            self._end(await self._how())
        except (ValueError, OSError):
            self._end(f"it sent a line of more than {LARGEST} bytes")
            if group := self.group:
                end_group(group, signal.SIGKILL)

    async def _how(self) -> str:
        """Why nothing comes any more: how it ended, if it did, and what it said last."""
        try:
            async with asyncio.timeout(SETTLING):
                code = await self._process.wait()
        except TimeoutError:
            return "it closed its output"
        how = f"it ended with exit code {code}" if code >= 0 else f"it was ended by signal {-code}"
        return f"{how}: {self._last}" if self._last else how

    def _take(self, line: bytes) -> None:
        try:
            message = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return
        if isinstance(message, dict) and "method" not in message and isinstance(message.get("id"), int):
            waiting = self._waiting.get(message["id"])
            if waiting is not None and not waiting.done():
                waiting.set_result(message)

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None  # noqa: S101 - a pipe
        while data := await self._process.stderr.read(65536):
            text = data[-_SHOWN:].decode("utf-8", "replace").strip()
            self._last = one_line(text.rpartition("\n")[2]) or self._last
            log.debug("interceptor program says", extra={"program": self._name, "text": text})

    def _end(self, why: str) -> None:
        self._gone = self._gone or why
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(RemoteUnavailableError(self._gone))


def end_group(group: int, number: int = signal.SIGTERM) -> None:
    """End a program and what it started. INVARIANT: the group is of its own making (start_new_session)."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass
