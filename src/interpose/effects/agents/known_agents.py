"""All agents by what is known of them: one table for each question. Derived, so that nothing is written twice."""

from __future__ import annotations

from interpose.effects.agents.agent import every_agent

AGENTS = every_agent()

BY_NAME = {agent.name: agent for agent in AGENTS}

HOST_NAMES = tuple(agent.name for agent in AGENTS if agent.hooks is not None)
"""Those that we have hooks for, in the order of lists."""

ALIASES = {alias: agent.name for agent in AGENTS for alias in agent.aliases}
"""Other names that people call agents by."""

MOVERS = {variable: agent for agent in AGENTS for variable in agent.moved_by}
"""Variables that move an agent's settings, and whose."""

IN_HOME = {
    place.removeprefix("~/").lower(): agent
    for agent in AGENTS
    for place in agent.directories
    if place.startswith("~/")
}  # fmt: skip
ANYWHERE = {place.lower(): agent for agent in AGENTS for place in agent.directories if place.startswith("/")}

IN_PROJECTS = frozenset(place for agent in AGENTS for place in agent.in_projects)
"""Directories of a project that hold an agent's settings."""

MARKS = tuple(mark for agent in AGENTS for mark in agent.marks)
"""Variables by which a command is known to be an agent's."""

_LONGEST_PROCESS_NAME = 15
PROCESS_NAMES = frozenset(program[:_LONGEST_PROCESS_NAME] for agent in AGENTS for program in agent.programs)
"""Names that agents' processes have. The kernel keeps fifteen letters of one."""

AGENT_OF = {program: agent.name for agent in AGENTS for program in agent.programs}
"""Which agent a program is."""

PACKAGES = {package: agent for agent in AGENTS for package in (*agent.programs, *agent.packages)}
"""Names under which a package registry may have an agent."""


def agent_named(name: str) -> str:
    """The agent's own name, for this or a common other name of it."""
    plain = name.strip().lower().replace("_", "-")
    return ALIASES.get(plain, plain)
