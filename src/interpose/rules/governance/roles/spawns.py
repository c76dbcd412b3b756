"""Calls that start other agents: which tools do, and which agent a call asks for.

Every host has its own tool and its own name for the argument. All names that could be meant are taken: which of two a
host goes by is not ours to guess, and who could choose a spelling that nobody reads could choose what is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct

from interpose.core.formats.plain_text import one_line
from interpose.core.tools import KNOWN_TOOL_NAMES, mcp_name, namespace_of, plain_name
from interpose.core.types import ToolCall
from interpose.effects.agents.known_agents import AGENTS
from interpose.rules.governance.roles.identity import host_of
from interpose.rules.governance.sessions.session_bounds import LONGEST_NAME, short

MOST_AT_ONCE = 50
"""Agents that one call may start. A call that asks for more is not read to its end."""

_ANYWHERE = frozenset({
    "spawnagent", "spawnagents", "dispatchagent", "invokeagent", "invokesubagent", "sessionsspawn", "runsubagent",
    "usesubagent", "usesubagents", "subagent", "spawnsubagent", "delegatetoagent", "startagent", "launchagent",
})  # fmt: skip
"""Tools that start agents, whoever's tools they are. Names are compared without case, underscores and hyphens."""
_OF_HOSTS = _ANYWHERE | {"task", "agent", "newtask"}
"""Tools of a host that do. Of another server's `task` nobody knows what it is."""
_COLLECTS = frozenset({
    "taskoutput", "agentoutput", "agentoutputtool", "waitagent", "waitforagent", "waitforsubagent", "agentresult",
    "getagentresult", "readagent", "readsubagent", "subagentresult", "collectagent",
})  # fmt: skip
"""Tools of a host that hand on what an agent answered that was started before."""
Reporter = Literal["agent", "tool", ""]
_KNOWN = frozenset(KNOWN_TOOL_NAMES)
_ONLY_TOOLS = _KNOWN - {"task", "process", "sessions_spawn"}
REPORTING = f"^(?!(?:{'|'.join(sorted(_ONLY_TOOLS))})$)"
"""A pattern of the names of tools whose results can be reports."""
_DETACHED = frozenset({"spawnagent", "spawnagents", "sessionsspawn", "spawnsubagent"})
"""Tools that answer as soon as the agent works."""
_IN_BACKGROUND = frozenset({"runinbackground", "background", "detach", "detached", "async"})

_TARGET = frozenset({
    "subagenttype", "subagent", "subagentname", "subagentid", "agenttype", "agent", "agentname", "agentid", "agentrole",
    "role",
})  # fmt: skip
_SEVERAL = frozenset({"subagents", "agents", "tasks", "delegations"})
_DEPTH = 3

_DEFAULTS = {agent.name: agent.usual_subagent for agent in AGENTS if agent.usual_subagent}
"""The kind of agent that a host starts if the call names none."""


class Spawn(Struct, frozen=True):
    """What a call asks for: for each agent that it would start, the kinds that could be meant. `()` is any kind."""

    agents: tuple[tuple[str, ...], ...]
    detached: bool = False
    """The call is answered while the agent still works."""
    readable: bool = True
    """Whether all of it could be read."""


def delegation_of(call: ToolCall) -> str | None:
    """Whom a call asks for, in words; None if it starts nobody."""
    spawn = spawn_of(call)
    if spawn is None:
        return None
    names = dict.fromkeys("/".join(names) or "an agent" for names in spawn.agents)
    return one_line(", ".join(names))[:200]


def reporter_of(call: ToolCall) -> Reporter:
    """Who speaks in the result of a call: another agent, a tool of somebody's own, or nobody. What a file says, or a
    program prints, is no report."""
    if call.name in _ONLY_TOOLS:
        return ""
    if _spawner(call) or collects(call):
        return "agent"
    return "" if call.name in _KNOWN else "tool"


def collects(call: ToolCall) -> bool:
    """Whether a call hands on what an agent answered that was started before."""
    names = (call.original_name or call.name, call.name)
    return any(plain_name(name) in _COLLECTS for name in names if mcp_name(name) is None)


def spawn_of(call: ToolCall) -> Spawn | None:
    """The agents that a call would start; None if it starts nobody."""
    tool = _spawner(call)
    if not tool:
        return None
    several = [item for items in _lists(call.arguments, _DEPTH) for item in items]
    found = [_kinds(item) for item in several[:MOST_AT_ONCE]] or [_kinds(call.arguments)]
    default = _DEFAULTS.get(host_of(call.context.source), "")
    agents = tuple(kinds or ((default,) if default else ()) for kinds in found if kinds is not None)
    return Spawn(
        agents or ((),),
        detached=tool in _DETACHED or _in_background(call.arguments),
        readable=None not in found and len(several) <= MOST_AT_ONCE,
    )


def _spawner(call: ToolCall) -> str:
    return _spawner_named(call.original_name) or _spawner_named(call.name)


def _spawner_named(name: str) -> str:
    return _remembered(name) if len(name) <= LONGEST_NAME else _spawning(name)


def _spawning(name: str) -> str:
    plain = plain_name(name[len(namespace_of(name)) :])
    return plain if plain in (_ANYWHERE if mcp_name(name) is not None else _OF_HOSTS) else ""


_remembered = lru_cache(maxsize=1024)(_spawning)


def _kinds(item: object) -> tuple[str, ...] | None:
    """The kinds of agent that one item names; None if it can't be read."""
    if isinstance(item, str):
        return (short(item.strip()),)
    if not isinstance(item, Mapping):
        return None
    found: dict[str, None] = {}
    for key, value in item.items():
        if plain_name(key) in _TARGET and value is not None and value != "":
            if not isinstance(value, str):
                return None
            found[short(value.strip())] = None
    return tuple(found)


def _lists(value: object, depth: int) -> Iterator[list[Any] | tuple[Any, ...]]:
    """Lists of agents, also in an object that stands around them."""
    if not isinstance(value, Mapping) or depth <= 0:
        return
    for key, item in value.items():
        if plain_name(key) in _SEVERAL and isinstance(item, list | tuple) and item:
            yield item
        elif isinstance(item, Mapping):
            yield from _lists(item, depth - 1)


def _in_background(arguments: Mapping[str, Any]) -> bool:
    return any(plain_name(key) in _IN_BACKGROUND and value is True for key, value in arguments.items())
