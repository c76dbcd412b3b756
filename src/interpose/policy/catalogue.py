"""Where the rules of the organisation, the user and the project stand, and which packs are on.

The packs that a user switched on are a rule file like any other, `packs.yaml` among the user's own. It is the only
file that is ever written here, and never in the project.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from interpose.config.load import load
from interpose.errors import PolicyError
from interpose.policy.load import Place, pack_names, pack_text, parsed, read
from interpose.policy.model import Level, Problem, Rule, RuleFile

ORGANISATION = "/etc/interpose/policy"
PROJECT = ".interpose/policy.yaml"
STATE = "packs.yaml"
DEFAULT_PACKS = ("baseline",)

_NOTHING = "version: 1\n"
_LONGEST = 4096
"""No system has longer paths."""
_HEAD = "# Written by `interpose policy enable` and `disable`. Rules of your own belong into files beside this one.\n"


class Pack(Struct, frozen=True):
    """A pack that comes with Interpose. `on` is the file that switches it on; empty if none does."""

    name: str
    summary: str
    rules: tuple[Rule, ...]
    on: str = ""
    level: Level | None = None


def user_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """Where a user's rules stand, as it is configured. Raises ConfigError."""
    return Path(load(environ=environ).config.policy.directory)


def standard_places(
    cwd: str = "", *, environ: Mapping[str, str] = os.environ, organisation: str = ORGANISATION
) -> tuple[Place, ...]:
    """The places whose rules hold for an agent that works in `cwd`. None of them has to be there."""
    files = [str(Path(at) / PROJECT) for at in _upwards(cwd or str(Path.cwd()))]
    return shared_places(str(user_directory(environ)), organisation=organisation) + project_places(files)


def shared_places(user: str, *, organisation: str = ORGANISATION) -> tuple[Place, ...]:
    """The places whose rules hold wherever an agent works: the organisation's, and the user's in this directory."""
    return (
        Place(organisation, Level.ORGANISATION, _NOTHING),
        Place(str(Path(user) / STATE), Level.USER, _state(DEFAULT_PACKS)),
        Place(user, Level.USER, _NOTHING),
    )


def project_places(files: Sequence[str]) -> tuple[Place, ...]:
    """The places of projects' rule files."""
    return tuple(Place(file, Level.PROJECT, _NOTHING) for file in files)


def project_files(cwd: str) -> tuple[str, ...]:
    """The project rule files that hold in `cwd`: its own, and those of every directory above it.

    INVARIANT: all of them, however deep, by its name and by where it really is. Or an agent could step into a directory
    or through a link of its own making and leave a project's rules.
    """
    return tuple(file for at in _upwards(cwd) if os.path.lexists(file := os.path.join(at, PROJECT)))  # noqa: PTH118 - a Path is ten times slower, and this is on the way of every call


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


def packs(places: Sequence[Place]) -> list[Pack]:
    """Every pack, and which file switches it on. Raises PolicyError."""
    switched: dict[str, RuleFile] = {}
    for text in read(places):
        file = parsed(text)
        for name, _ in file.packs:
            if name not in switched or file.level.rank > switched[name].level.rank:
                switched[name] = file
    found = [pack(name) for name in pack_names()]
    return [
        Pack(each.name, each.summary, each.rules, by.file, by.level) if (by := switched.get(each.name)) else each
        for each in found
    ]


def pack(name: str) -> Pack:
    """A pack as it is shipped. Raises PolicyError if there is none of this name."""
    known = pack_names()
    if name not in known:
        raise PolicyError((Problem("", 0, "", f"unknown pack {name!r}, expected one of {', '.join(known)}"),))
    text = pack_text(name)
    summary = text.text.partition("\n")[0].removeprefix("#").strip()
    return Pack(name, summary, parsed(text).rules)


def enabled(environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The packs that the user switched on. Raises PolicyError if the file that says so is broken."""
    (text,) = read([Place(str(user_directory(environ) / STATE), Level.USER, _state(DEFAULT_PACKS))])
    file = parsed(text)
    if file.rules or file.disable or file.judge:
        why = "expected nothing but `packs`: put rules of your own into a file beside this one"
        raise PolicyError((Problem(text.file, 1, "", why),))
    return tuple(name for name, _ in file.packs)


def switch(name: str, *, on: bool, environ: Mapping[str, str] = os.environ) -> bool:
    """Switch a pack on or off for this user. True if that changed something. Raises PolicyError and OSError."""
    pack(name)
    before = enabled(environ)
    after = tuple(dict.fromkeys((*before, name))) if on else tuple(other for other in before if other != name)
    if after == before:
        return False
    _write(user_directory(environ) / STATE, _state(after))
    return True


def _state(names: Sequence[str]) -> str:
    return f"{_HEAD}version: 1\npacks: [{', '.join(names)}]\n"


def _write(file: Path, text: str) -> None:
    """Replace a file whole: whoever reads it sees the old text or the new one, never a part."""
    file.parent.mkdir(parents=True, exist_ok=True)
    import tempfile  # only whoever switches packs writes, and it takes long to load

    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
