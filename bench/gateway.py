"""What the MCP gateway adds to a tools/call over stdio, beside FastMCP's proxy in front of the same toy server.

    python -m bench.gateway [CALLS] [--peers PLACE]

The proxy has one core to itself; the client and the server share the other. Our gateway runs as it is shipped: all
guards, the `baseline` pack, pins, the ledger at level `written`. Each is measured in turns, and what it adds is its
median less that of a direct connection in the same turn. `mcp-proxy` has no way from stdio to stdio.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from bench.peers import python_with

FASTMCP = "fastmcp==4.1.2"
TURNS = 3
CONCURRENCY = (1, 16)

TOY = """
import json, sys
out, lines = sys.stdout.buffer, sys.stdin.buffer
TOOL = {"name": "echo", "description": "Gives back what it gets", "inputSchema": {"type": "object",
        "properties": {"text": {"type": "string"}}, "required": ["text"]}}
for line in lines:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    method, params = message["method"], message.get("params") or {}
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        answer["result"] = {"protocolVersion": params["protocolVersion"],
                            "capabilities": {"tools": {"listChanged": True}},
                            "serverInfo": {"name": "toy", "version": "1"}}
    elif method == "tools/list":
        answer["result"] = {"tools": [TOOL]}
    elif method == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
    elif method == "ping":
        answer["result"] = {}
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    out.write(json.dumps(answer).encode() + b"\\n")
    out.flush()
"""

FASTMCP_PROXY = """
import sys
from fastmcp.server import create_proxy
from fastmcp.client.transports import StdioTransport
create_proxy(StdioTransport(command=sys.argv[1], args=sys.argv[2:])).run(transport="stdio", show_banner=False)
"""


class Measured(NamedTuple):
    """One run."""

    p50: float
    """Microseconds of a call."""
    rate: float
    """Calls a second."""
    cpu: float
    """Microseconds of processor time that the process spent on a call: what other work on the machine leaves alone."""


class StdioDriver:
    """A client that does as little as possible."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        self._stdin = process.stdin
        self._stat = Path(f"/proc/{process.pid}/stat")
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._next = 0

    def spent(self) -> float:
        """Microseconds of processor time so far, of all threads."""
        fields = self._stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")

    async def read(self, stdout: asyncio.StreamReader) -> None:
        while line := await stdout.readline():
            message = json.loads(line)
            if (future := self._waiting.pop(message.get("id"), None)) is not None:
                future.set_result(message)

    async def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._next += 1
        id = self._next
        future = self._waiting[id] = asyncio.get_running_loop().create_future()
        body = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self._stdin.write(json.dumps(body).encode() + b"\n")
        return await future

    async def greet(self) -> str:
        """The name under which the tool is there."""
        said = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        await self.request("initialize", said)
        self._stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        listed = await self.request("tools/list", {})
        return str(listed["result"]["tools"][0]["name"])

    async def call(self, name: str, text: str) -> float:
        began = perf_counter()
        answer = await self.request("tools/call", {"name": name, "arguments": {"text": text}})
        took = perf_counter() - began
        assert answer["result"]["content"][0]["text"] == text, answer
        return took * 1e6


@contextlib.asynccontextmanager
async def driven(command: list[str], env: Mapping[str, str], core: int | None) -> AsyncIterator[StdioDriver]:
    pinned = command if core is None else ["taskset", "-c", str(core), *command]
    process = await asyncio.create_subprocess_exec(
        *pinned, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env=env, limit=1 << 24,
    )  # fmt: skip
    assert process.stdout is not None
    driver = StdioDriver(process)
    reading = asyncio.ensure_future(driver.read(process.stdout))
    try:
        yield driver
    finally:
        assert process.stdin is not None
        process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 10)
        if process.returncode is None:
            process.kill()
            await process.wait()
        reading.cancel()


async def measured(command: list[str], env: Mapping[str, str], core: int | None, calls: int) -> dict[int, Measured]:
    found = {}
    async with driven(command, env, core) as driver:
        async with asyncio.timeout(60):
            name = await driver.greet()
        for number in range(200):
            await driver.call(name, f"warm {number}")
        for at_once in CONCURRENCY:
            took: list[float] = []

            async def work(share: int, took: list[float] = took) -> None:
                for number in range(share):
                    took.append(await driver.call(name, f"text number {number}"))

            began, spent = perf_counter(), driver.spent()
            await asyncio.gather(*(work(calls // at_once) for _ in range(at_once)))
            rate, cpu = len(took) / (perf_counter() - began), (driver.spent() - spent) / len(took)
            found[at_once] = Measured(statistics.median(took), rate, cpu)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calls", type=int, nargs="?", default=4000)
    parser.add_argument("--peers", type=Path, help="where peers are installed (default: a new directory)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        return run(Path(place), given.calls, given.peers or Path(place))


def run(place: Path, calls: int, peers: Path) -> int:
    toy, proxy = place / "toy.py", place / "proxy.py"
    toy.write_text(TOY)
    proxy.write_text(FASTMCP_PROXY)
    home = place / "home"
    home.mkdir()
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    os.sched_setaffinity(0, {os.cpu_count() - 1 if os.cpu_count() else 0})  # the client, and the server that it starts
    last = ["taskset", "-c", str((os.cpu_count() or 1) - 1), sys.executable, "-S", "-u", str(toy)]
    subjects: dict[str, list[str]] = {
        "direct": last,
        "interpose wrap": [sys.executable, "-m", "interpose", "wrap", "--name", "toy", "--", *last],
    }
    python = python_with(peers, FASTMCP)
    if isinstance(python, str):
        print(f"left out: {python}", file=sys.stderr)
    else:
        subjects["FastMCP proxy"] = [str(python), str(proxy), *last]
    seen: dict[str, list[dict[int, Measured]]] = {name: [] for name in subjects}
    for _ in range(TURNS):
        for name, command in subjects.items():
            core = None if name == "direct" else 0
            seen[name].append(asyncio.run(measured(command, env, core, calls)))
    show(seen, calls)
    return 0


def show(seen: Mapping[str, list[dict[int, Measured]]], calls: int) -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d}, {calls} calls, {TURNS} turns, Python {sys.version.split()[0]}\n")
    print("| tools/call over stdio | at once | p50 µs | added µs | calls/s | of direct | CPU µs |")
    print("|---|---|---|---|---|---|---|")
    for at_once in CONCURRENCY:
        base = [turn[at_once] for turn in seen["direct"]]
        for name, turns in seen.items():
            p50 = statistics.median(turn[at_once].p50 for turn in turns)
            rate = statistics.median(turn[at_once].rate for turn in turns)
            cpu = statistics.median(turn[at_once].cpu for turn in turns)
            added = statistics.median(turn[at_once].p50 - one.p50 for turn, one in zip(turns, base, strict=True))
            share = statistics.median(turn[at_once].rate / one.rate for turn, one in zip(turns, base, strict=True))
            print(f"| {name} | {at_once} | {p50:,.0f} | {added:,.0f} | {rate:,.0f} | {share:.2f} | {cpu:,.0f} |")


if __name__ == "__main__":
    raise SystemExit(main())
