"""Where the rules of the organisation, the user and the project stand.

The packs that a user switched on are a rule file like any other, `packs.yaml` among the user's own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from interpose.core.config.load import load
from interpose.core.config.settings import PolicySettings
from interpose.rules.policy.load import RulePlace
from interpose.rules.policy.rule_file_trust import standing_of, strangers_file
from interpose.rules.policy.rules import Level

ORGANISATION = "/etc/interpose/policy"
ORGANISATION_GOVERNANCE = "/etc/interpose/governance.yaml"
PROJECT = ".interpose/policy.yaml"
PROJECT_GOVERNANCE = ".interpose/governance.yaml"
_DIRECTORY = ".interpose"
PACKS = "packs.yaml"
DEFAULT_PACKS = ("baseline",)

_NOTHING = "version: 1\n"
_LONGEST = 4096
"""No system has longer paths."""
_HEAD = "# Written by `interpose policy enable` and `disable`. Rules of your own belong into files beside this one.\n"


def governance_files(own: str) -> tuple[str, ...]:
    """The governance files that hold wherever an agent works, as far as they are there: the organisation's, and the
    user's `own`."""
    return tuple(file for file in (ORGANISATION_GOVERNANCE, own) if os.path.lexists(file))


def user_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Where a user's rules stand, as it is configured. Raises ConfigError."""
    return Path(load(environ=environ).config.policy.directory)


def standard_places(
    cwd: str = "", *, environ: Mapping[str, str] = os.environ, organisation: str = ORGANISATION
) -> tuple[RulePlace, ...]:
    """The places whose rules hold for an agent that works in `cwd`. None of them has to be there."""
    policy = load(environ=environ).config.policy
    files = project_files(cwd or str(Path.cwd()))
    return shared_places(policy, organisation=organisation) + project_places(files)


def shared_places(policy: PolicySettings, *, organisation: str = ORGANISATION) -> tuple[RulePlace, ...]:
    """The places whose rules hold wherever an agent works: the organisation's and the user's."""
    user, standing = policy.directory, standing_of(policy.public_keys, required=policy.require_signature)
    return (
        RulePlace(organisation, Level.ORGANISATION, _NOTHING, standing),
        RulePlace(str(Path(user) / PACKS), Level.USER, packs_text(DEFAULT_PACKS), standing),
        RulePlace(user, Level.USER, _NOTHING, standing),
    )


def project_places(files: Sequence[str]) -> tuple[RulePlace, ...]:
    """The places of projects' rule files."""
    return tuple(RulePlace(file, Level.PROJECT, _NOTHING) for file in files if file.endswith(PROJECT))


def project_files(cwd: str) -> tuple[str, ...]:
    """The project rule files and governance files that hold in `cwd`: its own, and those of every directory above it.

    INVARIANT: all of them, however deep, by its name and by where it really is. Or an agent could step into a directory
    or through a link of its own making and leave a project's rules.
    """
    # A Path is ten times slower, and this is on the way of every call.
    return tuple(
        file
        for at in _upwards(cwd)
        if os.path.lexists(os.path.join(at, _DIRECTORY))  # noqa: PTH118 - as above
        for name in (PROJECT, PROJECT_GOVERNANCE)
        if os.path.lexists(file := os.path.join(at, name)) and not strangers_file(at, file)  # noqa: PTH118
    )


def _upwards(cwd: str) -> tuple[str, ...]:
    named = Path(cwd[:_LONGEST])
    above = [str(at) for at in (named, *named.parents)]
    try:
        real = Path(os.path.realpath(named))
    except ValueError:  # a NUL in it: nothing can lie there
        return tuple(above)
    if real == named:
        return tuple(above)
    # The same directory under two names has its rules once.
    by_place = {_place(at): at for at in (str(real), *map(str, real.parents), *above)}
    return tuple(by_place.values())


def _place(directory: str) -> object:
    try:
        found = Path(directory).stat()
    except (OSError, ValueError):
        return directory
    return found.st_dev, found.st_ino


def packs_text(names: Sequence[str]) -> str:
    """The text of the file that says which packs are on."""
    return f"{_HEAD}version: 1\npacks: [{', '.join(names)}]\n"
