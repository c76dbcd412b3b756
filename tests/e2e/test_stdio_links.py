"""Frames over pipes: lines in pieces or without end, peers that don't read, and what a server's process is given."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from interpose.doors.mcp.clients import stdio_client
from interpose.doors.mcp.clients.stdio_client import StdioClient
from interpose.doors.mcp.links import child_link
from interpose.doors.mcp.links.child_link import ChildLink, ServerProgram, environment
from interpose.doors.mcp.links.frames import BadFrameError, parse
from interpose.doors.mcp.links.lines import LineSplitter, TooLongError
from interpose.doors.mcp.links.links import NOTHING, LinkError
from tests.support.noted import noted
from tests.support.peers.mcp_peers import until
from tests.support.servers.event_loops import Run, run
from tests.support.timing.patience import PATIENCE

__all__ = ["run"]


class Hearing:
    """A ServerSide, or a ClientSide, that keeps what it hears."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.why: list[str] = []

    def received(self, line: bytes, during: int | None = None, /) -> None:
        self.lines.append(line)

    def lost(self, why: str, /) -> None:
        self.why.append(why)

    def take(self, frame: Any, /) -> None: ...

    def abandoned(self, request: Any, /) -> None: ...

    async def close(self) -> None: ...


@pytest.mark.parametrize(
    ("pieces", "want"),
    noted(
        [
            ("whole lines", ([b"a\nb\n"], [b"a", b"b"])),
            ("byte by byte", ([b"a", b"b", b"\n", b"c", b"\n"], [b"ab", b"c"])),
            ("empty lines", ([b"\n\n  \na\r\n\n"], [b"a\r"])),
            ("the end is missing", ([b"a\nb"], [b"a"])),
            ("a character in two pieces", ([b"\xc3", b"\xa9\n"], ["é".encode()])),
            ("eight bytes", ([b"12345678\n"], [b"12345678"])),
        ]
    ),
)
def test_lines(pieces: list[bytes], want: list[bytes]) -> None:
    found: list[bytes] = []
    lines = LineSplitter(found.append, limit=8)
    for piece in pieces:
        lines.feed(piece)
    assert found == want


def _feed(lines: LineSplitter, pieces: list[bytes]) -> None:
    for piece in pieces:
        lines.feed(piece)


@pytest.mark.parametrize("pieces", [[b"123456789\n"], [b"12345", b"6789"], [b"123456789"]])
def test_a_line_without_end_is_not_kept(pieces: list[bytes]) -> None:
    lines = LineSplitter(lambda _line: None, limit=8)
    with pytest.raises(TooLongError):
        _feed(lines, pieces)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\xff"}}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"x"}',
        b'{"jsonrpc":"2.0","id":true,"method":"x"}',
        b'{"jsonrpc":"2.0","id":1,"method":7}',
        b'{"jsonrpc":"2.0","id":1,"method":"x"} {}',
        b'[{"jsonrpc":"2.0","id":1,"method":"x"}]',
        b'{"id":1,"method":"x"}',
        b"",
    ],
)
def test_what_is_no_frame(line: bytes) -> None:
    with pytest.raises(BadFrameError):
        parse(line)


def program(tmp_path: Path, text: str, **more: Any) -> ServerProgram:
    script = tmp_path / "server.py"
    script.write_text(text, encoding="utf-8")
    return ServerProgram(name="x", command=sys.executable, args=("-u", str(script)), **more)


def test_a_server_gets_few_variables_and_what_is_configured(tmp_path: Path, run: Run) -> None:
    told = "import os, json, sys; print(json.dumps([dict(os.environ), os.getcwd(), os.getpgid(0) == os.getpid()]))"

    async def main() -> None:
        os.environ["AWS_SECRET_ACCESS_KEY"] = "mine"
        try:
            hearing = Hearing()
            link = ChildLink(program(tmp_path, told, env={"GITHUB_TOKEN": "given"}, cwd=str(tmp_path)))
            await link.open(hearing)
            await until(lambda: hearing.why)
            variables, where, leads = json.loads(hearing.lines[0])
            await link.close()
        finally:
            del os.environ["AWS_SECRET_ACCESS_KEY"]
        assert variables["GITHUB_TOKEN"] == "given"
        assert "AWS_SECRET_ACCESS_KEY" not in variables
        assert where == str(tmp_path)
        assert leads, "it has a process group of its own"
        assert hearing.why == ["it ended with exit code 0"]

    run(main())


