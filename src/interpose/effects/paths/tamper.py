"""The settings of agents and what is ours (ours.py): what changes them could switch a guard off."""

from __future__ import annotations

from interpose.effects.agents.known_agents import AGENTS, IN_HOME, IN_PROJECTS
from interpose.effects.paths.catalogue import Catalogue, Mark, is_wild
from interpose.effects.paths.ours import ours_of
from interpose.effects.paths.resolve import is_home

_AGENT = Mark("is an agent's settings, where hooks and permissions live")
_SERVERS = Mark("decides which tool servers an agent starts")
_SCRIPT = Mark("is a program in an agent's own directory, which its settings may run")

_TAMPER = Catalogue(
    {
        _AGENT: " ".join(pattern for agent in AGENTS for pattern in agent.settings),
        _SERVERS: " ".join(pattern for agent in AGENTS for pattern in agent.servers),
    }
)
_IN_HOME = frozenset(name for agent in AGENTS for name in agent.in_home)
"""Settings by these names only when they lie in a home directory itself."""
SETTINGS_FILES = frozenset(
    pattern.rpartition("/")[2].lower()
    for agent in AGENTS
    for pattern in (*agent.settings, *agent.servers, *agent.in_home)
    if not pattern.endswith("/")
)
"""Names that settings of agents have, in whatever directory."""
WITHOUT_DOT = frozenset(
    pattern.strip("/").rpartition("/")[2].replace("%20", " ")
    for agent in AGENTS
    for pattern in map(str.lower, (*agent.settings, *agent.servers, *agent.directories))
    if not any(part.startswith(".") for part in pattern.split("/"))
)
"""Last names of the places of agents that have no part which begins with a dot."""
_PROFILES = frozenset(
    (directory.rpartition("/")[2].lower(), name.removeprefix("*"))
    for agent in AGENTS
    for directory, _, name in (file.path.rpartition("/") for file in agent.settings_files)
    if name.startswith("*") and directory in agent.directories
)
"""Settings that hold when an agent is started with their name: the last part of their directory, and their ending."""
_SCRIPTS = (".sh", ".bash", ".zsh", ".fish", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".ps1")
_OWN_DIRECTORIES = frozenset(place for place in (*IN_HOME, *IN_PROJECTS) if "/" not in place)


def tamper_of(path: str, home: str) -> Mark | None:
    """Why changing a resolved path could switch a guard off, or None."""
    if not path or (path[0] != "/" and "://" in path):
        return None
    if (own := ours_of(path)) is not None:
        return own
    parts = path.lower().rstrip("/").split("/")
    mark = _TAMPER.find_wild(parts) or _TAMPER.find_beside(parts) if is_wild(path) else _TAMPER.find(parts)
    if mark is not None:
        return mark
    if parts[-1] in _IN_HOME and is_home(path.rstrip("/").rpartition("/")[0], home):
        return _AGENT
    if any(parts[-2:-1] == [directory] and parts[-1].endswith(ending) for directory, ending in _PROFILES):
        return _AGENT
    if parts[-1].endswith(_SCRIPTS) and len(parts) > 1 and parts[-2] in _OWN_DIRECTORIES:
        return _SCRIPT
    return None
