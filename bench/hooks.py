"""One hook call, from the host's event to the host's answer, beside the cheapest processes there are and our peers.

python -m bench.hooks                  (--rounds 300, --no-peers)

Every way is started with posix_spawn, in turn, so that all of them meet the same load. What the ratios are to is in
the same run. The ledger is `written`, the event is Claude Code's before a command. A hook that says nothing allows, and
so does one that does nothing: each must also object to a fatal command, and ours must record every call.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from bench import peers
from bench.checks import CheckFailedError, ledger_of_home, require, require_equal, require_ledger, require_present
from bench.command_line import make_parser, run_main
from bench.processes import stop
from interpose.core.config.load import load
from interpose.doors.hooks.clients.client_files import client_for
from interpose.doors.hooks.hosts.all_hosts import HOSTS

HARMLESS, FATAL = "git status && npm test -- --watch=false", "rm -rf /"
EVENT = json.dumps(
    {
        "session_id": "d816e086-5a4f-4a43-8a0f-5d1f2f3f4f5f", "transcript_path": "/home/dev/.claude/p/d816e086.jsonl",
        "cwd": "/home/dev/proj", "prompt_id": "95b85d5e-0000-4a43-8a0f-5d1f2f3f4f5f", "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "toolu_01bench",
        "tool_input": {"command": HARMLESS, "description": "look and test"},
    }
).encode()  # fmt: skip


class Way(NamedTuple):
    """A command, and what it is measured against."""

    name: str
    command: Sequence[str]
    against: str = ""
    goal: float = 0.0
    """Times of `against`, or without one milliseconds."""
    decides: bool = True
    """Whether it is a hook."""
    is_ours: bool = False


class Once(NamedTuple):
    """One call of a hook."""

    milliseconds: float
    """From the start to the end of its process."""
    said: bytes
    code: int


def once(command: Sequence[str], environment: Mapping[str, str], event: bytes = EVENT) -> Once:
    """Give the event to a process."""
    reading, given = os.pipe()
    taken, writing = os.pipe()
    os.write(given, event)
    os.close(given)
    actions = [(os.POSIX_SPAWN_DUP2, reading, 0), (os.POSIX_SPAWN_DUP2, writing, 1)]
    start = time.perf_counter_ns()
    child = os.posix_spawn(command[0], list(command), dict(environment), file_actions=actions)
    os.close(writing)
    said = b""
    while part := os.read(taken, 65536):
        said += part
    status = os.waitpid(child, 0)[1]
    spent = time.perf_counter_ns() - start
    os.close(reading)
    os.close(taken)
    return Once(spent / 1e6, said, os.waitstatus_to_exitcode(status))


def allows(way: Way, answer: Once) -> bool:
    """What Claude Code makes of an answer: nothing said is a yes, exit code 2 a no."""
    require(answer.code in (0, 2), f"{way.name} ended with {answer.code}")
    if answer.code or not answer.said.strip():
        return answer.code == 0
    try:
        decision = json.loads(answer.said)["hookSpecificOutput"].get("permissionDecision", "allow")
    except (ValueError, KeyError) as error:
        raise CheckFailedError(f"{way.name} said {answer.said[:200]!r}") from error
    return bool(decision == "allow")


def require_deciding(way: Way, environment: Mapping[str, str]) -> None:
    """A hook objects to a fatal command. What is no hook says nothing."""
    answer = once(way.command, environment, EVENT.replace(HARMLESS.encode(), FATAL.encode()))
    require_equal(f"{way.name} allows {FATAL}", allows(way, answer), not way.decides)


def ways(environment: Mapping[str, str]) -> list[Way]:
    """Ours, and the bare processes beside them."""
    loaded = load(environ=environment)
    client = client_for(HOSTS["claude-code"], loaded.config, loaded.places)
    for file in client.files:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_text(file.text)
        file.path.chmod(file.mode)
    hook = [sys.executable, "-I", "-m", "interpose", "hook", "claude-code"]
    return [
        Way("/bin/true", ["/bin/true"], decides=False),
        Way("bash -p -c :", ["/bin/bash", "-p", "-c", ":"], decides=False),
        Way("bash client", [client.program], "/bin/true", 3.5, is_ours=True),
        Way("python3 -I -S -c pass", [sys.executable, "-I", "-S", "-c", "pass"], decides=False),
        Way("Python client", client.without_bash, "python3 -I -S -c pass", 1.3, is_ours=True),
        Way("interpose hook, server", hook, "python3 -I -S -c pass", is_ours=True),
        Way("interpose hook, in process", [*hook, "--in-process"], "python3 -I -S -c pass", 10.0, is_ours=True),
    ]


def peers_in(place: Path) -> list[Way]:
    """The hook commands that the peers install themselves."""
    nah, net = peers.nah(place), peers.cc_safety_net(place)
    for found in (nah, net):
        if isinstance(found, str):
            print(f"left out: {found}")
    made = [] if isinstance(nah, str) else [Way(f"{nah.name} hook", [str(place / "venv/bin/nah"), "_claude-hook"])]
    if not isinstance(net, str):
        program = str(place / "node_modules/.bin/cc-safety-net")
        made.append(Way(f"{net.name} hook", [net.command[0], program, "hook", "--claude-code"]))
    return made


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    rounds = 2 if options.smoke else options.rounds
    with tempfile.TemporaryDirectory(prefix="ip") as name:
        environment = {"HOME": name, "PATH": os.environ["PATH"]}
        command = [sys.executable, "-I", "-m", "interpose", "serve", "--port", "0"]
        server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            with require_present(server.stdout, "the server has no stdout") as said:
                require(any(b"hook.sock" in line for line in said), "the server did not start")
                measured = ways(environment)
                if not (options.no_peers or options.smoke):
                    measured += peers_in(Path(name))
                for way in measured:
                    require_deciding(way, environment)
                spent = run(measured, environment, rounds)
                require(server.poll() is None, f"the server ended with {server.returncode}")
        finally:
            stop(server)
        ours = sum(way.is_ours for way in measured)
        require_ledger(ledger_of_home(Path(name)), {"allow": ours * (rounds + 1), "deny": ours}, finished=ours)
        show(measured, spent)


def run(measured: Sequence[Way], environment: Mapping[str, str], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of every round. The first one warms caches and is left out."""
    spent: dict[str, list[float]] = {way.name: [] for way in measured}
    for number in range(rounds + 1):
        for way in measured:
            event = EVENT.replace(b"toolu_01bench", f"toolu_{number}_{len(spent)}".encode())
            answer = once(way.command, environment, event)
            require(allows(way, answer) or not way.is_ours, f"{way.name} does not allow {HARMLESS}: {answer.said!r}")
            spent[way.name].append(answer.milliseconds)
    return {name: times[1:] for name, times in spent.items()}


def show(measured: Sequence[Way], spent: Mapping[str, Sequence[float]]) -> None:
    """A table for people."""
    load_now = os.getloadavg()[0]
    rounds = len(next(iter(spent.values())))
    print(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, load {load_now:.1f}, {rounds} rounds in turn")
    print(f"{'':28} {'p50':>9} {'p95':>9}")
    for way in measured:
        times = spent[way.name]
        middle, high = statistics.median(times), statistics.quantiles(times, n=20)[18]
        print(f"{way.name:28} {middle:6.1f} ms {high:6.1f} ms{compared(way, middle, spent)}")


def compared(way: Way, middle: float, spent: Mapping[str, Sequence[float]]) -> str:
    """How a way stands to what it is measured against."""
    if not way.against:
        return f"   goal {way.goal:.0f} ms" if way.goal else ""
    goal = f", goal {way.goal:g}" if way.goal else ""
    return f"   {middle / statistics.median(spent[way.against]):.2f} x {way.against}{goal}"


if __name__ == "__main__":
    run_main(main)
