"""Where a path really leads: every spelling of it, with the links on the way.

`Lexical` only reads the text, for analysis that must not depend on the machine. `FileSystem` walks the real one. Both
answer with all spellings that have to be judged; neither raises, and neither remembers anything.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from typing import Protocol

from msgspec import Struct

from interpose.effects.paths.catalogue import could_match, is_wild
from interpose.effects.paths.persistence import persistence_of
from interpose.effects.paths.place import own_case
from interpose.effects.paths.readings import TooManyReadings, is_plain, readings
from interpose.effects.paths.resolve import resolve
from interpose.effects.paths.secret import secret_of
from interpose.effects.paths.tamper import tamper_of
from interpose.effects.systems import this_system

MAX_TEXT = 16_384
"""No system opens a longer path; four times what Linux takes."""
MAX_LINKS = 40
MAX_PARTS = 4_096
_MAX_ENTRIES = 2_048
_MAX_CONTENT = 256 * 1024
_MAX_MATCHES = 64

_OWN_PROCESS = frozenset({"self", "thread-self"})
_OWN_PLACES = ("/proc/self/", "/proc/thread-self/")

_KEEPERS = (
    ".ssh", ".aws", ".gnupg", ".docker", ".kube", ".config/gh", ".config/gcloud", ".config/interpose", ".claude",
    ".codex", "",
)  # fmt: skip
"""Directories of a home whose files are worth recognising under another name."""


class Trouble(Struct, frozen=True):
    """Why nobody can say where a path leads. `hopeless`: no system could open it either."""

    reason: str
    hopeless: bool = False


class Spellings(Struct, frozen=True):
    """All absolute spellings of one path, the plain one first, and what was in the way of finding more.

    `ends` are those among them that hold no links: where the path really lies. `is_direct`: the file system was walked,
    and no link was met on the way.
    """

    paths: tuple[str, ...]
    trouble: Trouble | None = None
    ends: tuple[str, ...] = ()
    is_direct: bool = False


class Lookup(Protocol):
    """How a path is looked up."""

    def spellings(self, text: str, *, cwd: str, home: str, workspace: str = "") -> Spellings:
        """Every path that `text` stands for when it is used in `cwd`. Never raises."""
        ...

    def content(self, path: str) -> str:
        """What a small file holds now; empty if that cannot be said. Never raises."""
        ...


class Lexical(Struct, frozen=True):
    """Reads the text alone."""

    def spellings(self, text: str, *, cwd: str, home: str, workspace: str = "") -> Spellings:  # noqa: ARG002 - no links
        """Every path that `text` could stand for on any machine."""
        trouble = _impossible(text)
        if trouble is not None:
            return Spellings((), trouble)
        if is_plain(text):
            plain = (resolve(text, cwd, home),)
            return Spellings(plain, ends=plain)
        try:
            read = readings(text, home)
        except TooManyReadings:
            return Spellings((resolve(text, cwd, home),), Trouble("it can be read in too many ways", hopeless=True))
        spelled = tuple(dict.fromkeys([resolve(reading, cwd, home) for reading in read]))
        return Spellings(spelled, ends=spelled)

    def content(self, path: str) -> str:  # noqa: ARG002 - it never looks
        """Nothing: only the text of the path is known."""
        return ""


_LEXICAL = Lexical()


class FileSystem(Struct, frozen=True):
    """Walks the file system of this machine, link by link. `ignores_case` as macOS and Windows do."""

    ignores_case: bool = this_system().ignores_case

    def spellings(self, text: str, *, cwd: str, home: str, workspace: str = "") -> Spellings:
        """Every path that `text` stands for, where its links lead included."""
        said = _LEXICAL.spellings(text, cwd=cwd, home=home)
        if said.trouble is not None:
            return said
        found = dict.fromkeys(said.paths)
        ends = dict.fromkeys(path for path in said.paths if path[:1] != "/")
        trouble: Trouble | None = None
        is_direct = True
        for start in _starts(text, said.paths, cwd):
            steps, info, stuck = _walk(start)
            trouble = trouble or stuck
            if steps != [start] or start not in found:
                is_direct = False
                steps = _seen_from_here(steps, cwd, home, workspace)
                found |= dict.fromkeys(steps)
            if steps and not steps[-1].startswith(_OWN_PLACES):
                ends[steps[-1]] = None
            else:
                is_direct = False
            if info is not None and info.st_nlink > 1 and stat.S_ISREG(info.st_mode):
                found |= dict.fromkeys(_twins(info, cwd, home))
        if self.ignores_case:
            ends = dict.fromkeys([own_case(path, workspace, home, cwd) for path in ends])
            found |= dict.fromkeys([own_case(path, workspace, home, cwd) for path in found])
        return Spellings(tuple(found), trouble, tuple(ends), is_direct and trouble is None)

    def content(self, path: str) -> str:
        """What a regular file holds now, if it is not too large to be read in passing."""
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - a pipe must not be opened
                return ""
            with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - beside the os calls
                return file.read(_MAX_CONTENT)
        except (OSError, ValueError):
            return ""


def _impossible(text: str) -> Trouble | None:
    if "\0" in text:
        return Trouble("it holds a NUL character", hopeless=True)
    if len(text) > MAX_TEXT:
        return Trouble(f"it is longer than {MAX_TEXT} characters", hopeless=True)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return Trouble("it holds half of a surrogate pair, which is no character", hopeless=True)
    return None


def _starts(text: str, paths: tuple[str, ...], cwd: str) -> list[str]:
    """Where to start walking: each lexical spelling, and the text as the system itself would take it.

    The two differ where `..` follows a link: a tool may drop the pair first, the system follows the link.
    """
    if len(paths) == 1 and is_plain(text) and paths[0][:1] == "/":
        return [paths[0]]
    starts = dict.fromkeys(path for path in paths if path[:1] == "/")
    starts[posixpath.join(cwd, text)] = None
    if text[:1] == "~" and text[1:2] not in ("", "/"):
        starts[posixpath.expanduser(text)] = None
    for path in tuple(starts):
        if is_wild(path):
            starts |= dict.fromkeys(_matches(path))
    return [start for start in starts if start[:1] == "/"]


def _walk(path: str) -> tuple[list[str], os.stat_result | None, Trouble | None]:
    """Where `path` leads: a spelling for each link on the way, the last one, what lies there, what was in the way.

    What does not exist yet keeps its name: a file is judged before its directory is made.
    """
    pending = path.split("/")
    if len(pending) > MAX_PARTS:
        return [], None, Trouble(f"it has more than {MAX_PARTS} parts", hopeless=True)
    pending.reverse()
    steps: list[str] = []
    info: os.stat_result | None = None
    trouble: Trouble | None = None
    at, links, exists = "", 0, True
    while pending:
        part = pending.pop()
        if not part or part == ".":
            continue
        if part == "..":
            at, exists = at.rpartition("/")[0], True
            continue
        here = f"{at}/{part}"
        if at == "/proc" and part in _OWN_PROCESS:
            # This process is not the one that will open the path, but its root is the same.
            if pending[-1:] == ["root"]:
                pending.pop()
                at = ""
                continue
            steps.append("/".join([here, *reversed(pending)]))
            return steps, None, trouble
        info = None
        if exists:
            try:
                info = os.lstat(here)
            except OSError as error:
                exists = False
                trouble = trouble or _trouble(error)
            except ValueError:
                return steps, None, Trouble("it lies in a directory whose name no system takes", hopeless=True)
        if info is None or not stat.S_ISLNK(info.st_mode):
            at = here
            continue
        links += 1
        if links > MAX_LINKS:
            return steps, None, Trouble("its links lead in a circle", hopeless=True)
        target = _target(here)
        if isinstance(target, Trouble):
            return steps, None, target
        pending.extend(reversed(target.split("/")))
        if len(pending) > MAX_PARTS:
            return steps, None, Trouble("its links never end", hopeless=True)
        if target[:1] == "/":
            at = ""
        steps.append(posixpath.normpath(f"/{'/'.join([at, *reversed(pending)]).lstrip('/')}"))
    steps.append(at or "/")
    return steps, info, trouble


def _seen_from_here(steps: list[str], cwd: str, home: str, workspace: str) -> list[str]:
    """Real paths as the context would say them: a workspace or a home that is itself a link keeps its own name."""
    known = {real: place for place in (home, workspace) if place[:1] == "/" for real in _walk(place)[0][-1:]}
    seen: list[str] = []
    for step in steps:
        place = next((place for place in known if step.startswith(f"{place}/") and not _is_special(place, home)), None)
        seen.append(known[place] + step[len(place) :] if place is not None else resolve(step, cwd, home))
    return seen


def _is_special(place: str, home: str) -> bool:
    """Whether all that lies in a directory means something, so that no other name may take its place."""
    inside = f"{place}/x"
    return any(mark_of(inside, home) is not None for mark_of in (secret_of, persistence_of, tamper_of))


def _target(link: str) -> str | Trouble:
    try:
        return os.readlink(link)  # noqa: PTH115 - texts in, texts out
    except OSError as error:
        # The kernel shows the root of another user's process to nobody; it is `/` unless that runs in a container.
        return "/" if link.startswith("/proc/") and link.endswith("/root") else _trouble(error) or link


def _trouble(error: OSError) -> Trouble | None:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return None
        case errno.EACCES | errno.EPERM:
            return Trouble("nobody here may look at it")
        case errno.ELOOP:
            return Trouble("its links lead in a circle", hopeless=True)
        case errno.ENAMETOOLONG:
            return Trouble("it is longer than the file system takes", hopeless=True)
        case _:
            return Trouble(f"looking at it failed ({os.strerror(error.errno or 0)})")


def _matches(pattern: str) -> list[str]:
    """Names that a pattern could stand for, as many as can be looked at quickly. `**` counts as one level."""
    found = [""]
    entries = 0
    for part in pattern.split("/")[1:]:
        if not is_wild(part):
            found = [f"{base}/{part}" for base in found]
            continue
        matched: list[str] = []
        for base in found:
            for entry in _entries(base or "/"):
                entries += 1
                if could_match(part, entry.name):
                    matched.append(f"{base}/{entry.name}")
                if entries > _MAX_ENTRIES or len(matched) > _MAX_MATCHES:
                    return matched
        found = matched
    return found


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return [entry for entry, _ in zip(entries, range(_MAX_ENTRIES), strict=False)]
    except (OSError, ValueError):
        return []


def _twins(info: os.stat_result, cwd: str, home: str) -> list[str]:
    """Well-known files that are this very file under another name: a hard link."""
    places = [f"{home}/{keeper}".rstrip("/") for keeper in _KEEPERS] + [cwd, f"{cwd}/.git/hooks", "/etc"]
    return [
        entry.path
        for place in dict.fromkeys(places)
        for entry in _entries(place)
        if entry.inode() == info.st_ino and _device(entry) == info.st_dev
    ]


def _device(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_dev
    except OSError:
        return -1
