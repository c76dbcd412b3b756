"""What belongs to Interpose itself: its keys and state, its settings, its installed package.

One table for every surface. It holds the usual places under any home, since nobody can say whose a command means, and
the real ones of this process (`hold`), wherever they were moved to.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

from msgspec import Struct

from interpose.effects.late_patterns import late
from interpose.effects.paths.catalogue import Catalogue, Mark, could_match, is_wild, says_enough
from interpose.effects.paths.resolve import UNKNOWN, is_home
from interpose.effects.systems import MACOS

_PRIVATE = Mark("holds keys, tokens or records of the guard itself", ours=True, private=True)
_SETTINGS = Mark("is configuration of the guard itself", ours=True)
_PACKAGE = Mark("is the installed program of the guard itself", "soft", ours=True)  # honest work reads it

_RULES = Catalogue({
    _SETTINGS: """
        .config/interpose/policy/ .config/interpose/policies/ .config/interpose/policy.yaml
        library/preferences/interpose/policy/ library/preferences/interpose/policy.yaml
    """
})  # fmt: skip
"""What lies among our keys and may be read all the same: by who writes new rules."""
_OURS = Catalogue(
    {
        _PRIVATE: """
            .config/interpose/ .local/state/interpose/ .local/share/interpose/ .cache/interpose/ /var/lib/interpose/
            library/application%20support/interpose/ library/preferences/interpose/ /run/interpose/
            /run/user/*/interpose/ /etc/interpose/tokens
            /var/run/interpose/ /var/run/user/*/interpose/ .config/interpose/interpose.yaml interpose/tokens
            interpose/ledger/ledger.db interpose/ledger.db interpose/run/hook.addr
        """,
        _SETTINGS: """
            .interpose/ /etc/interpose/ interpose.toml interpose.yaml .interpose.toml .interpose.yaml interpose.service
            interpose.socket com.interpose.plist
        """,
        _PACKAGE: """
            site-packages/interpose/ dist-packages/interpose/ pipx/venvs/interpose/ uv/tools/interpose/
            bin/interpose
        """,
    }
)
_IN_PACKAGES = frozenset({"site-packages", "dist-packages"})
_KEEPERS = ("/.config", "/.local/state", "/.local/share", "/.local")
"""Directories of a home in which our own lie. Who moves one of them away moves ours along."""
_PARENTS = ("/.config", "/.local/state", "/.local/share", "/library/application support", "/library/preferences")
"""Directories of a home that ours lie in directly, among those of other programs."""
_BESIDE = Mark("is a directory in which files of the guard itself lie", ours=True)
_ABOVE = Mark("is above directories in which files of the guard itself lie")
_OF_HOMES = frozenset({"/home", "/Users"})
"""Directories in which the homes of users are."""
_TEMPORARY = frozenset({"/tmp", "/var/tmp"})  # noqa: S108 - nothing is written there
_CROWDED = frozenset({".config", "state", "share"})
_TELLING = frozenset(
    {"tokens", "approvals.key", "passphrase", "ledger.db", "hook.addr", "api.sock", "hook.sock", "interpose.yaml"}
)
"""Names of our files that say whose directory is meant by a pattern before them."""
_REACHED = (_TELLING - {"interpose.yaml"}) | {"operator.key", "key", "agents", "uses", "time"}
"""Names of our private files, those included that others use as well. `*.yaml` is honest work."""
_PLANTED = _TELLING | {"operator.key", "rules", "policy.yaml"}
"""Names of our files that somebody would put another in the place of."""
_OUR_DIRECTORIES = tuple(
    (*keeper.split("/"), "interpose")
    for keeper in (".config", ".local/state", ".local/share", MACOS.config.lower(), MACOS.state.lower())
)
"""Our directories below a home, among those of other programs."""

_MENTIONED = late(
    r"(?:\.config|\.local/(?:state|share)|/run|/run/user/\d+)/interpose\b"
    r"|Library/(?:Preferences|Application\\? Support)/interpose\b|interpose/(?:tokens|ledger|operator)"
    r"|\.config['\"]\s*[,/+]\s*['\"]/?interpose|state['\"]\s*[,/+]\s*['\"]/?interpose"
    r"|/api/v1/(?:approvals/[^\s'\"]{1,200}/(?:approve|deny|defer)|approvals/batch|pins/[^\s'\"]{1,200}/(?:approve|forget)"
    r"|grants|notifications\b|pause\b|bypasses|operator/hand-overs|sessions/[^\s'\"]{1,200}/(?:halt|lift))|(?:site|dist)-packages/interpose/"
    r"|\binterpose\.(?:cli|proof|approvals|pins|config|install|server|service|store|__main__)\b"
    r"|\binterpose\.policy\.(?:own_rules|pack_catalogue|startup_memory)\b"
    r"|\bfrom\s+interpose(?:\.policy)?\s+import\s+(?:[\w ,]{0,200}|\([\w\s,]{0,200})"
    r"\b(?:__main__|cli|install|own_rules|pack_catalogue|pins|proof|startup_memory)\b"
    r"|(?<![\w.-])interpose['\", ]{1,8}(?:approvals['\", ]{1,8}(?:approve|deny|watch)\b"
    r"|grants['\", ]{1,8}(?:add|revoke)\b"
    r"|operator['\", ]{1,8}[a-z]|sessions?['\", ]{1,8}(?:halt|lift)\b|pins['\", ]{1,8}approve\b|uninstall\b"
    r"|policy['\", ]{1,8}(?:disable|enable)\b)"
    r"|\brun_module\(\s*['\"]interpose\b|\bentry_points\b[^\n]{0,120}\binterpose\b|['\"]interpose\.['\"]",
    re.IGNORECASE,
)


class Holdings(Struct, frozen=True):
    """The real places of this process.

    `private` gives power to who reads it. `kept` is the program and `readable` are the rules: both must only not be
    changed.
    """

    private: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    readable: frozenset[str] = frozenset()
    ports: frozenset[int] = frozenset({8080})
    databases: frozenset[str] = frozenset()
    processes: frozenset[int] = frozenset()
    environment: frozenset[str] = frozenset()
    """Places of the environment that the guard runs in. What of them is protected is looked up when a path is there."""


_held = Holdings()


def held() -> Holdings:
    """What this process holds besides the usual places."""
    return _held


def hold(
    *,
    private: Iterable[str] = (),
    kept: Iterable[str] = (),
    readable: Iterable[str] = (),
    ports: Iterable[int] = (),
    databases: Iterable[str] = (),
    processes: Iterable[int] = (),
    environment: Iterable[str] = (),
) -> None:
    """Protect these as well, as long as the process lives.

    INVARIANT: places are only added. No configuration that is loaded later can give one up.
    """
    global _held  # noqa: PLW0603 - what belongs to us is a fact about the machine, not about one engine
    before = _held
    after = Holdings(
        before.private | _spelled(private),
        before.kept | _spelled(kept),
        before.readable | _spelled(readable),
        before.ports | {port for port in ports if port},
        before.databases | frozenset(name.lower() for name in databases if name),
        before.processes | frozenset(processes),
        before.environment | _spelled(environment),
    )
    if after != before:
        _held = after


def environment_places() -> list[str]:
    """Where files lie that this process runs with. Which of them are protected is looked up when a path leads there."""
    return [
        *([sys.prefix] if sys.prefix != sys.base_prefix else []),
        *(place for place in sys.path if place.endswith(("/site-packages", "/dist-packages"))),
        os.path.realpath(sys.executable),
        f"{sys.base_prefix}/bin",
        posixpath.dirname(os.__file__),
    ]


def _spelled(places: Iterable[str]) -> frozenset[str]:
    """Absolute places as they are named and as they lie on disk, in the case in which paths are compared."""
    named = [posixpath.normpath(place) for place in places if place.startswith("/") and place.strip("/")]
    return frozenset(path.lower() for place in named for path in (place, os.path.realpath(place)) if path != "/")


def ours_of(path: str) -> Mark | None:
    """What of ours a resolved path is, or None."""
    folded = path.lower()
    own = _held
    elsewhere = own.private or own.kept or own.readable or own.environment
    if not elsewhere and "interpose" not in folded and not is_wild(folded):
        return None
    folded = folded.rstrip("/")
    if elsewhere:
        # Rules lie among the keys: which of the two a file is does not depend on what this process holds.
        if _is_below(folded, own.readable) or _RULES.find(folded.split("/")) is not None:
            return _SETTINGS
        if _is_below(folded, own.private):
            return _PRIVATE
        if _is_below(folded, own.kept):
            return _PACKAGE
    found = _by_name(folded) if "interpose" in folded or is_wild(folded) else None
    if found is not None or not own.environment or not _is_below(folded, own.environment):
        return found
    from interpose.effects.paths.environment import environment_part_of  # few calls name it

    return environment_part_of(folded)


def _by_name(folded: str) -> Mark | None:
    parts = folded.split("/")
    if is_wild(folded):
        return _OURS.find_wild(parts) or _by_pattern(parts)
    return _find(parts)


def _find(parts: list[str]) -> Mark | None:
    found = _RULES.find(parts) or _OURS.find(parts)
    if found is None and any(
        name.startswith("interpose-") and parent in _IN_PACKAGES for parent, name in pairwise(parts)
    ):
        return _PACKAGE  # what pip wrote down about it
    return found


def _by_pattern(parts: list[str]) -> Mark | None:
    """`~/.config/*/tokens`, `$WHERE/interpose/tokens`: what a part that says nothing by itself could stand for."""
    name = parts[-1]
    for index, part in enumerate(parts[:-1]):
        following = parts[index + 1]
        if part in _CROWDED and is_wild(following) and could_match(following, "interpose") and name in _TELLING:
            return _PRIVATE
        if part == UNKNOWN and following == "interpose" and index + 2 < len(parts):
            return _PRIVATE if name in _TELLING else _PACKAGE
    return None


def mentions_ours(text: str) -> bool:
    """Whether a program text names our keys, our package or an answer to our questions, in whatever way it is used."""
    return ("interpose" in text.lower() or "/api/v1/" in text) and _MENTIONED.search(text) is not None


def is_one_name(text: str) -> bool:
    """Whether a text is nothing but a name or a path: prose and programs have blanks, and so has one place of a Mac."""
    bare = text.replace("Application Support", "")
    return bare != "" and bare.split() == [bare]


def is_certain(path: str) -> bool:
    """Whether a path with unknown parts is ours whatever they are: `~/.config/interpose/$NAME`."""
    known = path.partition(UNKNOWN)[0]
    return known == path or ours_of(known.rpartition("/")[0] or "/") is not None


def holds_ours(path: str, home: str, *, reading: bool = False) -> bool:
    """Whether ours lies somewhere below a directory: who takes it away takes ours along, who reads all of it, too.

    Homes and what is above them are not meant: rules about whole trees speak about those. Reading counts only for the
    directories in which ours usually lies: a place that was moved may be below the project that is searched.
    """
    folded = path.lower().rstrip("/")
    if f"{home.lower().rstrip('/')}/".startswith(f"{folded}/"):
        return False
    if not reading and is_runtime_directory(folded.removesuffix("/*")):
        return True
    if any(folded.endswith(keeper) and is_home(path.rstrip("/")[: -len(keeper)], home) for keeper in _KEEPERS):
        return True
    return not reading and any(
        place.startswith(f"{folded}/") for place in (*_held.private, *_held.kept, *_held.readable)
    )


def is_runtime_directory(path: str) -> bool:
    """Whether it is the directory in which the sockets of a user's programs lie, or one of all users'."""
    parts = path.removeprefix("/var").rstrip("/").split("/")
    return parts[:3] == ["", "run", "user"] and len(parts) < 5


def is_above_ours(path: str, home: str) -> bool:
    """Whether a directory is a home, or above one: who copies all of it copies our keys."""
    whole = path.rstrip("/")
    return path[:1] == "/" and (
        whole in _OF_HOMES or is_home(whole, home) or f"{home.rstrip('/')}/".startswith(f"{whole}/")
    )


def holds_environment(path: str, home: str) -> Mark | None:
    """What of the environment that the guard runs in lies below a directory that is taken away, or None.

    Homes and what is above them are not meant, as with `holds_ours`.
    """
    if f"{home.lower().rstrip('/')}/".startswith(f"{path.lower().rstrip('/')}/"):
        return None
    from interpose.effects.paths.environment import (  # only who removes or moves trees asks
        environment_below,
        tools_below,
    )

    return (environment_below(path) if _held.environment else None) or tools_below(path, home)


def installs_into_ours(path: str, cwd: str) -> Mark | None:
    """Why installing packages with the program at this path changes what the guard runs with, or None."""
    mark = ours_of(path)
    if (mark is not None and mark.ours) or not _held.environment:
        return mark
    from interpose.effects.paths.environment import installs_into  # only who installs packages asks

    return installs_into(path, cwd)


def found_in_environment(name: str, search_path: str) -> str:
    """The program of the guard's own environment that a bare name stands for on a search path; empty if it is none."""
    if not _held.environment or not names_environment(search_path.lower()):
        return ""
    from interpose.effects.paths.environment import own_program  # only who installs packages asks

    return own_program(name, search_path)


