"""Which switches are off in the files that count for a directory, or would be in a text that somebody wants to write.

An agent takes what it can of a file: comments, trailing commas, a key twice. So does this. What nobody can read is
said, too. Nothing is raised.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from msgspec import Struct

from interpose.effects.agents.agent import Level, SettingsFile
from interpose.effects.agents.off_switches import SWITCHES, OffSwitch, is_off

SYSTEM = Path("/")
"""Where the managed settings of a machine begin. Tests have a machine of their own."""

_LARGEST = 256 << 10
_MOST_PARTS = 64
"""Of a dotted key: each is looked up from the beginning, so that many take very long."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2}))")
_MOST_FILES = 64
_MOST_PARENTS = 40
_TOKENS = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\r\n]*+|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*+[}\]])', re.DOTALL)


class FoundSwitch(Struct, frozen=True, kw_only=True):
    """A switch that is off in a file, or a file that can't be read: then there is no `key`."""

    host: str
    path: str
    level: Level
    key: str = ""
    value: str = ""
    means: str = ""
    problem: str = ""
    outlived: bool = False
    """Whether hooks in the host's managed settings run all the same."""
    replaces: bool = False
    """Whether it is the file as a whole, which the host reads in the place of the user's."""

    @property
    def text(self) -> str:
        """What a person should know, and do."""
        if self.problem:
            return f"{self.path} can't be read ({self.problem}): nobody can say whether it switches hooks off"
        who = {"managed": "an administrator wrote it", "user": "your own file", "project": "the project brings it",
               "local": "for this project only, and a repository can bring it"}[self.level]  # fmt: skip
        if self.replaces:
            return f"{self.path} ({who}) has {self.value}: {self.means}. Run `interpose install {self.host} --project`"
        return f"{self.path} ({who}) has {self.key} = {self.value}: {self.means}. Take that key out"


def found_switches(
    directory: Path, *, host: str = "", levels: Iterable[Level] = (), environ: Mapping[str, str] = os.environ
) -> list[FoundSwitch]:
    """All switches that are off for an agent that works in this directory; of one host, or of all."""
    found: dict[tuple[str, str, str], FoundSwitch] = {}
    wanted = frozenset(levels)
    for switch in SWITCHES:
        if host in ("", switch.host):
            for file in switch.files:
                if not wanted or file.level in wanted:
                    for path in _paths(file, directory, environ):
                        for each in _in_file(switch, file, path):
                            found.setdefault((each.host, each.path, each.key), each)
    return list(found.values())


def switched_off_by(path: str, text: str) -> FoundSwitch | None:
    """The switch that a file would turn off if it had this text. `path` is absolute; the text may be a part of it."""
    text, plain = text.removeprefix("\ufeff"), ""
    for switch in SWITCHES:
        for file in switch.files:
            if is_such_file(file, path):
                if len(text) > _LARGEST:  # nobody's settings are so long, and padding must hide nothing
                    return _found(switch, file, path, "hidden in a text that is too long")
                if not switch.fact.key:
                    continue  # whoever changes such a file is asked, whatever he writes there
                for each in _in_text(switch, file, path, text):
                    if each.key:
                        return each
                plain = plain or _unescaped(text)  # a part can't be parsed, and neither can what is made so
                if _mentioned(switch, plain):
                    return _found(switch, file, path, "off")
    return None


def _unescaped(text: str) -> str:
    """The text without comments, and letters in the place of their codes."""
    letters = _ESCAPE.sub(lambda found: _letter(int(found[1] or found[2] or found[3], 16)), text)
    return _TOKENS.sub(lambda found: found[1] or " ", letters)


def _letter(code: int) -> str:
    return chr(code) if code < 0x110000 else "?"


def is_such_file(file: SettingsFile, path: str) -> bool:
    """Whether a path could be this file of some user or project."""
    wanted = file.path.removeprefix("~/").lower().split("/")
    if wanted[0] == "":
        return fnmatchcase(path.lower(), file.path.lower())
    parts = path.lower().rstrip("/").split("/")[-len(wanted) :]
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def names_switch(text: str) -> bool:
    """Whether a text names a switch, be it in a program that nobody here can run."""
    return _SPOKEN.search(text) is not None


def _telling(key: tuple[str, ...]) -> Iterator[str]:
    """The parts of a key that speak of hooks. The bare word is in much honest text: it needs the part before it."""
    for before, part in zip(("", *key), key, strict=False):
        if part != "hooks" and "hook" in part.lower():
            yield re.escape(part)
        elif part == "hooks" and before:
            yield rf"{re.escape(before)}\W{{0,4}}hooks\b"


_SPOKEN = re.compile("|".join(dict.fromkeys(word for each in SWITCHES for word in _telling(each.fact.key))))


