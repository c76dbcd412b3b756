"""Where a user's configuration, state and sockets are: the XDG directories, or those of macOS.

INVARIANT: a relative value is never taken. It would mean the directory that an agent works in, and a project could
bring configuration of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from interpose.core.platforms.system import config_directory, state_directory
from interpose.effects.systems import this_system

FILE = "interpose.yaml"
ORGANISATION = Path("/etc/interpose") / FILE
DIRECTORY_VARIABLE = "INTERPOSE_CONFIG_DIR"


class Places(Struct, frozen=True):
    """The three directories, and the home directory that they are found from."""

    home: Path
    config: Path
    state: Path
    runtime: Path

    @property
    def file(self) -> Path:
        """The user's configuration."""
        return self.config / FILE


def places_of(environ: Mapping[str, str] = os.environ) -> Places:
    """The directories that an environment asks for."""
    home = _absolute(environ, "HOME") or Path(this_system().home_of_root)
    config = _absolute(environ, DIRECTORY_VARIABLE)
    state = (_absolute(environ, "XDG_STATE_HOME") or state_directory(home)) / "interpose"
    runtime = _absolute(environ, "XDG_RUNTIME_DIR")
    return Places(
        home=home,
        config=config or (_absolute(environ, "XDG_CONFIG_HOME") or config_directory(home)) / "interpose",
        state=state,
        runtime=runtime / "interpose" if runtime else state / "run",
    )


def _absolute(environ: Mapping[str, str], name: str) -> Path | None:
    given = environ.get(name, "")
    return Path(given) if given.startswith("/") and "\0" not in given else None
