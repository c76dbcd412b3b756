"""What `interpose proxy` adds to a model's answer: beside a direct connection, and beside a relay that copies bytes.

    python -m bench.proxy [ANSWERS]

The model is a program that streams an answer of Anthropic Messages as fast as it can: 200 events of text, or the same
with a call in ten fragments behind them. A request has a conversation of 40 results, 100 KB in all, as agents send them
again and again. The one in the middle has one core to itself; the client and the model share the other. Ours runs as
it is shipped: all guards, the `baseline` pack, the ledger at level `written`. Each is measured in turns, and what it
adds is its median less that of the direct connection in the same turn. A real model takes a thousand times longer.

Every answer must have all events of the model's, and our ledger must have a record of every call.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, cast

from bench.checks import CheckFailedError, ledger_of_home, require, require_equal, require_ledger
from bench.command_line import make_parser, run_main
from bench.processes import FIRST_CORE, LAST_CORE, cpu_seconds, free_port, serving, stay_on

EVENTS, RESULTS, RESULT = 200, 40, 2500
KINDS = ("text", "call")
COMMAND = "git status --short && ls -la src"


class Sizes(NamedTuple):
    """How much is measured, and whether each process has a core of its own."""

    answers: int
    warm: int = 20
    turns: int = 5
    pinned: bool = True

    def core(self, core: int) -> int | None:
        """This core, if processes are pinned."""
        return core if self.pinned else None


SMOKE = Sizes(answers=2, warm=1, turns=1, pinned=False)

MODEL = """
import asyncio, json, sys
EVENTS = int(sys.argv[2])
def event(value):
    return b"event: %b\\ndata: %b\\n\\n" % (value["type"].encode(), json.dumps(value).encode())
def answer(kind):
    message = {"id": "m", "type": "message", "role": "assistant", "content": []}
    said = [event({"type": "message_start", "message": message}),
            event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})]
    said += [event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f" word {at}"}})
             for at in range(EVENTS)]
    said.append(event({"type": "content_block_stop", "index": 0}))
    if kind == "call":
        said.append(event({"type": "content_block_start", "index": 1, "content_block":
                           {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}}))
        text = json.dumps({"command": "@COMMAND@", "description": "look"})
        parts = [text[at:at + 8] for at in range(0, len(text), 8)]
        said += [event({"type": "content_block_delta", "index": 1, "delta":
                        {"type": "input_json_delta", "partial_json": part}}) for part in parts]
        said.append(event({"type": "content_block_stop", "index": 1}))
    reason = "tool_use" if kind == "call" else "end_turn"
    said.append(event({"type": "message_delta", "delta": {"stop_reason": reason}}))
    said.append(event({"type": "message_stop"}))
    return [b"%x\\r\\n%b\\r\\n" % (len(one), one) for one in said]