def names_environment(folded: str) -> bool:
    """Whether a text in lower case names a place in the virtual environment that the guard runs in."""
    return bool(_held.environment) and any(root in folded for root in _roots())


def is_running_program(path: str) -> bool:
    """Whether a path is that of a program in the virtual environment that the guard runs in."""
    return path.lower().rpartition("/")[0] in {f"{root}/bin" for root in _roots()}


@cache
def _roots() -> frozenset[str]:
    return _spelled([sys.prefix] if sys.prefix != sys.base_prefix else [])


def planted_in(path: str, home: str) -> Mark | None:
    """What of ours could come from a tree that is put into a directory while nobody knows the names in it, or None.

    The mark is `ours` where our directories lie directly: nothing else is between the tree and them. In a home and
    above it most trees are honest. A path with a pattern (`~/.config/*`) stands for the names that fit it.
    """
    folded = path.lower().rstrip("/")
    if is_wild(folded):
        parts = folded.split("/")
        first = next(index for index, part in enumerate(parts) if is_wild(part))
        parent = "/".join(path.split("/")[:first])
        if not _lies_beside(parent.lower(), parent, home) or not _could_name(parts[first], "interpose"):
            return None
        return _ABOVE if parts[first] == UNKNOWN else _BESIDE
    if _lies_beside(folded, path.rstrip("/"), home):
        return _BESIDE
    if f"{home.lower().rstrip('/')}/".startswith(f"{folded}/") or is_home(path.rstrip("/"), home):
        return _ABOVE
    if folded.endswith("/.local") and is_home(path.rstrip("/")[: -len("/.local")], home):
        return _ABOVE
    moved = folded not in _TEMPORARY and any(place.startswith(f"{folded}/") for place in _held.private)
    if moved or not _is_below(folded, _held.environment):
        return _ABOVE if moved else None
    from interpose.effects.paths.environment import planted_in_environment  # few calls name it

    return planted_in_environment(folded)


