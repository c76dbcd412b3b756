"""What the running guard's environment is, and to whom it belongs. The one place that says so.

`own`: it was made for Interpose alone (pipx, `uv tool`, a virtual environment with nothing else in it). `project`:
other packages live there, or it lies in a project that somebody works on. `system`: no virtual environment at all.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Literal

from msgspec import Struct

from interpose.effects.environment.distributions import Distribution, has_packages, installed_in, needed_by_us

Owner = Literal["own", "project", "system"]
Installer = Literal["pipx", "uv", "pip"]

_RECEIPTS: tuple[tuple[Installer, str, str], ...] = (
    ("pipx", "pipx_metadata.json", "/pipx/venvs/"),
    ("uv", "uv-receipt.toml", "/uv/tools/"),
)
"""What pipx and `uv tool` leave in an environment that they made for one program, and where they make it."""
_INSTALLERS = frozenset({"pip", "setuptools", "wheel", "uv", "distribute"})
_PROJECTS = (
    ".git", ".hg", ".svn", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "package.json",
    "Cargo.toml", "go.mod", "Makefile", "CMakeLists.txt",
)  # fmt: skip
"""One of these beside a directory says that a project is worked on there."""


class Environment(Struct, frozen=True, kw_only=True):
    """Where the guard runs. All paths are absolute; links are not followed."""

    root: str
    owner: Owner
    virtual: bool
    interpreter: str
    libraries: tuple[str, ...]
    """Directories from which packages are imported, in that order."""
    standard: str
    """Python's own library."""
    package: str
    """The directory of our own package: a checkout, where it is worked on."""
    distributions: tuple[Distribution, ...]
    """Ours, and all that it needs."""

    @property
    def scripts(self) -> str:
        """Where the environment's programs are."""
        return f"{self.root}/bin"

    @property
    def project(self) -> str:
        """The directory that a virtual environment lies in: installing into it is ordinary work there."""
        return os.path.dirname(self.root) if self.virtual else ""  # noqa: PTH120 - a plain text


@cache
def running() -> Environment:
    """The environment of this process."""
    libraries = tuple(dict.fromkeys(place for place in sys.path if place[:1] == "/" and has_packages(place)))
    return environment_at(
        sys.prefix,
        virtual=sys.prefix != sys.base_prefix,
        interpreter=sys.executable,
        libraries=libraries,
        package=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),  # noqa: PTH100, PTH120 - no pathlib
    )


def environment_at(
    root: str, *, virtual: bool, interpreter: str, libraries: tuple[str, ...], package: str
) -> Environment:
    """Look at an environment. What can't be read counts as not there."""
    installed = installed_in(libraries)
    needed = needed_by_us(installed)
    others = frozenset(installed) - {each.name for each in needed} - _INSTALLERS
    return Environment(
        root=root,
        owner=_owner(root, virtual=virtual, alone=bool(needed) and not others),
        virtual=virtual,
        interpreter=interpreter,
        libraries=libraries,
        standard=os.path.dirname(os.__file__),  # noqa: PTH120 - a plain text
        package=package,
        distributions=needed,
    )


def installer_at(root: str) -> Installer:
    """Which program made an environment, and can mend or remove it."""
    for installer, receipt, place in _RECEIPTS:
        if place in f"{root}/" or os.path.exists(f"{root}/{receipt}"):  # noqa: PTH110 - no pathlib
            return installer
    return "pip"


def _owner(root: str, *, virtual: bool, alone: bool) -> Owner:
    if not virtual:
        # An environment of conda has an interpreter of its own, and is somebody's all the same.
        return "project" if os.path.isdir(f"{root}/conda-meta") and "/envs/" in root else "system"  # noqa: PTH112
    if installer_at(root) != "pip":
        return "own"
    return "own" if alone and not _is_in_project(root) else "project"


def _is_in_project(root: str) -> bool:
    """Whether a directory above, below the home, is a project's."""
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111 - no pathlib
    above = os.path.dirname(os.path.realpath(root))  # noqa: PTH120 - no pathlib
    while above not in ("/", home, ""):
        if any(os.path.lexists(f"{above}/{name}") for name in _PROJECTS):
            return True
        above = os.path.dirname(above)  # noqa: PTH120 - no pathlib
    return False
