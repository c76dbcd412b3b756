"""A long run of the decision server at 70 % of what it can do: its memory, its open files, its errors.

    python -m bench.soak [SECONDS]

First the server is asked as fast as it answers, then at 70 % of that rate until the time is up. Each command has words
of its own, every fifth is refused, and every call gets an outcome. Memory is compared between the first tenth after
warming up and the end.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

import msgspec

from bench.server import ours_at

SECONDS = 3600
CONNECTIONS = 32
SHARE = 0.7
PROBE = 10
COMMANDS = ("git log -{n}", "cat notes/{n}.txt", "ls -la build/{n}", "pytest -k case_{n}", "rm -rf ~/{n}/..")


class Asking(asyncio.Protocol):
    """One connection: an answer comes, the next question goes when its time has come."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._transport: asyncio.Transport | None = None
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # TCP gives a Transport
        self._load.next(self)

    def ask(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        self._load.answered(ok=head.startswith(b"HTTP/1.1 200"))
        self._load.next(self)

    def connection_lost(self, _error: Exception | None) -> None:
        self._load.answered(ok=self._load.done)


class Load:
    """Gives out questions at a rate; without one, as fast as they are answered."""

    def __init__(self) -> None:
        self.rate = 0.0
        self.asked = self.count = self.errors = 0
        self.done = False
        self._due = 0.0

    def next(self, connection: Asking) -> None:
        if self.done:
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        if not self.rate:
            connection.ask(self._question())
            return
        self._due = max(self._due + 1 / self.rate, now - 0.1)
        loop.call_at(self._due, lambda: connection.ask(self._question()))

    def answered(self, *, ok: bool) -> None:
        self.count += 1
        self.errors += not ok

    def _question(self) -> bytes:
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
        head = b"POST /api/v1/intercept HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json\r\n"
        return (head % PORT) + b"Content-Length: %d\r\n\r\n" % len(body) + body


PORT = 18473


def memory_kb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def drive(pid: int, seconds: float) -> None:
    load = Load()
    loop = asyncio.get_running_loop()
    connections = [await loop.create_connection(lambda: Asking(load), "127.0.0.1", PORT) for _ in range(CONNECTIONS)]
    await asyncio.sleep(PROBE)
    load.rate = SHARE * load.count / PROBE
    print(f"{load.count / PROBE:.0f} answers/s at full speed, {load.rate:.0f} from now on\n")
    print(f"{'minutes':>8}{'answers':>12}{'errors':>8}{'memory MB':>11}{'files':>7}")
    start, first = monotonic(), 0
    step = max(1.0, seconds / 20)
    while (past := monotonic() - start) < seconds:
        await asyncio.sleep(step)
        now = memory_kb(pid)
        if past > seconds / 10 and not first:
            first = now
        print(f"{(monotonic() - start) / 60:8.1f}{load.count:12}{load.errors:8}{now / 1024:11.1f}{open_files(pid):7}")
    load.done = True
    last = memory_kb(pid)
    print(f"\nmemory grew by {100 * (last - first) / first:.1f} % ({first / 1024:.1f} to {last / 1024:.1f} MB)")
    for transport, _ in connections:
        transport.close()


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    print(f"{datetime.now(UTC):%Y-%m-%d}, {seconds:.0f} s")
    with tempfile.TemporaryDirectory() as place, ours_at(Path(place), PORT) as child:
        asyncio.run(drive(child.pid, seconds))


if __name__ == "__main__":
    main()