def _mentioned(switch: OffSwitch, text: str) -> bool:
    """Whether a part of a file (what an edit puts in) has the last key with a value that switches off."""
    if len(switch.fact.key) > 1 and switch.fact.key[0] not in text:
        return False
    last = re.escape(switch.fact.key[-1])
    match switch.fact.off:
        case "true":
            return re.search(rf'{last}["\']?\s*+[:=]\s*+["\']?(?:true|[1-9])', text) is not None
        case "false":
            return re.search(rf'{last}["\']?\s*+[:=]\s*+["\']?(?:false|0)\b', text) is not None
        case _:
            return False


def _paths(file: SettingsFile, directory: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    named = environ.get(file.named_by, "") if file.named_by else ""
    if named.startswith("/"):
        yield Path(named)
    elif file.path.startswith("/"):
        yield from _matching(SYSTEM / file.path[1:])
    elif file.path.startswith("~/"):
        moved = environ.get(file.moved_by, "") if file.moved_by else ""
        if moved.startswith("/"):
            yield from _matching(Path(moved + file.path.removeprefix(file.root)))
        elif environ.get("HOME", "").startswith("/"):
            yield from _matching(Path(environ["HOME"]) / file.path[2:])
    else:
        for place in _upwards(directory) if file.upwards else (directory,):
            yield from _matching(place / file.path)


def _upwards(directory: Path) -> list[Path]:
    """A directory and those above it, to the root of its repository; alone, if it is in none."""
    places: list[Path] = []
    for place in (directory, *directory.parents)[:_MOST_PARENTS]:
        places.append(place)
        if os.path.lexists(place / ".git"):
            return places
    return [directory]


def _matching(path: Path) -> list[Path]:
    if "*" not in path.name:
        return [path]
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry, _ in zip(entries, range(2000), strict=False)]
    except OSError:
        return []
    return [path.parent / name for name in sorted(names) if fnmatchcase(name, path.name)][:_MOST_FILES]


def _in_file(switch: OffSwitch, file: SettingsFile, path: Path) -> Iterator[FoundSwitch]:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        yield _unread(switch, file, str(path), error.strerror or "it can't be opened")
        return
    with os.fdopen(handle, "rb") as opened:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
            yield _unread(switch, file, str(path), "it is no ordinary file of settings")
            return
        text = opened.read(_LARGEST).decode("utf-8-sig", "replace")
    yield from _in_text(switch, file, str(path), text)


def _in_text(switch: OffSwitch, file: SettingsFile, path: str, text: str) -> Iterator[FoundSwitch]:
    if switch.fact.key and switch.fact.key[-1] not in text and "*" not in switch.fact.key and "\\" not in text:
        return
    try:
        data = _toml(text) if file.form == "toml" else _json(text)
    except (ValueError, RecursionError) as error:
        yield _unread(switch, file, path, f"line {getattr(error, 'lineno', '?')}: {getattr(error, 'msg', error)}")
        return
    for value in _values(data, switch.fact.key):
        if is_off(switch.fact, value):
            yield _found(
                switch, file, path, json.dumps(value) if isinstance(value, bool) else _SPOKEN_OFF[switch.fact.off]
            )
            return


def _json(text: str) -> Any:
    plain = _TOKENS.sub(lambda found: found[1] or " ", text)
    plain = _TRAILING.sub(lambda found: found[1] or "", plain)
    return json.loads(
        plain, object_pairs_hook=_Pairs, strict=False, parse_int=str
    )  # long numbers are no reason to stop


def _toml(text: str) -> Any:
    import tomllib

    if any(line.partition("=")[0].count(".") > _MOST_PARTS for line in text.splitlines()):
        raise ValueError(f"a key has more than {_MOST_PARTS} parts")
    return tomllib.loads(text)


class _Pairs(list[tuple[str, Any]]):
    """An object as it is written: with every member, also where two have the same name."""


def _values(data: Any, key: tuple[str, ...]) -> Iterator[Any]:
    if not key:
        yield _plain(data)
        return
    members = data if isinstance(data, _Pairs) else data.items() if isinstance(data, dict) else ()
    for name, value in members:
        if key[0] in ("*", name):
            yield from _values(value, key[1:])


def _plain(data: Any) -> Any:
    if isinstance(data, _Pairs):
        return {name: _plain(value) for name, value in data}
    return [_plain(value) for value in data] if isinstance(data, list) else data


_SPOKEN_OFF = {
    "true": "true",
    "false": "false",
    "ours": "a list with ours",
    "not-ours": "a list without ours",
    "nowhere-ours": "no hook of ours",
}
"""INVARIANT: what is said of a value are words of ours. Agents read it, and the file may be a stranger's."""


def _found(switch: OffSwitch, file: SettingsFile, path: str, value: str) -> FoundSwitch:
    return FoundSwitch(
        host=switch.host, path=path, level=file.level, key=switch.fact.spoken, value=value, means=switch.fact.means,
        outlived=file.level in switch.fact.outlived_in, replaces=not switch.fact.key,
    )  # fmt: skip


def _unread(switch: OffSwitch, file: SettingsFile, path: str, problem: str) -> FoundSwitch:
    return FoundSwitch(host=switch.host, path=path, level=file.level, problem=problem)
