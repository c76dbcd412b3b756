"""Where a host's hooks go on this machine, and what that place must not lead out of."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from interpose.config.places import places_of
from interpose.errors import SetupError
from interpose.surfaces.hosts.events import HostFacts

Scope = Literal["user", "project"]


class InstallTarget(Struct, frozen=True):
    """A file, or the directory of scripts or of a plugin. Symbolic links on the way must stay within `root`."""

    facts: HostFacts
    scope: Scope
    path: Path
    root: Path


def target_of(facts: HostFacts, scope: Scope, project: Path, environ: Mapping[str, str] = os.environ) -> InstallTarget:
    """Where this host reads its hooks."""
    file = next(file for file in facts.setup.files if file.scope == scope)
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


def spoken_path(path: Path | str, environ: Mapping[str, str] = os.environ) -> str:
    """A path as people write it."""
    home, text = str(places_of(environ).home), str(path)
    return f"~{text.removeprefix(home)}" if text.startswith(f"{home}/") else text
