"""Directories that hold an agent's settings: without them, or with another in their place, it runs no hooks."""

from __future__ import annotations

from interpose.effects.agents.agent import Agent
from interpose.effects.agents.known_agents import ANYWHERE, IN_HOME, IN_PROJECTS
from interpose.effects.paths.catalogue import Mark, could_match, is_wild, says_enough
from interpose.effects.paths.resolve import is_home

_PROSE = (".md", ".mdc", ".txt")
"""No agent reads settings or hooks from a file that ends like this."""
_DEEPEST = 3


def agent_directory_of(path: str, home: str, *, gone: bool) -> Mark | None:
    """Why changing this very directory could switch a guard off, or None. What lies in it is another matter.

    `gone`: it is taken away, or something else takes its place. A project's directory counts only then.
    """
    if not path or (path[0] != "/" and "://" in path):
        return None
    whole = path.rstrip("/")
    known = ANYWHERE.get(whole.lower())
    if known is not None:
        return _mark(known.title)
    parts = whole.split("/")
    for length in range(1, min(_DEEPEST, len(parts) - 1) + 1):
        name = "/".join(parts[-length:]).lower()
        if gone and name in IN_PROJECTS:
            return _mark("an agent")
        agent = _in_home(name)
        if agent is not None and is_home("/".join(parts[:-length]), home):
            return _mark(agent.title)
    return None


def filled_directory_of(path: str, home: str, *, everything: bool) -> Mark | None:
    """Why files of names that nobody knows, put into this directory or in its place, could switch a guard off.

    `everything`: they bring directories with them whose names may begin with a dot, so that a home counts, too. A path
    whose last name says nothing (`.claude/*`) stands for whatever lies in its directory.
    """
    whole = path.rstrip("/")
    parent, _, name = whole.rpartition("/")
    if is_wild(name):
        return agent_directory_of(whole, home, gone=True) or (
            None if says_enough(name) or name.endswith(_PROSE) else agent_directory_of(parent, home, gone=True)
        )
    if everything and is_home(whole, home):
        return Mark("is a home, in which agents keep their settings, with the hooks that watch over them")
    return agent_directory_of(whole, home, gone=True)


def _in_home(name: str) -> Agent | None:
    if not is_wild(name):
        return IN_HOME.get(name)
    if not all(says_enough(part) or not is_wild(part) for part in name.split("/")):
        return None
    return next((agent for place, agent in IN_HOME.items() if could_match(name, place)), None)


def _mark(title: str) -> Mark:
    return Mark(f"holds the settings of {title}, with the hooks that watch over it")
