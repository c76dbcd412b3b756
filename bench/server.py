"""What the decision server does on one core, beside a bare uvicorn app that echoes JSON. Needs `wrk` and `taskset`.

    python -m bench.server [SECONDS] [--beside PYTHON]

`--beside` is the interpreter of another checkout's .venv: its server is measured in the same turns.

The server has one core to itself and wrk the other. Our server runs as it is shipped: all guards, the `baseline` pack,
the ledger at level `written`. Both are measured in turns, and only their ratio says something. No request may fail, and
every one must be in our ledger as allowed. With --smoke a few requests are made without wrk, and each answer is read.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from bench.checks import require_equal, require_ledger
from bench.command_line import make_parser, run_main
from bench.http_load import Figures, load, post, require_wrk
from bench.processes import FIRST_CORE, free_port, serving

SECONDS = 8
CONNECTIONS = 64
TURNS = 3
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
FATAL = "rm -rf /"
PATH = "/api/v1/intercept"
BODY = (
    '{"event":"tools/call","phase":"request","payload":{"name":"Bash","arguments":{"command":"@COMMAND@"}},'
    '"context":{"sessionId":"bench","principal":{"type":"agent","id":"bench"}},'
    '"config":{"working_directory":"/home/dev/project"}}'
)


class Load(NamedTuple):
    """One kind of requests. `new` is the share of commands that were never seen before."""

    name: str
    new: float


LOADS = (Load("seen before", 0.0), Load("half new of a thousand", 0.5))


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("seconds", type=int, nargs="?", default=SECONDS)
    parser.add_argument("--beside", metavar="PYTHON", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        if options.smoke:
            smoke(Path(place))
        else:
            require_wrk()
            run(Path(place), options.seconds, options.beside)


def smoke(root: Path) -> None:
    """Each server answers each kind of request as it should."""
    ports = {"bare uvicorn": free_port(), "interpose": free_port()}
    (root / "interpose").mkdir()
    with bare(root, ports["bare uvicorn"], None), ours_at(root / "interpose", ports["interpose"], core=None):
        require_right(ports)
    require_ledger(ledger_at(root / "interpose"), {"allow": len(WORK), "deny": 1}, finished=1)
    print(f"{len(WORK) + 1} requests were answered as they should by {' and '.join(ports)}")


def run(root: Path, seconds: int, beside: str) -> None:
    """Measure and print."""
    servers = {"interpose": sys.executable} | ({"beside": beside} if beside else {})
    print(f"{datetime.now(UTC):%Y-%m-%d}, one core, {CONNECTIONS} connections, {TURNS} turns of {seconds} s\n")
    print(f"{'':28}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}{'p99/p50':>9}{'of bare':>9}")
    made = 0
    with contextlib.ExitStack() as stack:
        ports = {"bare uvicorn": free_port()}
        stack.enter_context(bare(root, ports["bare uvicorn"], FIRST_CORE))
        for name, python in servers.items():
            (root / name).mkdir()
            ports[name] = free_port()
            stack.enter_context(ours_at(root / name, ports[name], python))
        require_right(ports)
        for kind in LOADS:
            script = lua(root, kind)
            turns = [
                {name: load(port, "", script, seconds, CONNECTIONS) for name, port in ports.items()}
                for _ in range(TURNS)
            ]
            floor = median([turn["bare uvicorn"] for turn in turns])
            for name in ports:
                line(f"{name}, {kind.name}"[:28], median([turn[name] for turn in turns]), floor)
            made += sum(turn["interpose"].requests for turn in turns)
    expected = {"allow": made + len(WORK), "deny": 1}
    require_ledger(ledger_at(root / "interpose"), expected, finished=1, unanswered=CONNECTIONS * TURNS * len(LOADS))


def require_right(ports: dict[str, int]) -> None:
    """The bare server gives back what it gets; the others allow the commands of the load, and deny another."""
    for command in (*WORK, FATAL):
        body = body_of(command)
        for name, port in ports.items():
            said = post(port, PATH, body)
            if name == "bare uvicorn":
                require_equal(f"the answer of {name}", said, json.loads(body))
            else:
                expected = "deny" if command == FATAL else "allow"
                require_equal(f"the decision of {name} on {command}", said["info"]["decision"], expected)


def line(name: str, found: Figures, floor: Figures) -> None:
    spread = found.p99_ms / found.p50_ms if found.p50_ms else 0
    print(
        f"{name:28}{found.rate:12.0f}{found.p50_ms:9.2f}{found.p99_ms:9.2f}{spread:9.1f}{found.rate / floor.rate:9.2f}"
    )


def median(turns: list[Figures]) -> Figures:
    return sorted(turns)[len(turns) // 2]


@contextlib.contextmanager
def bare(root: Path, port: int, core: int | None) -> Iterator[subprocess.Popen[bytes]]:
    (root / "echo.py").write_text(ECHO)
    command = ["-m", "uvicorn", "echo:app", "--port", str(port), "--no-access-log", "--log-level", "error"]
    with serving([sys.executable, *command], port, core=core, env=os.environ, cwd=root) as child:
        yield child


@contextlib.contextmanager
def ours_at(
    root: Path, port: int, python: str = sys.executable, *, core: int | None = FIRST_CORE
) -> Iterator[subprocess.Popen[bytes]]:
    """Our server as it is shipped, with a home of its own. But callers without a token may ask as often as they can."""
    home = {name: str(root / name) for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")}
    if python == sys.executable:  # another checkout may not know these keys
        home |= {f"INTERPOSE_SERVER_LIMITS_ANONYMOUS_{name}": "100000" for name in ("PER_SECOND", "AT_ONCE")}
    (root / "XDG_RUNTIME_DIR").mkdir(mode=0o700)
    command = [python, "-m", "interpose", "serve", "--port", str(port)]
    with serving(command, port, core=core, env=os.environ | home, cwd=root) as child:
        yield child


def ledger_at(root: Path) -> Path:
    """The ledger of a server that was started there."""
    return root / "XDG_STATE_HOME" / "interpose" / "ledger"


def body_of(command: str) -> str:
    """A request for a decision, as the load makes them."""
    return BODY.replace("@COMMAND@", command)


def lua(root: Path, kind: Load) -> Path:
    before, _, after = BODY.partition("@COMMAND@")
    commands = ", ".join(f'"{command}"' for command in WORK)
    every = int(1 / kind.new) if kind.new else 0
    text = f"""
local work = {{{commands}}}
local count = 0
wrk.method = "POST"
wrk.path = "{PATH}"
wrk.headers["Content-Type"] = "application/json"
request = function()
  count = count + 1
  local command = work[count % #work + 1] .. " # " .. (count % 500)
  if {every} > 0 and count % {every or 1} == 0 then command = "cat notes/" .. os.time() .. "-" .. count .. ".txt" end
  return wrk.format(nil, nil, nil, '{before}' .. command .. '{after}')
end
"""
    file = root / f"{kind.new}.lua"
    file.write_text(text)
    return file


if __name__ == "__main__":
    run_main(main)
