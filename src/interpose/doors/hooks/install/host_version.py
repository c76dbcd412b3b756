"""Which version of an agent is installed here, as its own program says."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess

from msgspec import Struct

from interpose.core.errors import text_of
from interpose.effects.agents.agent import HostSetup

_VERSION = re.compile(r"\d+(?:\.\d+)+")
_PATIENCE = 10.0


class HostVersion(Struct, frozen=True):
    """`program` is empty if it is not on the PATH, `version` if the program does not say it; `problem` says why."""

    program: str = ""
    version: str = ""
    problem: str = ""

    def is_before(self, other: str) -> bool:
        """Whether the version is known, and is older."""
        return bool(self.version) and _numbers(self.version) < _numbers(other)


def host_version(setup: HostSetup) -> HostVersion:
    """Ask the agent's program. Raises nothing."""
    program = shutil.which(setup.program) if setup.program else None
    if program is None:
        return HostVersion()
    try:
        done = subprocess.run(  # noqa: S603 - the agent that this user runs
            [program, "--version"], capture_output=True, timeout=_PATIENCE, check=False, cwd="/",
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return HostVersion(program, problem=f"{shlex.quote(program)} --version: {text_of(error)}")
    found = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return HostVersion(program, found.group() if found else "")


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]