def _lies_beside(folded: str, path: str, home: str) -> bool:
    """Whether our directories lie in this very directory: in the usual one, or where this process has its own."""
    return any(folded.endswith(parent) and is_home(path[: -len(parent)], home) for parent in _PARENTS) or any(
        place == f"{folded}/interpose" for place in (*_held.private, *_held.kept, *_held.readable)
    )


def could_plant_ours(path: str, home: str) -> Mark | None:
    """Whether what a search found by this name, below the directory before it, could be a file of ours: see above."""
    base, _, name = path.rpartition("/")
    name = name.lower()
    if name not in _PLANTED and not (is_wild(name) and any(could_match(name, planted) for planted in _PLANTED)):
        return None
    mark = planted_in(base or "/", home)
    return _ABOVE if mark is not None and is_wild(name) and not says_enough(name) else mark


def could_find_ours(path: str, home: str) -> bool:
    """Whether a search below a directory could have found one of our files: `find ~ -name tokens`."""
    base, _, name = path.rpartition("/")
    name = name.lower()
    if holds_ours(base, home, reading=True) and _fits_file(name):
        return True
    if name not in _TELLING and not (says_enough(name) and any(could_match(name, telling) for telling in _TELLING)):
        return False
    return f"{home}/".startswith(f"{base}/") or is_home(base, home) or holds_ours(base, home, reading=True)


