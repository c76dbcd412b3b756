"""Where a host's hooks go on this machine, and what that place must not lead out of."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.config.places import places_of
from interpose.core.errors import SetupError
from interpose.core.platforms.processes import this_machine
from interpose.doors.hooks.hosts.events import HostFacts
from interpose.effects.agents import switch_reader
from interpose.effects.agents.agent import HookFile
from interpose.effects.systems import this_system

Scope = Literal["user", "project", "managed"]


class InstallTarget(Struct, frozen=True):
    """A file, or the directory of scripts or of a plugin. Symbolic links on the way must stay within `root`."""

    facts: HostFacts
    scope: Scope
    path: Path
    root: Path


def target_of(facts: HostFacts, scope: Scope, project: Path, environ: Mapping[str, str] = os.environ) -> InstallTarget:
    """Where this host reads its hooks."""
    file = file_for(facts, scope)
    if file is None:
        if scope == "managed" and not this_system().managed_settings:
            raise SetupError(
                f"where {facts.title} reads managed settings on {this_system().title} is not known to Interpose; "
                "install it with --user. `interpose help agents` says what then switches its hooks off"
            )
        raise SetupError(
            f"{facts.title} has no managed settings that hold hooks; install it with --user; "
            "`interpose help agents` says what then switches its hooks off"
        )
    if scope == "managed":
        return InstallTarget(facts_for(facts, scope), scope, switch_reader.SYSTEM / file.path[1:], system_settings())
    if scope == "project":
        return InstallTarget(facts, scope, project / file.path, project)
    home = places_of(environ).home
    moved = environ.get(file.moved_by, "") if file.moved_by else ""
    if not moved:
        return InstallTarget(facts, scope, home / file.path.removeprefix("~/"), home)
    if not moved.startswith("/"):
        raise SetupError(
            f"{file.moved_by} is {moved!r}, which is no absolute path: {facts.title} would read it from elsewhere"
        )
    return InstallTarget(facts, scope, Path(moved + file.path.removeprefix(file.root)), Path(moved))


def file_for(facts: HostFacts, scope: Scope) -> HookFile | None:
    """The file of a host in this place; None if it has none there."""
    if scope == "managed" and not this_system().managed_settings:
        return None
    return next((file for file in facts.setup.files if file.scope == scope), None)


def facts_for(facts: HostFacts, scope: Scope) -> HostFacts:
    """The facts as they are for this place: its file may need more than others do."""
    file, setup = file_for(facts, scope), facts.setup
    if file is None or scope != "managed":
        return facts
    entry = dict(setup.entry)
    if "name" in entry:  # a name that no repository can know, and so none can name to leave it out
        entry["name"] = f"{entry['name']}-{_machine()}"
    top = {**setup.top, **file.top}
    return replace(facts, setup=replace(setup, top=top, entry=entry, also_command=file.also_command))


def _machine() -> str:
    """A word that is always the same on this machine, and another on others."""
    text = this_machine() or os.uname().nodename.encode()
    return hashlib.sha256(b"interpose managed hooks " + text).hexdigest()[:16]


def system_settings() -> Path:
    """What managed settings must not lead out of."""
    return switch_reader.SYSTEM / "etc"


def spoken_path(path: Path | str, environ: Mapping[str, str] = os.environ) -> str:
    """A path as people write it."""
    home, text = str(places_of(environ).home), str(path)
    return f"~{text.removeprefix(home)}" if text.startswith(f"{home}/") else text
