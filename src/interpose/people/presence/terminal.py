"""The proof by one's terminal: whoever answers sits at a terminal that no agent made or works in.

What the kernel says of a process that is connected to our Unix socket: its number and user, its ancestors, its
terminal, whether it is the one that reads the terminal now. What it can't say is where a process came from whose
parents are gone. So a chain that ends at a process which an agent may have left behind proves nothing.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator

from interpose.core.errors import NotProvenError
from interpose.core.platforms.process_values import Process
from interpose.core.platforms.processes import process
from interpose.effects.agents.known_agents import MARKS, PROCESS_NAMES
from interpose.people.presence.agents import SeenAgents
from interpose.people.presence.keys import is_login, started_by_keys
from interpose.people.presence.processes import ancestry, environment_of, runs_program
from interpose.people.presence.programs import LOGINS, NEVER_ADOPT
from interpose.people.presence.shared_terminals import running_automation, shared_terminal
from interpose.people.presence.windows import is_plain_window

INSTEAD = (
    "answer in a terminal window of your own (interpose approvals approve ID), which is no tmux, screen or editor, in "
    "the browser (interpose open), or set a passphrase that is asked for instead (interpose approvals operator init "
    "--passphrase): see `interpose help approvals`"
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
    if agents.unplaced:
        yield "a program asked here that the system does not show, and it could be any of this user's"
    if (agent := agents.among(chain)) is not None:
        yield f"the process that answers was started by {agent.name} (process {agent.pid}), an agent that asks here"
    for one in chain:
        if one.name in PROCESS_NAMES:
            yield f"the process that answers was started by {one.name} (process {one.pid}), an agent"
        if mark := next((name for name in MARKS if name in environment_of(one.pid)), ""):
            yield f"the process that answers was started by an agent, which set {mark}"
    if (typeable := shared_terminal(chain)) is not None:
        yield (f"in {typeable} every program of yours can read the screen and type, so a terminal proves nothing there")
    if (automation := running_automation()) is not None:
        yield (
            f"{automation.name} (process {automation.pid}) presses keys on this desktop, so a terminal proves nothing "
            "while it runs"
        )
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
    """Why it is not known where a terminal came from; empty if it is known, and no agent could have opened it.

    INVARIANT: from the top down, each process must be one that no agent left behind. The kernel hands a process whose
    parent ended to an ancestor of that parent, so what matters is whether the parent it has now may have adopted it.
    """
    if problem := _login_from_here(chain):
        return problem
    top = chain[-1]
    entered = top.pid == 1 or top.parent == 0  # from outside this container: no process in it can do that
    for place in reversed(range(len(chain) - entered)):
        one = chain[place]
        agent = agents.working_at(one.start)
        if agent is None:
            continue  # it was there before any agent, or came after all of them had ended
        parent = chain[place + 1] if place + 1 < len(chain) else None
        above = chain[place + 2] if place + 2 < len(chain) else None
        left_behind = parent is None or _may_have_adopted(one, parent, agents)
        if parent is not None and not left_behind and started_by_keys(one, parent, above):
            continue
        if place and is_plain_window(one, chain[place - 1]):
            continue
        if parent is not None and not left_behind:
            return (
                f"{one.name} (process {one.pid}) was started by {parent.name} (process {parent.pid}), and not by keys "
                f"at a shell's prompt, while {agent.name} (process {agent.pid}) worked"
            )
        return (
            f"its terminal belongs to {one.name} (process {one.pid}), which was started while {agent.name} (process "
            f"{agent.pid}) worked, and may be the agent's"
        )
    return ""


def _may_have_adopted(one: Process, parent: Process, agents: SeenAgents) -> bool:
    """Whether the kernel may have handed this process to its parent when an agent's process ended.

    The parent itself is none that an agent left behind, so its program is what a person started.
    """
    if parent.pid == 1:
        return True
    if runs_program(parent.pid, NEVER_ADOPT) or is_login(parent):
        return False
    return agents.may_have_left(one, parent)


def _login_from_here(chain: list[Process]) -> str:
    """That a login came over ssh from this very machine; empty if it did not."""
    for place, one in enumerate(chain[1:]):
        if one.name in LOGINS:
            came_from = environment_of(chain[place].pid).get("SSH_CONNECTION", "").partition(" ")[0]
            if came_from and is_own_address(came_from):
                return f"its terminal is a login over ssh from this machine itself ({came_from})"
    return ""


def is_own_address(address: str) -> bool:
    """Whether an address is one of this machine: only those can be bound. What is no address counts as ours."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError as error:
        return error.errno != errno.EADDRNOTAVAIL
    return True
