"""Agents that this user runs right now, by what the system says of its processes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from msgspec import Struct

from interpose.core.config.places import places_of
from interpose.core.platforms import processes
from interpose.effects.agents.known_agents import AGENT_OF
from interpose.effects.agents.off_flags import off_flags_in
from interpose.effects.agents.off_variables import moves_settings, off_in_environment

_INTERPRETERS = ("node", "nodejs", "bun", "deno", "python", "python3")
_LARGEST = 1 << 20


class RunningAgent(Struct, frozen=True, kw_only=True):
    """A process. `off` is what it was started with that switches its hooks off; empty if there is nothing."""

    host: str
    pid: int
    since_ns: int
    off: str = ""


def running_agents(environ: Mapping[str, str] = os.environ) -> list[RunningAgent]:
    """All that can be seen, by process. Nothing is raised: what ended in the meantime does not run."""
    home = str(places_of(environ).home)
    return sorted(_found(environ, home), key=lambda each: each.pid)


def _found(environ: Mapping[str, str], home: str) -> Iterator[RunningAgent]:
    try:
        everyone = processes.all_pids()
    except OSError:
        return
    for pid in everyone:
        try:
            if processes.owner_of(pid) != os.geteuid():
                continue
            words = _texts(processes.command_line(pid, _LARGEST))
            host = _agent(words)
            if host:
                off = _off(host, words, _variables(pid), environ, home)
                yield RunningAgent(host=host, pid=pid, since_ns=processes.started_ns(pid), off=off)
        except OSError:
            continue


def _agent(words: list[str]) -> str:
    """Which agent a command line starts: by its program, or by the script that an interpreter runs."""
    if not words:
        return ""
    program = words[0].rpartition("/")[2]
    if program.rstrip("0123456789.") not in _INTERPRETERS:
        return AGENT_OF.get(program, "")
    script = next((word for word in words[1:] if not word.startswith("-")), "")
    parts = [part.partition("@")[0] for part in script.split("/")]
    return next((AGENT_OF[part] for part in (parts[-1], *reversed(parts[:-1])) if part in AGENT_OF), "")


def _off(host: str, words: list[str], its: Mapping[str, str], environ: Mapping[str, str], home: str) -> str:
    for flag, word in off_flags_in(host, words[1:]):
        return word if flag.when == "given" else flag.shown
    for variable in off_in_environment(host, its):
        return f"{variable.name}={its[variable.name]}"
    for name, value in its.items():
        if moves_settings(name, value, home, host) and environ.get(name) != value:
            return f"{name}={value}"
    return ""


def _variables(pid: int) -> dict[str, str]:
    pairs = [text.partition("=") for text in _texts(processes.environment(pid, _LARGEST))]
    return {name: value for name, _, value in pairs}


def _texts(data: bytes) -> list[str]:
    return data.decode("utf-8", "replace").rstrip("\0").split("\0")