def test_no_shell_reads_the_command(tmp_path: Path, run: Run) -> None:
    async def main() -> None:
        hearing = Hearing()
        given = ("$HOME", "a b", "; touch x", "`id`")
        text = "import sys, json; print(json.dumps(sys.argv[1:]))"
        one = program(tmp_path, text)
        link = ChildLink(ServerProgram(name="x", command=one.command, args=(*one.args, *given)))
        await link.open(hearing)
        await until(lambda: hearing.why)
        await link.close()
        assert tuple(json.loads(hearing.lines[0])) == given

    run(main())


@pytest.mark.parametrize("command", ["there-is-no-such-program", "/nowhere/server", "a\0b"])
def test_what_cannot_be_started(command: str, run: Run) -> None:
    async def main() -> None:
        with pytest.raises(LinkError):
            await ChildLink(ServerProgram(name="x", command=command)).open(Hearing())

    run(main())


def test_its_last_words_say_why_it_ended(tmp_path: Path, run: Run) -> None:
    async def main() -> None:
        hearing = Hearing()
        link = ChildLink(program(tmp_path, "import sys; sys.exit('no licence')"))
        await link.open(hearing)
        await until(lambda: hearing.why)
        assert hearing.why == ["it ended with exit code 1: no licence"]
        with pytest.raises(LinkError):
            await link.send(b"{}", NOTHING)
        await link.close()

    run(main())


class _SlowLoop:
    """A loop that has a process only when it has ended, as on a busy machine."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    async def subprocess_exec(self, *words: Any, **options: Any) -> tuple[Any, Any]:
        transport, protocol = await self._loop.subprocess_exec(*words, **options)
        stdin: Any = transport.get_pipe_transport(0)
        await until(stdin.is_closing)
        return transport, protocol

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


def test_a_server_that_ends_before_it_is_opened(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        hearing = Hearing()
        link = ChildLink(program(tmp_path, "import sys; sys.exit('no licence')"))
        with monkeypatch.context() as patched:
            loop = _SlowLoop(asyncio.get_running_loop())
            patched.setattr("interpose.doors.mcp.links.child_link.asyncio.get_running_loop", lambda: loop)
            await link.open(hearing)
        await until(lambda: hearing.why)
        assert hearing.why == ["it ended with exit code 1: no licence"]
        await link.close()

    run(main())


def test_what_it_wrote_before_it_ended_is_heard(tmp_path: Path, run: Run) -> None:
    async def main() -> None:
        hearing = Hearing()
        link = ChildLink(program(tmp_path, "for n in range(20000): print('{\"n\": %d}' % n)"))
        await link.open(hearing)
        await until(lambda: hearing.why)
        assert len(hearing.lines) == 20000
        await link.close()

    run(main())


def test_a_server_that_does_not_read_makes_only_its_callers_wait(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_link, "UNREAD", 0.3)
    monkeypatch.setattr(child_link, "HIGH_WATER", 100_000)

    async def main() -> None:
        link = ChildLink(program(tmp_path, "import time; time.sleep(60)"))
        await link.open(Hearing())
        frame = b'"' + b"x" * 100_000 + b'"'
        with pytest.raises(LinkError, match="has not read its input"):
            await _often(link, frame)
        await link.close()

    run(main())


async def _often(link: ChildLink, frame: bytes) -> None:
    for _ in range(100):
        await link.send(frame, NOTHING)


def test_large_frames_pass_in_pieces(tmp_path: Path, run: Run) -> None:
    async def main() -> None:
        hearing = Hearing()
        link = ChildLink(program(tmp_path, "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"))
        await link.open(hearing)
        frames = [json.dumps(str(number) * 1_500_000).encode() for number in range(4)]
        for frame in frames:
            await link.send(frame, NOTHING)
        await until(lambda: len(hearing.lines) == 4)
        assert hearing.lines == frames
        await link.close()

    run(main())


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
print(child.pid, flush=True)
time.sleep(300)
"""


