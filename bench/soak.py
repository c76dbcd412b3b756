"""A long run of the decision server at 70 % of what it can do: its memory, its open files, its errors.

    python -m bench.soak [SECONDS]

First the server is asked as fast as it answers, then at 70 % of that rate until the time is up. Each command has words
of its own, every fifth is denied, and every call gets an outcome. Memory is compared between the first tenth after
warming up and the end. A wrong answer, a lost connection or a missing record fails the benchmark; after a run of ten
minutes or more, so do memory and open files that grew.
"""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import msgspec

from bench.checks import require, require_equal, require_ledger
from bench.command_line import make_parser, run_main
from bench.processes import FIRST_CORE, free_port
from bench.server import PATH, ledger_at, ours_at

SECONDS = 3600
SHARE = 0.7
LONG = 600
"""Seconds after which growth is more than warming up."""
MEMORY_AT_MOST, FILES_AT_MOST = 1.1, 16
"""How many times as much memory, and how many more open files there may be at the end of a long run."""
COMMANDS = ("git log -{n}", "cat notes/{n}.txt", "ls -la build/{n}", "pytest -k case_{n}", "rm -rf ~/{n}/..")
ALLOWED, DENIED = b'"decision":"allow"', b'"decision":"deny"'


class Sizes(NamedTuple):
    """How long a run takes in seconds, and how many ask."""

    seconds: float
    probe: float = 10
    connections: int = 32
    core: int | None = FIRST_CORE


SMOKE = Sizes(seconds=0.6, probe=0.2, connections=4, core=None)


class Question(NamedTuple):
    """A request, and what must be in its answer."""

    data: bytes
    decision: bytes


class Asking(asyncio.Protocol):
    """One connection: an answer comes, the next question goes when its time has come."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self._asked: Question | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # TCP gives a Transport
        self._load.next(self)

    def ask(self) -> None:
        if self._transport is not None and not self._load.done:
            self._asked = self._load.question()
            self._transport.write(self._asked.data)

    @property
    def is_waiting(self) -> bool:
        return self._asked is not None

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        right = self._asked is not None and head.startswith(b"HTTP/1.1 200") and self._asked.decision in rest
        self._load.answered(self._asked, "" if right else f"{self._asked} was answered with {head + rest!r}")
        self._asked = None
        self._load.next(self)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._load.done:
            self._load.answered(None, f"the server closed a connection: {error}")


class Load:
    """Gives out questions at a rate; without one, as fast as they are answered."""

    def __init__(self, port: int) -> None:
        self.rate = 0.0
        self.asked = self.errors = 0
        self.done = False
        self.wrong = ""
        """What was wrong first."""
        self.decisions: Counter[bytes] = Counter()
        """How many questions about calls had each decision."""
        self.outcomes = 0
        self._port = port
        self._due = 0.0

    @property
    def count(self) -> int:
        """Answers so far."""
        return self.outcomes + self.decisions.total() + self.errors

    def next(self, connection: Asking) -> None:
        if self.done:
            return
        if not self.rate:
            connection.ask()
            return
        loop = asyncio.get_running_loop()
        self._due = max(self._due + 1 / self.rate, loop.time() - 0.1)
        loop.call_at(self._due, connection.ask)

    def answered(self, question: Question | None, wrong: str) -> None:
        self.wrong = self.wrong or wrong
        if wrong or question is None:
            self.errors += 1
        elif b'"phase":"response"' in question.data:
            self.outcomes += 1
        else:
            self.decisions[question.decision] += 1

    def question(self) -> Question:
        """The next one: about a call, or with its outcome."""
        self.asked += 1
        number, outcome = divmod(self.asked, 2)
        command = COMMANDS[number % len(COMMANDS)].format(n=number)
        payload: dict[str, object] = {"name": "Bash", "arguments": {"command": command}}
        if outcome:
            payload["result"] = {"content": [{"type": "text", "text": f"line {number}\n" * 20}]}
        body = msgspec.json.encode(
            {
                "event": "tools/call",
                "phase": "response" if outcome else "request",
                "payload": payload,
                "context": {"sessionId": f"s{number // 1000}", "principal": {"type": "agent", "id": "soak"}},
            }
        )
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost:{self._port}\r\nContent-Type: application/json\r\n"
        decision = DENIED if command.startswith("rm ") and not outcome else ALLOWED
        return Question(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body, decision)


def memory_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def drive(server: subprocess.Popen[bytes], port: int, sizes: Sizes) -> Load:
    """Ask until the time is up and all is answered."""
    load, pid = Load(port), server.pid
    loop = asyncio.get_running_loop()
    made = [await loop.create_connection(lambda: Asking(load), "127.0.0.1", port) for _ in range(sizes.connections)]
    await asyncio.sleep(sizes.probe)
    load.rate = SHARE * load.count / sizes.probe
    print(f"{load.count / sizes.probe:.0f} answers/s at full speed, {load.rate:.0f} from now on\n")
    print(f"{'minutes':>8}{'answers':>12}{'errors':>8}{'memory MB':>11}{'files':>7}")
    start, memory, files = monotonic(), 0, 0
    step = max(0.2, sizes.seconds / 20)
    while (past := monotonic() - start) < sizes.seconds or not memory:
        await asyncio.sleep(step)
        require(server.poll() is None, f"the server ended with {server.returncode}")
        now, opened = memory_kb(pid), open_files(pid)
        if past > sizes.seconds / 10 and not memory:
            memory, files = now, opened
        print(f"{(monotonic() - start) / 60:8.1f}{load.count:12}{load.errors:8}{now / 1024:11.1f}{opened:7}")
    load.done = True
    async with asyncio.timeout(30):
        while any(asking.is_waiting for _, asking in made) and not load.errors:
            await asyncio.sleep(0.02)
    print(f"\nmemory grew by {100 * (now - memory) / memory:.1f} % ({memory / 1024:.1f} to {now / 1024:.1f} MB)")
    for transport, _ in made:
        transport.close()
    require(not load.errors, f"{load.errors} errors; the first: {load.wrong}")
    if sizes.seconds >= LONG:
        require(now <= MEMORY_AT_MOST * memory, f"memory grew from {memory} to {now} kB")
        require(opened <= files + FILES_AT_MOST, f"there are {opened} open files where {files} were")
    return load


def require_recorded(load: Load, ledger: Path) -> None:
    """Every answer is in the ledger. A denied call ends there and then, and its outcome comes all the same."""
    require_equal("answers", load.count, load.asked)
    require(min(load.decisions[ALLOWED], load.decisions[DENIED], load.outcomes) > 0, f"only {load.decisions} was asked")
    denied = load.decisions[DENIED]
    require_ledger(ledger, {"deny": denied}, finished=load.outcomes + denied)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("seconds", type=float, nargs="?", default=SECONDS)
    options = parser.parse_args()
    sizes = SMOKE if options.smoke else Sizes(options.seconds)
    print(f"{datetime.now(UTC):%Y-%m-%d}, {sizes.seconds:g} s")
    port = free_port()
    with tempfile.TemporaryDirectory() as place:
        with ours_at(Path(place), port, core=sizes.core) as server:
            load = asyncio.run(drive(server, port, sizes))
        require_recorded(load, ledger_at(Path(place)))


if __name__ == "__main__":
    run_main(main)