def could_be_ours(path: str, home: str, *, whole: bool = False) -> bool:
    """Whether a pattern could stand for one of our private files, however little it says: `~/.config/*/*`.

    `whole`: whether it is used with all that lies below, so that it is enough to stand for our directory.
    """
    if not is_wild(path):
        return False
    parts = path.rstrip("/").split("/")
    # A home may be a pattern, too: `/home/*/.config/*/*`. Only so few lengths are looked at: paths can be very long.
    return any(
        is_home("/".join(parts[:index]), home) and _reaches(parts[index:], directory, whole)
        for index in {2, 3, home.rstrip("/").count("/") + 1}
        if index < len(parts)
        for directory in _OUR_DIRECTORIES
    ) or any(_reaches(parts[1:], place, whole) for place in _moved_places(home))


def _moved_places(home: str) -> list[tuple[str, ...]]:
    """The parts of the real places of this process that are not among the usual ones."""
    below = f"{home.lower()}/"
    return [
        tuple(place.strip("/").split("/"))
        for place in _held.private
        if not (place.startswith(below) and tuple(place[len(below) :].split("/")) in _OUR_DIRECTORIES)
    ]


def _reaches(parts: list[str], directory: tuple[str, ...], whole: bool) -> bool:
    """Whether a pattern could stand for a private file in this directory, or for the directory and what is in it."""
    for index, name in enumerate(directory):
        if index == len(parts):
            return False  # what is above our directory: `holds_ours` speaks about that
        part = parts[index].lower()
        if part == "**":
            return _fits_file(parts[-1].lower())
        if part != name and not (is_wild(part) and _could_name(part, name)):
            return False
    return whole if len(parts) == len(directory) else _fits_file(parts[-1].lower())


def _fits_file(part: str) -> bool:
    return any(part == name or (is_wild(part) and could_match(part, name)) for name in _REACHED)


def _could_name(part: str, name: str) -> bool:
    """Whether a pattern could match; a shell's `*` matches no leading dot, an unknown part is anything."""
    return (name[0] != "." or part[0] in (".", "[", UNKNOWN)) and could_match(part, name)


def could_list_ours(path: str, home: str) -> bool:
    """Whether names that are listed below a path could be those of our private files."""
    own = ours_of(path)
    return (own is not None and own.private) or could_be_ours(path, home, whole=True)


def _is_below(path: str, places: frozenset[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)
