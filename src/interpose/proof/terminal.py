"""The proof by one's terminal: whoever answers sits at a terminal that no agent made or works in.

What the kernel says of a process that is connected to our Unix socket: its number and user, its ancestors, its
terminal, whether it is the one that reads the terminal now. What it can't say is where a process came from whose
parents are gone. So a chain that ends at a process which an agent may have left behind proves nothing.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Iterator

from interpose.errors import NotProvenError
from interpose.proof.agents import LOGINS, WINDOWS, SeenAgents, is_manager
from interpose.proof.processes import Process, ancestry, environment_of, process, program_of, real_user

AGENT_NAMES = frozenset({
    "claude", "codex", "gemini", "opencode", "copilot", "qwen", "cursor-agent", "droid", "kiro-cli", "cline",
    "openclaw", "goose", "aider", "amp",
})  # fmt: skip
AGENT_MARKS = (
    "CLAUDECODE", "GEMINI_CLI", "QWEN_CODE", "OPENCODE", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID", "CURSOR_AGENT", "CLINE_ACTIVE", "COPILOT_CLI",
)  # fmt: skip
"""Variables that agents set for the commands that they run."""

INSTEAD = (
    "answer in a terminal of your own (interpose approvals approve ID), or set approvals.proof to passphrase, code or "
    "user: see docs/approvals.md"
)


def start_of(pid: int) -> int:
    """When a process was started, to know it again; 0 if it can't be seen."""
    found = process(pid)
    return 0 if found is None else found.start


def prove_terminal(pid: int, start: int, agents: SeenAgents) -> None:
    """Raises NotProvenError, which says what is missing, unless a person sits at this process."""
    for problem in _problems(pid, start, agents):
        raise NotProvenError(f"this answer does not count: {problem}; {INSTEAD}")


def _problems(pid: int, start: int, agents: SeenAgents) -> Iterator[str]:
    chain = ancestry(pid)
    if not chain or chain[0].start != start:
        yield "the process that answers can't be seen"
        return
    me = chain[0]
    if agents.crowded:
        yield "more agents ask here than can be watched"
    if (agent := agents.among(chain)) is not None:
        yield f"the process that answers was started by {agent.name} (process {agent.pid}), an agent that asks here"
    for one in chain:
        if one.name in AGENT_NAMES:
            yield f"the process that answers was started by {one.name} (process {one.pid}), an agent"
        if mark := next((name for name in AGENT_MARKS if name in environment_of(one.pid)), ""):
            yield f"the process that answers was started by an agent, which set {mark}"
    if not me.terminal:
        yield "the process that answers has no terminal"
    if (agent := agents.terminals().get(me.terminal)) is not None:
        yield f"its terminal is that of {agent.name} (process {agent.pid}), an agent that works in it now"
    if all(one.pid != me.session for one in chain):
        yield "the process that answers was left behind by whoever opened its terminal"
    if me.group != me.foreground:
        yield "the process that answers runs in the background of its terminal"
    if problem := _origin(chain, agents):
        yield problem


def _origin(chain: list[Process], agents: SeenAgents) -> str:
    """Why it is not known where a terminal came from; empty if it is known, and no agent could have opened it."""
    if (problem := _remote(chain)) is not None:
        return problem
    if chain[-1].pid != 1 and chain[-1].parent == 0:
        return ""  # somebody outside this container entered it
    ours = [one for one in chain if not is_manager(one)]
    if not ours:
        return ""
    root = ours[-1]  # what the machine's own services have started, or what was left to them
    if (agent := agents.working_at(root.start)) is None:
        return ""  # it is older than any agent
    if _is_window(root):
        return ""
    return (
        f"its terminal belongs to {root.name} (process {root.pid}), which was started while {agent.name} (process "
        f"{agent.pid}) worked, and may be the agent's"
    )


def _remote(chain: list[Process]) -> str | None:
    """Empty for a login that no process of ours can fake, None if there was none.

    Logins are processes of root. Where we are root ourselves that tells nothing, but then an agent of ours may all.
    """
    first = next((place for place, one in enumerate(chain) if one.name in LOGINS), 0)
    givers = [one for one in chain[first:] if one.name in LOGINS and real_user(one.pid) == 0]
    if not first or not givers:
        return None
    if chain[first].name == "login":
        return None if os.geteuid() == 0 else ""
    came_from = environment_of(chain[first - 1].pid).get("SSH_CONNECTION", "").partition(" ")[0]
    if came_from and is_own_address(came_from):
        return f"its terminal is a login over ssh from this machine itself ({came_from})"
    return "" if came_from else None


def _is_window(root: Process) -> bool:
    """Whether it is a program of the system with a window of its own, in which people type."""
    program = program_of(root.pid)
    if program.rpartition("/")[2] not in WINDOWS:
        return False
    try:
        found = os.stat(program)  # noqa: PTH116 - what the kernel named
    except OSError:
        return False
    return found.st_uid == 0 and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def is_own_address(address: str) -> bool:
    """Whether an address is one of this machine: only those can be bound. What is no address counts as ours."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError as error:
        return error.errno != errno.EADDRNOTAVAIL
    return True
