"""The agents that are guarded here: the programs that started a hook or another caller that asked us.

A hook's process is a child of its agent, often through a shell. So the agent is the topmost of its ancestors below what
a person starts agents from: a shell that leads a terminal, a terminal program, a login, the machine's own services.

INVARIANT: the name that a process gives itself is never believed here. What counts is the program that the kernel says
it runs, its user, its age and its parents. An unknown program is the agent's: that only makes the proof stricter.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections import OrderedDict
from pathlib import Path

from msgspec import MsgspecError, Struct
from msgspec import json as fast

from interpose.core.platforms.process_values import Process
from interpose.core.platforms.processes import process, real_user, this_boot, ticks_now
from interpose.effects.agents.known_agents import MARKS, PROCESS_NAMES
from interpose.people.presence.own_program import is_ours
from interpose.people.presence.processes import NEVER, ancestry, environment_of, is_system_program, runs_program
from interpose.people.presence.programs import EDITORS, SHELLS, TERMINAL_OPENERS

log = logging.getLogger("interpose.approvals")

MOST_KNOWN = 500
_MANAGERS = frozenset({"systemd", "init"})


def is_manager(one: Process, oldest: int) -> bool:
    """Whether it starts everything else: the first process, or a user's own service manager.

    Anybody can start a program of that name. So it must be one that only root may write, and older than every agent.
    """
    return one.pid == 1 or (one.parent in (0, 1) and one.start < oldest and is_system_program(one.pid, _MANAGERS))


def leads_terminal(one: Process) -> bool:
    """Whether it is a shell that leads a terminal, as terminal programs start it."""
    return one.session == one.pid and one.terminal != 0 and runs_program(one.pid, SHELLS)


def _ends_search(one: Process, oldest: int) -> bool:
    return (
        leads_terminal(one)
        or is_manager(one, oldest)
        or is_system_program(one.pid, TERMINAL_OPENERS)
        # A process of root that starts ours is a login; where we are root ourselves that tells nothing.
        or (os.geteuid() != 0 and real_user(one.pid) == 0)
    )


def agent_above(hook: list[Process], oldest: int = NEVER) -> Process | None:
    """The agent that a hook's process belongs to, from its ancestry; None if a person started it by hand.

    `oldest` is the start of the oldest agent that is known.
    """
    found: Process | None = None
    for one in hook[1:]:
        if _ends_search(one, oldest):
            # An editor is the agent itself where its hooks are its own children.
            return one if found is None and runs_program(one.pid, EDITORS) else found
        found = one
    return found


class SeenAgent(Struct, frozen=True, array_like=True):
    """An agent: its process, and until when it may have lived, in ticks since the machine was started.

    INVARIANT: whatever an agent started was started between `start` and `alive`. So `alive` of one that is gone is when
    we found that out, and not when we last heard of it.
    """

    pid: int
    start: int
    alive: int
    name: str
    gone: bool = False


class _File(Struct, frozen=True):
    boot: str
    agents: tuple[SeenAgent, ...]


class SeenAgents:
    """All agents that were heard of since the machine was started. Safe to share by threads."""

    def __init__(self, file: Path | None = None) -> None:
        """With a `file` they are known to the next server, too."""
        self._file = file
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[int, int], SeenAgent] = OrderedDict()
        self.unplaced = False
        """Whether a process of our own user asked that could not be seen."""
        self._forgotten: SeenAgent | None = None
        """All that there was no room for, as one: from the first start to the last end."""
        if file is not None:
            self._load(file)

    def miss(self) -> None:
        """A process of our user asks that can't be seen. It may be any of them, until this server ends."""
        self.unplaced = True

    def heard(self, pid: int, *, itself: bool = False) -> None:
        """A hook asks, and this is its process. Raises nothing: a process that has ended is not remembered.

        A caller that is no hook is an agent `itself` if no agent started it.
        """
        chain: list[Process] = []
        oldest = min((one.start for one in self._every()), default=NEVER)
        while (one := process(pid)) is not None and len(chain) < 64:
            chain.append(one)
            if one.identity in self._known:
                return
            pid = one.parent
            if len(chain) > 1 and _ends_search(one, oldest):
                break
        agent = agent_above(chain, oldest)
        if agent is None and itself and chain and not is_ours(chain[0].pid):
            agent = chain[0]
        if agent is not None and is_ours(agent.pid, "doctor") and not self._has_agent(agent.pid):
            return  # a person's doctor, whose hooks only try themselves
        if agent is not None and agent.identity not in self._known:
            self._remember(SeenAgent(agent.pid, agent.start, ticks_now(), agent.name))

    def told(self, pid: int, start: int) -> None:
        """Another door of ours says that this process is an agent. One that has ended was there until now."""
        if (pid, start) not in self._known:
            found = process(pid)
            name = found.name if found is not None and found.start == start else "a caller"
            self._remember(SeenAgent(pid, start, ticks_now(), name))

    def known(self) -> tuple[SeenAgent, ...]:
        """Those that are watched."""
        with self._lock:
            return tuple(self._known.values())

    def _has_agent(self, pid: int) -> bool:
        """Whether an agent is among a process and its ancestors, or has left its mark there."""
        chain = ancestry(pid)
        return self.among(chain) is not None or any(
            one.name in PROCESS_NAMES or any(mark in environment_of(one.pid) for mark in MARKS) for one in chain
        )

    def among(self, chain: list[Process]) -> SeenAgent | None:
        """The agent among these processes, if one is."""
        return next((self._known[one.identity] for one in chain if one.identity in self._known), None)

    def terminals(self) -> dict[int, SeenAgent]:
        """Terminals that agents work in now."""
        with self._lock:
            known = list(self._known.values())
        living = ((one, found) for one in known if (found := process(one.pid)) is not None and found.start == one.start)
        return {found.terminal: one for one, found in living if found.terminal}

    def working_at(self, moment: int) -> SeenAgent | None:
        """An agent that worked at some time, in ticks, or may have; None if none did."""
        self.sweep()
        return next((one for one in self._every() if one.start <= moment <= one.alive), None)

    def may_have_left(self, one: Process, parent: Process) -> bool:
        """Whether a process may be an orphan of an agent that this parent adopted.

        Only an ancestor of an agent can adopt what it leaves behind, and an ancestor is never younger. Which ancestors
        an agent had is not known any more when it is gone.
        """
        return any(
            seen.gone or seen.pid == 0 or parent.identity in {above.identity for above in ancestry(seen.pid)}
            for seen in self._every()
            if seen.start <= one.start <= seen.alive and (seen.pid == 0 or parent.start <= seen.start)
        )

    def _every(self) -> tuple[SeenAgent, ...]:
        with self._lock:
            return (*self._known.values(), *((self._forgotten,) if self._forgotten else ()))

    def sweep(self) -> None:
        """Look who still lives. The more often, the less is taken for the work of one that was gone."""
        with self._lock:
            now = ticks_now()
            for place, one in self._known.items():
                if not one.gone:
                    found = process(one.pid)
                    lives = found is not None and found.start == one.start
                    self._known[place] = SeenAgent(one.pid, one.start, now, one.name, not lives)

    @property
    def crowded(self) -> bool:
        """Whether more agents live than are watched: then nobody's terminal is known to be free of them."""
        return self._forgotten is not None and not self._forgotten.gone

    def _make_room(self) -> None:
        """INVARIANT: an agent can't make us forget another. Those that are gone make room first, and what is forgotten
        still counts as the time in which agents worked."""
        while len(self._known) > MOST_KNOWN:
            place = next((at for at, one in self._known.items() if one.gone), next(iter(self._known)))
            one, before = self._known.pop(place), self._forgotten
            start = min(one.start, before.start) if before else one.start
            alive = max(one.alive, before.alive) if before else one.alive
            self._forgotten = SeenAgent(0, start, alive, one.name, one.gone and (before is None or before.gone))

    def _remember(self, agent: SeenAgent) -> None:
        self.sweep()
        with self._lock:
            self._known[agent.pid, agent.start] = agent
            self._make_room()
            kept = _File(this_boot(), tuple(self._known.values()))
        if self._file is not None:
            try:
                _write(self._file, fast.encode(kept))
            except OSError as error:
                log.warning("%s: agents can't be remembered: %s", self._file, error.strerror)

    def _load(self, file: Path) -> None:
        try:
            kept = fast.decode(file.read_bytes(), type=_File)
        except (OSError, MsgspecError):
            return
        if kept.boot == this_boot():
            # Nobody watched them meanwhile: those that are gone may have lived until now.
            now = ticks_now()
            self._known.update(
                {(one.pid, one.start): SeenAgent(one.pid, one.start, now, one.name) for one in kept.agents}
            )


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)
    draft.replace(file)
