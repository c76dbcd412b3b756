"""Agents that are installed on this machine: by their programs on the PATH, or by the directories of their settings."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from interpose.core.config.places import places_of
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.events import HostFacts
from interpose.doors.hooks.install.places import Scope, file_for
from interpose.doors.hooks.install.records import Installed
from interpose.effects.agents.known_agents import BY_NAME


class FoundAgent(Struct, frozen=True, kw_only=True):
    """An agent that hooks can be installed for. `seen_at` is its program, or else its directory of settings."""

    host: str
    title: str
    seen_at: str
    scope: Scope
    installed: tuple[str, ...] = ()
    """Files that have hooks of ours already."""

    @property
    def command(self) -> str:
        """What installs its hooks in this place."""
        sudo = "sudo " if self.scope == "managed" else ""
        return f"{sudo}interpose install {self.host}{'' if self.scope == 'user' else f' --{self.scope}'}"


def found_agents(
    scope: Scope, records: Iterable[Installed], environ: Mapping[str, str] = os.environ
) -> list[FoundAgent]:
    """In the order of our table, those with a file of hooks in this place."""
    installed: dict[str, list[str]] = {}
    for record in records:
        if record.scope == scope:
            installed.setdefault(record.host, []).append(record.path)
    return [
        FoundAgent(
            host=name, title=host.facts.title, seen_at=at, scope=scope, installed=tuple(installed.get(name, ()))
        )
        for name, host in HOSTS.items()
        if file_for(host.facts, scope) is not None and (at := _seen_at(host.facts, environ))
    ]  # fmt: skip


def _seen_at(facts: HostFacts, environ: Mapping[str, str]) -> str:
    known = BY_NAME.get(facts.name)
    programs = dict.fromkeys((facts.setup.program, *(known.programs if known else ())))
    path = environ.get("PATH", "")
    found = (shutil.which(program, path=path) for program in programs if program)
    return next((at for at in found if at), "") or next((at for at in _directories(facts, environ)), "")


def _directories(facts: HostFacts, environ: Mapping[str, str]) -> Iterator[str]:
    known, home = BY_NAME.get(facts.name), places_of(environ).home
    moved = [environ.get(file.moved_by, "") for file in facts.setup.files if file.moved_by]
    in_home = [place.removeprefix("~/") for place in (*(known.directories if known else ()), *facts.setup.traces)
               if place.startswith("~/")]  # fmt: skip
    for place in (*(Path(one) for one in moved if one.startswith("/")), *(home / one for one in in_home)):
        if place.is_dir():
            yield str(place)
