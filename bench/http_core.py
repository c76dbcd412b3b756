"""The HTTP server alone, beside a bare uvicorn app: both read a JSON body and send it back.

python -m bench.http_core [SECONDS]     seconds of load for each of them (default: 5)

The server has one core and the load another (`wrk`, 64 connections). Needs wrk and at least two cores. No request may
fail. With --smoke a few requests are made without wrk, and each answer is read.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

from bench.checks import require, require_equal
from bench.command_line import make_parser, run_main
from bench.http_load import load, post, require_wrk
from bench.processes import FIRST_CORE, cpu_seconds, free_port, serving
from interpose.doors.http_server import json_body as strict_json
from interpose.doors.http_server.listener import Listener, Tcp, run
from interpose.doors.http_server.messages import Request, Response, Route, json_response
from interpose.doors.http_server.trust import make_trust

BODY = (
    '{"event":"tools/call","phase":"request","payload":{"name":"Bash","arguments":{"command":"git status --short"}},'
    '"context":{"sessionId":"s-1","principal":{"type":"service","id":"agent"},"timestamp":"2026-11-15T12:00:00Z"}}'
)
CONNECTIONS = 64
SCRIPT = f"""wrk.method = "POST"
wrk.body = [[{BODY}]]
wrk.headers["Content-Type"] = "application/json"
"""


async def echo(request: Request) -> Response:
    return json_response(strict_json.decode(request.body))


async def suspending(request: Request) -> Response:
    await asyncio.sleep(0)
    return json_response(strict_json.decode(request.body))


def serve(port: int) -> None:
    async def main() -> None:
        routes = [Route("POST", "/echo", echo, "agent", ""), Route("POST", "/suspending", suspending, "agent", "")]
        await Listener(routes, [Tcp("127.0.0.1", port)], make_trust(loopback="open")).start()
        await asyncio.Event().wait()

    run(main())


def serve_uvicorn(port: int) -> None:
    import uvicorn

    async def app(_scope: MutableMapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        answer = json.dumps(json.loads(body)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    uvicorn.run(app, port=port, log_level="error", access_log=False, lifespan="off")


SERVERS: dict[str, Callable[[int], None]] = {"interpose": serve, "uvicorn": serve_uvicorn}


def measure(kind: str, path: str, seconds: int, script: Path) -> float:
    """Print a line. Microseconds of processor time that a request costs the server."""
    port = free_port()
    command = [sys.executable, "-m", "bench.http_core", "--serve", kind, "--port", str(port)]
    core = FIRST_CORE if seconds else None
    with serving(command, port, core=core, env=os.environ) as server:
        for _ in range(3):
            require_equal(f"what {kind} sends back", post(port, path, BODY), json.loads(BODY))
        if not seconds:
            print(f"{kind:10} {path:12} sends back what it gets")
            return 1.0
        load(port, path, script, 1, CONNECTIONS)
        before = cpu_seconds(server.pid)
        found = load(port, path, script, seconds, CONNECTIONS)
        cost = (cpu_seconds(server.pid) - before) / found.requests * 1e6
    times = f"p50 {found.p50_ms:6.2f} ms   p99 {found.p99_ms:6.2f} ms   {cost:5.0f} us of CPU each"
    print(f"{kind:10} {path:12} {found.rate:10,.0f}/s   {times}")
    require(cost > 0, f"{kind} took no processor time")
    return cost


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("seconds", type=int, nargs="?", default=5)
    parser.add_argument("--serve", choices=SERVERS, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        SERVERS[options.serve](options.port)
        return
    if not options.smoke:
        require_wrk()
    seconds = 0 if options.smoke else options.seconds
    with tempfile.TemporaryDirectory() as directory:
        script = Path(directory) / "post.lua"
        script.write_text(SCRIPT, encoding="utf-8")
        ours = measure("interpose", "/echo", seconds, script)
        measure("interpose", "/suspending", seconds, script)
        bare = measure("uvicorn", "/echo", seconds, script)
    if seconds:
        print(f"CPU of uvicorn / CPU of interpose: {bare / ours:.2f}")


if __name__ == "__main__":
    run_main(main)
