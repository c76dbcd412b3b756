"""Agents at real terminals that try what only a person may do, and what they leave behind."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from tests.e2e.processes import ServerProcess, clean_environment
from tests.e2e.terminals import PYTHON, Terminal

AGENT = """\
import json, os, subprocess, sys
sys.path[:0] = [{source!r}]
from interpose.surfaces.hook_clients.programs.socket_client import ask
event = {{"session_id": "s", "cwd": "/tmp", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "t1",
         "permission_mode": "default", "tool_input": {{"command": "ls"}}}}
if os.fork() == 0:
    ask({socket!r}, "claude-code", "", json.dumps(event).encode(), 30)
    os._exit(0)
assert os.wait()[1] == 0
print("hea" + "rd", flush=True)
for line in sys.stdin:
    print("co" + "de:%d:" % subprocess.run(line, shell=True).returncode, flush=True)
"""


def terminal(server: ServerProcess) -> Terminal:
    return Terminal(clean_environment(server.home), server.home)


def alarms(server: ServerProcess) -> str:
    return (server.home / "stderr").read_text()


def agent_in(shell: Terminal, server: ServerProcess) -> None:
    """An agent with our hook, started in a terminal by a person."""
    program = server.home / "agent.py"
    source = str(Path(__file__).parents[2] / "src")
    socket = str(Path(clean_environment(server.home)["XDG_RUNTIME_DIR"]) / "interpose" / "hook.sock")
    program.write_text(AGENT.format(socket=socket, source=source))
    shell.type(f"{PYTHON} {program}\n")
    shell.until("heard")


def database(server: ServerProcess) -> Path:
    return server.home / ".local" / "state" / "interpose" / "ledger" / "ledger.db"


def wait_for(condition: Any) -> None:
    pause, left = threading.Event(), 600
    while not condition():
        left -= 1
        assert left, "it never came true"
        pause.wait(0.05)


def orphan(around: str, command: str, out: str) -> str:
    """A command in a session and a terminal of its own, whose parents are gone. The shell waits for it."""
    started = f"(setsid {around} script -qec '{command}; echo $? >{out}' /dev/null </dev/null &)"
    return f"{started}; while ! test -s {out}; do sleep 0.1; done; exit $(cat {out})"


def ways_to_run(command: str) -> dict[str, str]:
    """Every way in which an agent could run a command of ours, as a line for its shell."""
    bare = f"HOME=$HOME XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR PYTHONPATH={Path(__file__).parents[2] / 'src'}"
    return {
        "its child": command,
        "a child in a session of its own": f"setsid -w {command}",
        "a child in a terminal of its own": f"script -qec '{command}' /dev/null",
        "an orphan in a terminal of its own": orphan("", command, "out1"),
        "an orphan with an empty environment": orphan(f"env -i {bare}", command, "out2"),
    }
