"""A judge that is a program on this machine: the question on its standard input, the answer on its standard output."""

from __future__ import annotations

import asyncio
import os
import signal

from interpose.policy.judge.model import MisansweredError, UnavailableError

MAX_BYTES = 1_000_000


async def run(argv: tuple[str, ...], question: bytes) -> bytes:
    """What the program wrote. It runs without a shell, and its whole process group ends with this call.

    It starts in `/`: where the agent works, a file of the repository could pass for a part of the program.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True, cwd="/",
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise UnavailableError(f"the command does not start ({type(error).__name__})") from None
    try:
        _, answer = await asyncio.gather(_write(process, question), _read(process))
        if (code := await process.wait()) != 0:
            raise MisansweredError(f"the command ended with exit code {code}")
        return answer
    finally:
        await _end(process)


async def _write(process: asyncio.subprocess.Process, question: bytes) -> None:
    stdin = process.stdin
    assert stdin is not None, "it was opened as a pipe"  # noqa: S101 - tells mypy what the call above says
    try:
        stdin.write(question)
        await stdin.drain()
        stdin.close()
        await stdin.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        pass  # a program may answer without reading everything; whether it may judge so is its author's business


async def _read(process: asyncio.subprocess.Process) -> bytes:
    stdout = process.stdout
    assert stdout is not None, "it was opened as a pipe"  # noqa: S101 - as above
    received = bytearray()
    while part := await stdout.read(65536):
        received += part
        if len(received) > MAX_BYTES:
            raise MisansweredError(f"answered with more than {MAX_BYTES} bytes")
    return bytes(received)


async def _end(process: asyncio.subprocess.Process) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)  # the group has the id of the process that began it
    except (ProcessLookupError, PermissionError):
        pass  # nobody is left
    await process.wait()
