"""What the MCP gateway adds to a tools/call over stdio, beside FastMCP's proxy in front of the same toy server.

    python -m bench.gateway [CALLS] [--peers PLACE]

The proxy has one core to itself; the client and the server share the other. Our gateway runs as it is shipped: all
guards, the `baseline` pack, pins, the ledger at level `written`. Each is measured in turns, and what it adds is its
median less that of a direct connection in the same turn. `mcp-proxy` has no way from stdio to stdio.

Every answer must be that of the toy, and our ledger must have a whole record of every call.
"""

from __future__ import annotations

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

from bench.checks import CheckFailedError, ledger_of_home, require, require_equal, require_ledger, require_present
from bench.command_line import make_parser, run_main
from bench.peers import python_with
from bench.processes import FIRST_CORE, LAST_CORE, cpu_seconds, pin, stay_on

FASTMCP = "fastmcp==4.1.2"
CONCURRENCY = (1, 16)


class Sizes(NamedTuple):
    """How much is measured, and whether each process has a core of its own."""

    calls: int
    warm: int = 200
    turns: int = 3
    pinned: bool = True

    @property
    def made(self) -> int:
        """Calls that one subject gets in all turns."""
        return self.turns * (self.warm + sum(self.calls // at_once * at_once for at_once in CONCURRENCY))

    def core(self, core: int) -> int | None:
        """This core, if processes are pinned."""
        return core if self.pinned else None


SMOKE = Sizes(calls=16, warm=2, turns=1, pinned=False)

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
        self._stdin = require_present(process.stdin, "the process has no stdin")
        self._pid = process.pid
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._next = 0

    def close(self) -> None:
        """No more requests come."""
        self._stdin.close()

    def spent(self) -> float:
        """Microseconds of processor time so far, of all threads."""
        return cpu_seconds(self._pid) * 1e6

    async def read(self, stdout: asyncio.StreamReader) -> None:
        while line := await stdout.readline():
            message = json.loads(line)
            if (future := self._waiting.pop(message.get("id"), None)) is not None:
                future.set_result(message)
        for future in self._waiting.values():  # it ended: who waits would wait for ever
            future.set_exception(CheckFailedError("the process ended before it answered"))

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
        require("result" in listed, f"tools/list was answered with {listed}")
        require_equal("tools", len(listed["result"]["tools"]), 1)
        return str(listed["result"]["tools"][0]["name"])

    async def call(self, name: str, text: str) -> float:
        began = perf_counter()
        answer = await self.request("tools/call", {"name": name, "arguments": {"text": text}})
        took = perf_counter() - began
        require_echo(answer, text)
        return took * 1e6


def require_echo(answer: Mapping[str, Any], text: str) -> None:
    """The toy's own answer to a call, neither refused nor rewritten on the way."""
    result = answer.get("result") or {}
    require(not result.get("isError"), f"the call failed: {answer}")
    require_equal("the answer to a call", result.get("content"), [{"type": "text", "text": text}])


@contextlib.asynccontextmanager
async def driven(command: list[str], env: Mapping[str, str], core: int | None) -> AsyncIterator[StdioDriver]:
    process = await asyncio.create_subprocess_exec(
        *pin(command, core), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, env=env, limit=1 << 24,
    )  # fmt: skip
    driver = StdioDriver(process)
    reading = asyncio.ensure_future(driver.read(require_present(process.stdout, "the process has no stdout")))
    try:
        yield driver
    finally:
        driver.close()
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), 10)
        finally:  # also when this waiting is interrupted
            if process.returncode is None:
                process.kill()
                await process.wait()
            reading.cancel()


async def measured(command: list[str], env: Mapping[str, str], core: int | None, sizes: Sizes) -> dict[int, Measured]:
    found = {}
    async with driven(command, env, core) as driver:
        async with asyncio.timeout(60):
            name = await driver.greet()
        for number in range(sizes.warm):
            await driver.call(name, f"warm {number}")
        for at_once in CONCURRENCY:
            took: list[float] = []

            async def work(share: int, took: list[float] = took) -> None:
                for number in range(share):
                    took.append(await driver.call(name, f"text number {number}"))

            began, spent = perf_counter(), driver.spent()
            await asyncio.gather(*(work(sizes.calls // at_once) for _ in range(at_once)))
            require_equal("answers", len(took), sizes.calls // at_once * at_once)
            rate, cpu = len(took) / (perf_counter() - began), (driver.spent() - spent) / len(took)
            found[at_once] = Measured(statistics.median(took), rate, cpu)
    return found


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("calls", type=int, nargs="?", default=4000)
    parser.add_argument("--peers", type=Path, help="where peers are installed (default: a new directory)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        if given.smoke:
            run(Path(place), SMOKE, None)
        else:
            run(Path(place), Sizes(given.calls), given.peers or Path(place))


def run(place: Path, sizes: Sizes, peers: Path | None) -> None:
    """Measure and print. Without a place for peers there are none."""
    toy, proxy = place / "toy.py", place / "proxy.py"
    toy.write_text(TOY)
    proxy.write_text(FASTMCP_PROXY)
    home = place / "home"
    home.mkdir()
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    if sizes.pinned:
        stay_on(LAST_CORE)  # the client, and the server that it starts
    last = pin([sys.executable, "-S", "-u", str(toy)], sizes.core(LAST_CORE))
    subjects: dict[str, list[str]] = {
        "direct": last,
        "interpose mcp wrap": [sys.executable, "-m", "interpose", "wrap", "--name", "toy", "--", *last],
    }
    if peers is not None:
        python = python_with(peers, FASTMCP)
        if isinstance(python, str):
            print(f"left out: {python}", file=sys.stderr)
        else:
            subjects["FastMCP proxy"] = [str(python), str(proxy), *last]
    seen: dict[str, list[dict[int, Measured]]] = {name: [] for name in subjects}
    for _ in range(sizes.turns):
        for name, command in subjects.items():
            core = None if name == "direct" else sizes.core(FIRST_CORE)
            seen[name].append(asyncio.run(measured(command, env, core, sizes)))
    require_ledger(ledger_of_home(home), {"allow": sizes.made})
    show(seen, sizes)


def show(seen: Mapping[str, list[dict[int, Measured]]], sizes: Sizes) -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d}, {sizes.calls} calls, {sizes.turns} turns, Python {sys.version.split()[0]}\n")
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
    run_main(main)
