"""What the decision server does on one core, beside a bare uvicorn app that echoes JSON. Needs `wrk` and `taskset`.

    python -m bench.server [SECONDS] [--beside PYTHON]

`--beside` is the interpreter of another checkout's .venv: its server is measured in the same turns.

The server has one core to itself and wrk the other. Our server runs as it is shipped: all guards, the `baseline` pack,
the ledger at level `written`. Both are measured in turns, and only their ratio says something.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

SECONDS = 8
CONNECTIONS = 64
TURNS = 3
ECHO_PORT, PORT = 18471, 18472
ECHO = """
import json
async def app(scope, receive, send):
    body = b""
    while True:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body"):
            break
    answer = json.dumps(json.loads(body)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [
        (b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]})
    await send({"type": "http.response.body", "body": answer})
"""
WORK = ["ls -la src", "git status --short", "git diff HEAD~1", "pytest -q tests/unit", "npm test", "cat README.md",
        "rg -n 'def main' src", "python -m build", "docker ps", "sed -n 1,80p app.py"]  # fmt: skip


class Load(NamedTuple):
    """One kind of requests. `new` is the share of commands that nobody has seen before."""

    name: str
    new: float


class Figures(NamedTuple):
    """What wrk saw."""

    rate: float
    p50_ms: float
    p99_ms: float
    errors: int


LOADS = (Load("seen before", 0.0), Load("half new of a thousand", 0.5))


def main() -> None:
    if not shutil.which("wrk"):
        sys.exit("wrk is missing: it is Debian's package of that name")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=int, nargs="?", default=SECONDS)
    parser.add_argument("--beside", metavar="PYTHON", default="")
    options = parser.parse_args()
    seconds = options.seconds
    servers = {"interpose": sys.executable} | ({"beside": options.beside} if options.beside else {})
    print(f"{datetime.now(UTC):%Y-%m-%d}, one core, {CONNECTIONS} connections, {TURNS} turns of {seconds} s\n")
    print(f"{'':28}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'p99/p50':>9}{'errors':>8}{'of bare':>9}")
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        with contextlib.ExitStack() as stack:
            stack.enter_context(bare(root, ECHO_PORT))
            ports = {"bare uvicorn": ECHO_PORT}
            for number, (name, python) in enumerate(servers.items()):
                (root / name).mkdir()
                ports[name] = PORT + number
                stack.enter_context(ours_at(root / name, PORT + number, python))
            for load in LOADS:
                script = lua(root, load)
                turns = [{name: measure(port, script, seconds) for name, port in ports.items()} for _ in range(TURNS)]
                floor = median([turn["bare uvicorn"] for turn in turns])
                for name in ports:
                    line(f"{name}, {load.name}"[:28], median([turn[name] for turn in turns]), floor)


def line(name: str, found: Figures, floor: Figures) -> None:
    spread = found.p99_ms / found.p50_ms if found.p50_ms else 0
    print(
        f"{name:28}{found.rate:12.0f}{found.p50_ms:9.2f}{found.p99_ms:9.2f}{spread:9.1f}{found.errors:8}"
        f"{found.rate / floor.rate:9.2f}"
    )


def median(turns: list[Figures]) -> Figures:
    return sorted(turns)[len(turns) // 2]


@contextlib.contextmanager
def bare(root: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    (root / "echo.py").write_text(ECHO)
    command = ["-m", "uvicorn", "echo:app", "--port", str(port), "--no-access-log", "--log-level", "error"]
    with process(command, root, port, {}) as child:
        yield child


@contextlib.contextmanager
def ours_at(root: Path, port: int, python: str = sys.executable) -> Iterator[subprocess.Popen[bytes]]:
    """Our server as it is shipped, with a home of its own. But callers without a token may ask as often as they can."""
    home = {name: str(root / name) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")}
    if python == sys.executable:  # another checkout may not know these keys
        home |= {f"INTERPOSE_SERVER_LIMITS_ANONYMOUS_{name}": "100000" for name in ("PER_SECOND", "AT_ONCE")}
    (root / "XDG_RUNTIME_DIR").mkdir(mode=0o700)
    with process(["-m", "interpose", "serve", "--port", str(port)], root, port, home, python) as child:
        yield child


@contextlib.contextmanager
def process(
    arguments: list[str], cwd: Path, port: int, environment: dict[str, str], python: str = sys.executable
) -> Iterator[subprocess.Popen[bytes]]:
    """A server on a core of its own, once it answers."""
    command = ["taskset", "-c", "0", python, *arguments]
    with subprocess.Popen(command, cwd=cwd, env=os.environ | environment, stdout=subprocess.DEVNULL) as child:
        try:
            wait_for(port)
            yield child
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait(20)


def wait_for(port: int) -> None:
    until = monotonic() + 30
    while monotonic() < until:
        with contextlib.suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
            connection.request("POST", "/", b"{}", {"Content-Type": "application/json"})
            connection.getresponse().read()
            return
        sleep(0.1)
    sys.exit(f"nothing listens on port {port}")


def lua(root: Path, load: Load) -> Path:
    commands = ", ".join(f'"{command}"' for command in WORK)
    every = int(1 / load.new) if load.new else 0
    text = f"""
local work = {{{commands}}}
local count = 0
wrk.method = "POST"
wrk.path = "/api/v1/intercept"
wrk.headers["Content-Type"] = "application/json"
request = function()
  count = count + 1
  local command = work[count % #work + 1] .. " # " .. (count % 500)
  if {every} > 0 and count % {every or 1} == 0 then command = "cat notes/" .. os.time() .. "-" .. count .. ".txt" end
  return wrk.format(nil, nil, nil, '{{"event":"tools/call","phase":"request","payload":{{"name":"Bash","arguments":'
    .. '{{"command":"' .. command .. '"}}}},"context":{{"sessionId":"bench","principal":{{"type":"agent",'
    .. '"id":"bench"}}}},'
    .. '"config":{{"working_directory":"/home/dev/project"}}}}')
end
"""
    file = root / f"{load.new}.lua"
    file.write_text(text)
    return file


def measure(port: int, script: Path, seconds: int) -> Figures:
    command = ["taskset", "-c", "1", "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", str(script)]
    told = subprocess.run([*command, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True).stdout
    failed = sum(
        int(number)
        for number in re.findall(r"Non-2xx or 3xx responses: (\d+)|timeout (\d+)", told)
        for number in number
        if number
    )
    rate = re.search(r"Requests/sec:\s+([\d.]+)", told)
    return Figures(float(rate[1]) if rate else 0.0, milliseconds(told, "50%"), milliseconds(told, "99%"), failed)


def milliseconds(told: str, share: str) -> float:
    found = re.search(rf"{share}\s+([\d.]+)(us|ms|s)", told)
    return float(found[1]) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[found[2]] if found else 0.0


if __name__ == "__main__":
    main()
