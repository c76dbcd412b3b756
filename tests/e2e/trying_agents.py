"""Agents at real terminals that try what only a person may do, and what they leave behind."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from interpose.core.platforms.processes import ticks_now
from interpose.people.presence.terminal import start_of
from tests.e2e.processes import ServerProcess, clean_environment
from tests.e2e.terminals import PYTHON, Terminal

AGENT = """\
import json, os, subprocess, sys
sys.path[:0] = [{source!r}]
from interpose.doors.hooks.clients.programs.socket_client import ask
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


DISGUISE = """\
import ctypes, os, pty, sys
name, out, command = sys.argv[1:]
if os.fork():
    os._exit(0)
os.setsid()
ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
pid, master = pty.fork()
if pid == 0:
    os.execvp("/bin/sh", ["sh", "-c", command])
try:
    while os.read(master, 65536):
        pass
except OSError:
    pass
with open(out + ".new", "w") as file:
    file.write(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
os.rename(out + ".new", out)
"""
"""An orphan that opens a terminal of its own and calls itself as it likes."""
SUPERVISOR = """\
import ctypes, pty
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
print("super" + "vised", flush=True)
pty.spawn(["/bin/bash", "--norc", "--noprofile", "-i"])
"""
"""A person's program that adopts what is left behind below it, and opens a terminal."""


def supervise(shell: Terminal, home: Path) -> None:
    """Go on in a terminal that a subreaper opened."""
    program = home / "supervisor.py"
    program.write_text(SUPERVISOR)
    shell.type(f"{PYTHON} {program}\n")
    shell.until("supervised")
    shell.until("$ ")  # what is typed earlier is thrown away when the terminal is prepared


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
    # The kernel counts starts in ticks: terminals of the same tick could be the agent's.
    wait_for(lambda: ticks_now() > start_of(shell.pid))
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


def disguise(home: Path, name: str, command: str) -> str:
    """A command in a terminal that an orphan opened which calls itself by a name. The shell waits for it."""
    program, out = home / "disguise.py", f"out-{name.replace(' ', '-')}"
    program.write_text(DISGUISE)
    started = f"{PYTHON} {program} '{name}' {out} '{command}' </dev/null >/dev/null 2>&1"
    return f"{started}; while ! test -s {out}; do sleep 0.1; done; exit $(cat {out})"


def ways_to_run(home: Path, command: str) -> dict[str, str]:
    """Every way in which an agent could run a command of ours, as a line for its shell."""
    bare = f"HOME=$HOME XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR PYTHONPATH={Path(__file__).parents[2] / 'src'}"
    names = ("systemd", "init", "sshd", "tmux: server", "kitty")
    return {
        "its child": command,
        "a child in a session of its own": f"setsid -w {command}",
        "a child in a terminal of its own": f"script -qec '{command}' /dev/null",
        "an orphan in a terminal of its own": orphan("", command, "out1"),
        "an orphan with an empty environment": orphan(f"env -i {bare}", command, "out2"),
    } | {f"an orphan that calls itself {name}": disguise(home, name, command) for name in names}