def test_closing_ends_it_with_all_that_it_started(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _hurry(monkeypatch)

    async def main() -> None:
        hearing = Hearing()
        link = ChildLink(program(tmp_path, STUBBORN))
        await link.open(hearing)
        await until(lambda: hearing.lines)
        started = int(hearing.lines[0])
        await link.close()
        await until(lambda: not _lives(started))
        assert hearing.why == [], "who closes it is not told that it is gone"

    run(main())


def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GRACE", "TERM_GRACE"):
        monkeypatch.setattr(child_link, name, 0.2)


ALONE = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
time.sleep(300)
"""


async def _cancel_supervision(tmp_path: Path, cancels: int) -> None:
    """Cancel a task that closes its stubborn server at its end. The server must not outlive it."""
    hearing = Hearing()
    link = ChildLink(program(tmp_path, ALONE))
    await link.open(hearing)
    await until(lambda: hearing.lines)

    async def supervise() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await link.close()

    task = asyncio.get_running_loop().create_task(supervise())
    for _ in range(cancels):
        await asyncio.sleep(0.05)
        task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert not _lives(int(hearing.lines[0]))


@pytest.mark.parametrize("cancels", [1, 2, 3], ids=lambda cancels: f"{cancels} cancellations")
def test_a_cancelled_task_still_ends_its_stubborn_server(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, cancels: int
) -> None:
    """As the task that supervises a server is cancelled: while the server runs, and while it is being closed."""
    _hurry(monkeypatch)

    run(_cancel_supervision(tmp_path, cancels))


def test_an_old_timeout_in_a_cancelled_task_does_not_spare_a_server(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until Python 3.11.2, asyncio.timeout ends as a cancellation in a task that was cancelled before it began."""
    _hurry(monkeypatch)
    recent = asyncio.timeout

    @asynccontextmanager
    async def old(seconds: float) -> AsyncIterator[None]:
        task = asyncio.current_task()
        assert task is not None
        cancelled = task.cancelling()
        try:
            async with recent(seconds):
                yield
        except TimeoutError:
            if cancelled:
                raise asyncio.CancelledError from None
            raise

    monkeypatch.setattr(asyncio, "timeout", old)

    run(_cancel_supervision(tmp_path, 1))


OWNER = """
import asyncio, sys
from interpose.doors.mcp.links.child_link import ChildLink, ServerProgram

class Side:
    def received(self, line, during=None, /): print(line.decode(), flush=True)
    def lost(self, why, /): pass

async def main():
    link = ChildLink(ServerProgram(name="x", command=sys.executable, args=("-u", sys.argv[1])))
    await link.open(Side())
    print("open", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def test_a_gateway_that_is_killed_leaves_no_server_behind(tmp_path: Path) -> None:
    """Neither one that ignores the end of its input and SIGTERM, nor what that one started."""
    server = program(tmp_path, STUBBORN.replace("print(child.pid", "print(child.pid, os.getpid()"))
    command = [sys.executable, "-c", OWNER, server.args[-1]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as owner:
        assert owner.stdout is not None
        said = {owner.stdout.readline().strip() for _ in range(2)} - {"open"}
        started = [int(pid) for pid in said.pop().split()]
        assert all(map(_lives, started))
        os.killpg(owner.pid, signal.SIGKILL)
    asyncio.run(until(lambda: not any(map(_lives, started))))


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2] != "Z"
    except OSError:
        return False


def test_variables_of_a_server() -> None:
    ours = {"PATH": "/bin", "HOME": "/h", "SECRET": "s", "INTERPOSE_TOKEN": "t"}
    assert environment({"A": "1", "PATH": "/other"}, ours) == {"PATH": "/other", "HOME": "/h", "A": "1"}


def test_a_client_on_two_pipes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_client, "HIGH_WATER", 1000)

    async def main() -> None:
        reads, theirs = os.pipe()
        mine, writes = os.pipe()
        hearing, one = Hearing(), StdioClient()
        await one.connect(reads, writes, hearing)
        os.write(theirs, b'{"a":1}\n{"b"')
        os.write(theirs, b":2}\n")
        await until(lambda: len(hearing.lines) == 2)
        assert hearing.lines == [b'{"a":1}', b'{"b":2}']
        await one.send(b'{"c":\n3}')
        assert os.read(mine, 100) == b'{"c": 3}\n'
        big = b'"' + b"x" * 200_000 + b'"'
        sending = asyncio.ensure_future(_twice(one, big))
        await asyncio.sleep(0.05)
        assert not one.post(b"{}"), "what may be lost is lost while the client does not read"
        assert not sending.done()
        got = 0
        while got < 2 * len(big) + 2:
            got += len(await asyncio.to_thread(os.read, mine, 100_000))
        await sending
        assert one.post(b"{}")
        os.close(theirs)
        await asyncio.wait_for(one.ended.wait(), PATIENCE)
        os.close(mine)
        one.close()

    run(main())


async def _twice(one: StdioClient, frame: bytes) -> None:
    await one.send(frame)
    await one.send(frame)


def test_a_client_that_went_is_gone(run: Run) -> None:
    async def main() -> None:
        reads, theirs = os.pipe()
        mine, writes = os.pipe()
        one = StdioClient()
        await one.connect(reads, writes, Hearing())
        os.close(mine)
        with pytest.raises(LinkError):
            await _until_refused(one)
        assert one.ended.is_set()
        assert one.left.is_set()
        assert one.gone
        await one.flush()
        os.close(theirs)
        one.close()

    run(main())


async def _until_refused(one: StdioClient) -> None:
    for _ in range(100):
        await one.send(b"{}")
        await asyncio.sleep(0.01)


def test_a_client_whose_line_does_not_end_is_cut_off(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_client, "LineSplitter", lambda take: LineSplitter(take, 100))

    async def main() -> None:
        reads, theirs = os.pipe()
        mine, writes = os.pipe()
        one = StdioClient()
        await one.connect(reads, writes, Hearing())
        os.write(theirs, b"x" * 200)
        await asyncio.wait_for(one.ended.wait(), PATIENCE)
        for descriptor in (theirs, mine):
            os.close(descriptor)
        one.close()

    run(main())


def test_requests_from_a_file_and_answers_into_one(tmp_path: Path, run: Run) -> None:
    async def main() -> None:
        asked, answered = tmp_path / "asked", tmp_path / "answered"
        asked.write_bytes(b'{"a":1}\n')
        reads = os.open(asked, os.O_RDONLY)
        writes = os.open(answered, os.O_WRONLY | os.O_CREAT)
        hearing, one = Hearing(), StdioClient()
        await one.connect(reads, writes, hearing)
        await asyncio.wait_for(one.ended.wait(), PATIENCE)
        await one.send(b"{}")
        assert hearing.lines == [b'{"a":1}']
        assert answered.read_bytes() == b"{}\n"
        one.close()

    run(main())


def test_a_client_that_is_no_one(run: Run) -> None:
    """uvloop ends the whole process if it is asked to wait for /dev/null."""

    async def main() -> None:
        one = StdioClient()
        await one.connect(os.open(os.devnull, os.O_RDONLY), os.open(os.devnull, os.O_WRONLY), Hearing())
        await asyncio.wait_for(one.ended.wait(), PATIENCE)
        await one.send(b"{}")
        one.close()

    run(main())
