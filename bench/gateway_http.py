"""What the MCP gateway adds to a tools/call over HTTP, beside FastMCP's proxy and mcp-proxy before the same toy server.

    python -m bench.gateway_http [CALLS] [--peers PLACE]

The client speaks streamable HTTP (session, JSON or events, kept connections) to each; behind it the toy is a program
(stdio) or an HTTP server. The proxy has one core to itself; the client and the toy share the other. Our gateway runs as
it is shipped: all guards, the `baseline` pack, pins, tokens, the ledger at level `written`. Each is measured in turns,
and what it adds is its median less that of the toy over HTTP in the same turn. `mcp-proxy` goes from HTTP to stdio.

Every answer must be that of the toy, and our ledgers must have a whole record of every call.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from bench.checks import ledger_of_home, require, require_equal, require_ledger, require_present
from bench.command_line import make_parser, run_main
from bench.gateway import CONCURRENCY, FASTMCP, SMOKE, TOY, Sizes, require_echo
from bench.peers import python_with
from bench.processes import FIRST_CORE, LAST_CORE, cpu_seconds, free_port, pin, serving, stay_on

MCP_PROXY = ("mcp-proxy==0.12.0", "mcp<2")
"""It does not run with the SDK of today."""
TOKEN = "bench-" + "b" * 40
Command = Callable[[int], list[str]]
"""How a subject is started on a port."""

HTTP_TOY = (
    TOY.split("for line in lines:", maxsplit=1)[0]
    + """
import asyncio
def answered(message):
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
    return answer