ANSWERS = {kind: answer(kind) for kind in ("text", "call")}
HEAD = b"HTTP/1.1 200 OK\\r\\nContent-Type: text/event-stream\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
class Model(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.held = transport, b""
    def data_received(self, data):
        self.held += data
        head, found, rest = self.held.partition(b"\\r\\n\\r\\n")
        if not found:
            return
        lines = head.lower().split(b"\\r\\n")
        length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
        if len(rest) < length:
            return
        self.held = rest[length:]
        self.transport.write(HEAD)
        for piece in ANSWERS["call" if b"kind=call" in head else "text"]:
            self.transport.write(piece)
        self.transport.write(b"0\\r\\n\\r\\n")
async def main():
    server = await asyncio.get_running_loop().create_server(Model, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()
asyncio.run(main())
""".replace("@COMMAND@", COMMAND)

RELAY = """
import asyncio, sys
class Side(asyncio.Protocol):
    other = None
    def connection_made(self, transport):
        self.transport, self.early = transport, []
    def data_received(self, data):
        if self.other is None:
            self.early.append(data)
        else:
            self.other.transport.write(data)
    def connection_lost(self, error):
        if self.other is not None:
            self.other.transport.close()
class Client(Side):
    def connection_made(self, transport):
        super().connection_made(transport)
        asyncio.ensure_future(self.join())
    async def join(self):
        _, server = await asyncio.get_running_loop().create_connection(Side, "127.0.0.1", int(sys.argv[2]))
        server.other = self
        for data in self.early:
            server.transport.write(data)
        self.other = server
async def main():
    server = await asyncio.get_running_loop().create_server(Client, "127.0.0.1", int(sys.argv[1]))
    await server.serve_forever()
try:
    import uvloop
    uvloop.run(main())
except ImportError:
    asyncio.run(main())
"""


class Streamed(NamedTuple):
    """The medians of some answers, in microseconds."""

    first: float
    """Until the first byte of the body."""
    whole: float
    cpu: float
    """Processor time that an answer costs the one in the middle."""


def request_of(path: str, port: int) -> bytes:
    """An agent's request, with the results of a conversation."""
    messages: list[object] = [{"role": "user", "content": "go"}]
    for at in range(RESULTS):
        key = f"toolu_{at}"
        text = f"def function_{at}(value):\n    return value + {at}\n" * (RESULT // 45)
        call = {"type": "tool_use", "id": key, "name": "Bash", "input": {"command": f"cat file{at}.py"}}
        messages.append({"role": "assistant", "content": [call]})
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": key, "content": text}]})
    body = json.dumps({"model": "m", "stream": True, "messages": messages}).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Api-Key: sk-bench\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class StreamDriver(asyncio.Protocol):
    """A client on one kept connection that does as little as possible."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.done: asyncio.Future[None] | None = None
        self.parts: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        body = data
        if not self.parts:
            _, _, body = data.partition(b"\r\n\r\n")
        if body and not self.first:
            self.first = perf_counter()
        self.parts.append(data)
        self.tail = (self.tail + data)[-5:]
        if self.tail == b"0\r\n\r\n" and self.done is not None:
            self.done.set_result(None)

    def connection_lost(self, _error: Exception | None) -> None:
        if self.done is not None and not self.done.done():
            said = b"".join(self.parts)[-200:]
            self.done.set_exception(CheckFailedError(f"the connection ended within an answer: {said!r}"))

    async def ask(self, request: bytes, kind: str) -> tuple[float, float]:
        self.parts, self.first, self.tail = [], 0.0, b""
        self.done = asyncio.get_running_loop().create_future()
        began = perf_counter()
        self.transport.write(request)
        async with asyncio.timeout(60):
            await self.done
        whole = perf_counter()
        require_complete(b"".join(self.parts), kind)
        return (self.first - began) * 1e6, (whole - began) * 1e6


def require_complete(answer: bytes, kind: str) -> None:
    """An answer has all events of the model's, with nothing changed."""
    head, _, rest = answer.partition(b"\r\n\r\n")
    require(head.startswith(b"HTTP/1.1 200 "), f"the answer is {answer[:200]!r}")
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        body, rest = body + rest[:length], rest[length + 2 :]
    events = [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: ")]
    pieces = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    text = "".join(piece.get("text", "") for piece in pieces)
    require_equal("the text of an answer", text, "".join(f" word {at}" for at in range(EVENTS)))
    called = "".join(piece.get("partial_json", "") for piece in pieces)
    expected: dict[str, Any] = {"command": COMMAND, "description": "look"}
    require_equal("the call of an answer", json.loads(called) if called else None, expected if kind == "call" else None)
    reason = "tool_use" if kind == "call" else "end_turn"
    ends = [event["delta"]["stop_reason"] for event in events if event["type"] == "message_delta"]
    require_equal("why an answer ended", ends, [reason])
    require_equal("the last event of an answer", events[-1]["type"], "message_stop")


async def measured(port: int, base: str, sizes: Sizes, pid: int) -> dict[str, Streamed]:
    found = {}
    _, driver = await asyncio.get_running_loop().create_connection(StreamDriver, "127.0.0.1", port)
    for kind in KINDS:
        request = request_of(f"{base}/v1/messages?kind={kind}", port)
        for _ in range(sizes.warm):
            await driver.ask(request, kind)
        used, took = cpu_seconds(pid), []
        for _ in range(sizes.answers):
            took.append(await driver.ask(request, kind))
        cpu = (cpu_seconds(pid) - used) / sizes.answers * 1e6
        first, whole = (statistics.median(one[at] for one in took) for at in (0, 1))
        found[kind] = Streamed(first, whole, cpu)
    driver.done = None
    driver.transport.close()
    return found


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("answers", type=int, nargs="?", default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        run(Path(place), SMOKE if given.smoke else Sizes(given.answers))


def run(place: Path, sizes: Sizes) -> None:
    model, relay = place / "model.py", place / "relay.py"
    model.write_text(MODEL)
    relay.write_text(RELAY)
    if sizes.pinned:
        stay_on(LAST_CORE)
    first, last = sizes.core(FIRST_CORE), sizes.core(LAST_CORE)
    env = {"HOME": str(place), "PATH": os.environ["PATH"]}
    model_port = free_port()
    upstream = f"anthropic=http://127.0.0.1:{model_port}"
    seen: dict[str, list[dict[str, Streamed]]] = {"direct": [], "a relay that copies": [], "interpose proxy": []}

    async def turns() -> None:
        program = [sys.executable, "-S", "-u", str(model), str(model_port), str(EVENTS)]
        with serving(program, model_port, core=last, env=env) as serving_model:
            for _ in range(sizes.turns):
                seen["direct"].append(await measured(model_port, "", sizes, serving_model.pid))
                port = free_port()
                copying = [sys.executable, "-u", str(relay), str(port), str(model_port)]
                with serving(copying, port, core=first, env=env) as server:
                    seen["a relay that copies"].append(await measured(port, "", sizes, server.pid))
                port = free_port()
                ours = [sys.executable, "-m", "interpose", "proxy", "--port", str(port), "--upstream", upstream]
                with serving(ours, port, core=first, env=env) as server:
                    seen["interpose proxy"].append(await measured(port, "/anthropic", sizes, server.pid))

    asyncio.run(turns())
    # A process meets the results of the conversation once. The calls of the answers are never run.
    results, calls = sizes.turns * RESULTS, sizes.turns * (sizes.warm + sizes.answers)
    require_ledger(ledger_of_home(place), {"allow": results + calls}, finished=results)
    show(seen, sizes)


def show(seen: Mapping[str, list[dict[str, Streamed]]], sizes: Sizes) -> None:
    size = len(request_of("/", 0)) // 1024
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {sizes.answers} answers, {sizes.turns} turns, Python {sys.version.split()[0]};"
    )
    print(f"{EVENTS} events, requests of {size} KiB with {RESULTS} results\n")
    print("| answer | way | first byte µs | added | whole µs | added | CPU µs |")
    print("|---|---|---|---|---|---|---|")
    for kind in KINDS:
        base = [turn[kind] for turn in seen["direct"]]
        for name, turns in seen.items():
            first = statistics.median(turn[kind].first for turn in turns)
            whole = statistics.median(turn[kind].whole for turn in turns)
            more = statistics.median(turn[kind].first - one.first for turn, one in zip(turns, base, strict=True))
            added = statistics.median(turn[kind].whole - one.whole for turn, one in zip(turns, base, strict=True))
            cpu = statistics.median(turn[kind].cpu for turn in turns)
            print(f"| {kind} | {name} | {first:,.0f} | {more:,.0f} | {whole:,.0f} | {added:,.0f} | {cpu:,.0f} |")


if __name__ == "__main__":
    run_main(main)
