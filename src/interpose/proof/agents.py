"""The agents that are guarded here: whoever started a hook that asked us.

A hook's process is a child of its agent, be it through a shell. So the agent is the topmost of its ancestors below what
a person starts agents from: a shell that leads a terminal, a terminal program, a login, the machine's own services.
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

from interpose.proof.processes import Process, process, this_boot, ticks_now

log = logging.getLogger("interpose.approvals")

MOST_KNOWN = 500
_SHELLS = frozenset(
    {"bash", "zsh", "fish", "sh", "dash", "ksh", "mksh", "tcsh", "csh", "nu", "xonsh", "elvish", "pwsh"}
)
LOGINS = frozenset({"sshd", "sshd-session", "login"})
EDITORS = frozenset(
    {"code", "code-insiders", "codium", "cursor", "windsurf", "kiro", "idea", "pycharm", "zed", "electron"}
)
_MULTIPLEXERS = frozenset({"tmux: server", "tmux", "screen", "zellij", "mosh-server", "abduco", "dtach"})
WINDOWS = frozenset({
    "gnome-terminal-server", "kgx", "ptyxis-agent", "konsole", "kitty", "alacritty", "foot", "footclient",
    "wezterm-gui", "xterm", "urxvt", "rxvt", "st", "xfce4-terminal", "tilix", "terminator", "ghostty", "lxterminal",
    "mate-terminal", "qterminal", "deepin-terminal", "terminology",
})  # fmt: skip
"""Programs with a window of their own in which people type. The kernel keeps fifteen letters of a name."""
_GIVERS = LOGINS | _MULTIPLEXERS | {name[:15] for name in WINDOWS}


def is_manager(one: Process) -> bool:
    """Whether it starts everything else: the first process, or a user's own."""
    return one.pid == 1 or (one.name in ("systemd", "init") and one.parent in (0, 1))


def _ends_search(one: Process) -> bool:
    leads = one.session == one.pid and one.terminal != 0 and one.name in _SHELLS
    return leads or is_manager(one) or one.name in _GIVERS or one.name in EDITORS


def agent_above(hook: list[Process]) -> Process | None:
    """The agent that a hook's process belongs to, from its ancestry; None if a person started it by hand."""
    found: Process | None = None
    for one in hook[1:]:
        if _ends_search(one):
            # An editor is the agent itself where its hooks are its own children.
            return one if found is None and one.name in EDITORS else found
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
        self._forgotten: SeenAgent | None = None
        """All that there was no room for, as one: from the first start to the last end."""
        if file is not None:
            self._load(file)

    def heard(self, pid: int) -> None:
        """A hook asks, and this is its process. Raises nothing: who can't be seen is not remembered."""
        chain: list[Process] = []
        while (one := process(pid)) is not None and len(chain) < 64:
            chain.append(one)
            if one.identity in self._known:
                return
            pid = one.parent
            if _ends_search(one) and len(chain) > 1:
                break
        agent = agent_above(chain)
        if agent is not None and agent.identity not in self._known:
            self._remember(SeenAgent(agent.pid, agent.start, ticks_now(), agent.name))

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
        with self._lock:
            known = (*self._known.values(), *((self._forgotten,) if self._forgotten else ()))
            return next((one for one in known if one.start <= moment <= one.alive), None)

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
