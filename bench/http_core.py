"""The HTTP server alone, beside a bare uvicorn app: both read a JSON body and send it back.

python -m bench.http_core [SECONDS]     seconds of load for each of them (default: 5)

The server has one core and the load another (`wrk`, 64 connections). Needs wrk and at least two cores.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

from interpose.surfaces.http_server import json_body as strict_json
from interpose.surfaces.http_server.listener import Listener, Tcp, run
from interpose.surfaces.http_server.messages import Request, Response, Route, json_response
from interpose.surfaces.http_server.trust import make_trust

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
    import json

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


def measure(kind: str, path: str, port: int, seconds: int, script: Path) -> float:
    cores = sorted(os.sched_getaffinity(0))
    server = subprocess.Popen(
        ["taskset", "-c", str(cores[0]), sys.executable, "-m", "bench.http_core", kind, str(port)]
    )
    try:
        url = f"http://127.0.0.1:{port}{path}"
        _wait_for(url)
        load = ["taskset", "-c", str(cores[-1]), "wrk", "-t1", f"-c{CONNECTIONS}", "--latency", "-s", str(script)]
        subprocess.run([*load, "-d1", url], capture_output=True, check=True)
        before = _cpu_seconds(server.pid)
        text = subprocess.run([*load, f"-d{seconds}", url], capture_output=True, check=True, text=True).stdout
        spent = _cpu_seconds(server.pid) - before
    finally:
        server.terminate()
        server.wait()
    rate = float(re.search(r"Requests/sec:\s+([0-9.]+)", text)[1])  # type: ignore[index] # wrk always says it
    middle, slow = (re.search(rf"^\s+{share}%\s+(\S+)", text, re.MULTILINE)[1] for share in (50, 99))  # type: ignore[index] # as above
    cost = spent / int(re.search(r"(\d+) requests in", text)[1]) * 1e6  # type: ignore[index] # as above
    failed = re.search(r"Non-2xx.*|Socket errors.*", text)
    times = f"p50 {middle:>8}   p99 {slow:>8}   {cost:5.0f} us of CPU each"
    print(f"{kind:10} {path:12} {rate:10,.0f}/s   {times}   {failed[0] if failed else ''}")
    return cost


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _wait_for(url: str) -> None:
    for _ in range(100):
        try:
            urllib.request.urlopen(urllib.request.Request(url, BODY.encode(), {"Content-Type": "application/json"}))
        except urllib.error.URLError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit(f"{url} does not answer")


def main(arguments: list[str]) -> None:
    match arguments:
        case ["interpose", port]:
            serve(int(port))
        case ["uvicorn", port]:
            serve_uvicorn(int(port))
        case _:
            seconds = int(arguments[0]) if arguments else 5
            with tempfile.TemporaryDirectory() as directory:
                script = Path(directory) / "post.lua"
                script.write_text(SCRIPT, encoding="utf-8")
                ours = measure("interpose", "/echo", 18701, seconds, script)
                measure("interpose", "/suspending", 18702, seconds, script)
                bare = measure("uvicorn", "/echo", 18703, seconds, script)
            print(f"CPU of uvicorn / CPU of interpose: {bare / ours:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