class Toy(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.held = transport, b""
    def data_received(self, data):
        self.held += data
        while True:
            head, found, rest = self.held.partition(b"\\r\\n\\r\\n")
            if not found:
                return
            lines = head.lower().split(b"\\r\\n")
            length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
            if len(rest) < length:
                return
            body, self.held = rest[:length], rest[length:]
            if not lines[0].startswith(b"post"):
                self.transport.write(b"HTTP/1.1 405 No\\r\\nContent-Length: 0\\r\\n\\r\\n")
                continue
            message = json.loads(body)
            if "id" not in message or "method" not in message:
                self.transport.write(b"HTTP/1.1 202 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
                continue
            said = json.dumps(answered(message)).encode()
            self.transport.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nMcp-Session-Id: toy\\r\\n"
                                 b"Content-Length: %d\\r\\n\\r\\n%b" % (len(said), said))
async def main():
    server = await asyncio.get_running_loop().create_server(Toy, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()
asyncio.run(main())
"""
)

FASTMCP_PROXY = """
import sys
from fastmcp.server import create_proxy
from fastmcp.client.transports import StdioTransport
port, *behind = sys.argv[1:]
target = behind[0] if behind[0].startswith("http") else StdioTransport(command=behind[0], args=behind[1:])
create_proxy(target).run(transport="http", host="127.0.0.1", port=int(port), show_banner=False, log_level="error")
"""


class Measured(NamedTuple):
    """One run."""

    p50: float
    """Microseconds of a call."""
    rate: float
    """Calls a second."""
    cpu: float
    """Microseconds of processor time a call costs the one in the middle. Others on the machine change it little."""


class HttpDriver:
    """A client on one kept connection that does as little as possible."""

    def __init__(self, port: int) -> None:
        self.port, self.session = port, ""
        self._next = 0

    async def connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 24)

    def close(self) -> None:
        self._writer.close()

    async def post(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        body = json.dumps(message).encode()
        session = f"Mcp-Session-Id: {self.session}\r\nMCP-Protocol-Version: 2025-06-18\r\n" if self.session else ""
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
            f"{session}Content-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(": ") for line in lines[1:])
        headers = {name.lower(): value for name, _, value in pairs}
        self.session = headers.get("mcp-session-id", self.session)
        said = await self._body(headers)
        require(lines[0].split()[1] in ("200", "202"), f"{lines[0]}: {said[:200]!r}")
        if "event-stream" in headers.get("content-type", ""):
            found = [
                json.loads(line[5:]) for line in said.split(b"\n") if line.startswith(b"data:") and line[5:].strip()
            ]
            return next(one for one in found if one.get("id") == message.get("id"))
        return json.loads(said) if said.strip() else None

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        if "chunked" not in headers.get("transfer-encoding", ""):
            return await self._reader.readexactly(int(headers.get("content-length", "0")))
        parts = []
        while size := int(await self._reader.readline(), 16):
            parts.append((await self._reader.readexactly(size + 2))[:-2])
        await self._reader.readline()
        return b"".join(parts)

    async def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._next += 1
        id = id_of(self, self._next)
        answer = await self.post({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return require_present(answer, f"{method} was not answered")

    async def greet(self) -> str:
        said = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        answer = await self.request("initialize", said)
        require("result" in answer, f"initialize was answered with {answer}")
        await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
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


def id_of(driver: HttpDriver, number: int) -> int:
    """Ids are unique in a session, which several connections share."""
    return (id(driver) % 1_000_003) * 1_000_000 + number


async def measured(port: int, sizes: Sizes, pid: int) -> dict[int, Measured]:
    found = {}
    first = HttpDriver(port)
    await first.connect()
    async with asyncio.timeout(60):
        name = await first.greet()
    for number in range(sizes.warm):
        await first.call(name, f"warm {number}")
    for at_once in CONCURRENCY:
        drivers = [first]
        for _ in range(at_once - 1):
            one = HttpDriver(port)
            one.session = first.session
            await one.connect()
            drivers.append(one)
        took: list[float] = []

        async def work(driver: HttpDriver, share: int, took: list[float] = took) -> None:
            for number in range(share):
                took.append(await driver.call(name, f"text number {number}"))

        began, used = perf_counter(), cpu_seconds(pid)
        await asyncio.gather(*(work(one, sizes.calls // at_once) for one in drivers))
        elapsed, used = perf_counter() - began, cpu_seconds(pid) - used
        require_equal("answers", len(took), sizes.calls // at_once * at_once)
        found[at_once] = Measured(statistics.median(took), len(took) / elapsed, used / len(took) * 1e6)
        for one in drivers[1:]:
            one.close()
    first.close()
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
    toy, http_toy = place / "toy.py", place / "http_toy.py"
    toy.write_text(TOY)
    http_toy.write_text(HTTP_TOY)
    if sizes.pinned:
        stay_on(LAST_CORE)
    last, toy_port = sizes.core(LAST_CORE), free_port()
    program = pin([sys.executable, "-S", "-u", str(toy)], last)
    url = f"http://127.0.0.1:{toy_port}/mcp"
    homes = {"interpose, to stdio": place / "stdio", "interpose, to HTTP": place / "http"}
    subjects: dict[str, Command] = {
        "interpose, to stdio": lambda port: _ours(place / "stdio", port, {"command": program[0], "args": program[1:]}),
        "interpose, to HTTP": lambda port: _ours(place / "http", port, {"url": url}),
    }
    if peers is not None:
        subjects |= _peers(place, peers, program, url)
    env = {"HOME": str(place), "PATH": os.environ["PATH"]}
    seen: dict[str, list[dict[int, Measured]]] = {"direct": [], **{name: [] for name in subjects}}

    async def turns() -> None:
        toy_command = [sys.executable, "-S", "-u", str(http_toy), str(toy_port)]
        with serving(toy_command, toy_port, core=last, env=env) as toy_server:
            for _ in range(sizes.turns):
                seen["direct"].append(await measured(toy_port, sizes, toy_server.pid))
                for name, command in subjects.items():
                    port = free_port()
                    own = env | {"HOME": str(homes.get(name, place))}
                    with serving(command(port), port, core=sizes.core(FIRST_CORE), env=own) as server:
                        seen[name].append(await measured(port, sizes, server.pid))

    asyncio.run(turns())
    for home in homes.values():
        require_ledger(ledger_of_home(home), {"allow": sizes.made})
    show(seen, sizes)


def _peers(place: Path, peers: Path, program: list[str], url: str) -> dict[str, Command]:
    """The peers that can be installed. What is missing is said."""
    proxy = place / "proxy.py"
    proxy.write_text(FASTMCP_PROXY)
    found: dict[str, Command] = {}
    python, older = python_with(peers, FASTMCP), python_with(peers / "older", *MCP_PROXY)
    for missing in (one for one in (python, older) if isinstance(one, str)):
        print(f"left out: {missing}", file=sys.stderr)
    if not isinstance(python, str):
        found |= {
            "FastMCP proxy, to stdio": lambda port: [str(python), str(proxy), str(port), *program],
            "FastMCP proxy, to HTTP": lambda port: [str(python), str(proxy), str(port), url],
        }
    if not isinstance(older, str):
        found["mcp-proxy, to stdio"] = lambda port: [
            str(older), "-m", "mcp_proxy", "--port", str(port), "--log-level", "CRITICAL", "--", *program
        ]  # fmt: skip
    return found


def _ours(home: Path, port: int, server: Mapping[str, Any]) -> list[str]:
    folder = home / ".config" / "interpose"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("interpose.yaml", json.dumps({"gateway": {"servers": {"toy": server}}, "ledger": {"level": "written"}})),
        ("tokens", f"bench agent {TOKEN}\n"),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
    return [sys.executable, "-m", "interpose", "gateway", "--http", "--port", str(port)]


def show(seen: Mapping[str, list[dict[int, Measured]]], sizes: Sizes) -> None:
    print(f"{datetime.now(UTC):%Y-%m-%d}, {sizes.calls} calls, {sizes.turns} turns, Python {sys.version.split()[0]}\n")
    print("| tools/call over HTTP | at once | p50 µs | added µs | calls/s | of direct | CPU µs |")
    print("|---|---|---|---|---|---|---|")
    for at_once in CONCURRENCY:
        base = [turn[at_once] for turn in seen["direct"]]
        for name, turns in seen.items():
            p50 = statistics.median(turn[at_once].p50 for turn in turns)
            rate = statistics.median(turn[at_once].rate for turn in turns)
            added = statistics.median(turn[at_once].p50 - one.p50 for turn, one in zip(turns, base, strict=True))
            share = statistics.median(turn[at_once].rate / one.rate for turn, one in zip(turns, base, strict=True))
            cpu = statistics.median(turn[at_once].cpu for turn in turns)
            print(f"| {name} | {at_once} | {p50:,.0f} | {added:,.0f} | {rate:,.0f} | {share:.2f} | {cpu:,.0f} |")


if __name__ == "__main__":
    run_main(main)
