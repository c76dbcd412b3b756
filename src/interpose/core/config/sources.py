"""Where settings come from: files, the environment, flags. Each is read into `Setting`s, unknown names are problems."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from msgspec import Struct

from interpose.core.config.builtins import owners
from interpose.core.config.keys import INTERCEPTORS, OTHERS_PREFIX, PREFIX, Group, Key, Path, interceptor_group, tree
from interpose.core.config.places import DIRECTORY_VARIABLE
from interpose.core.config.problems import Problem, unknown
from interpose.core.config.settings import BUILTIN_INTERCEPTORS
from interpose.effects.late_patterns import late

MAX_BYTES = 1_000_000

NOT_CONFIGURATION = frozenset({DIRECTORY_VARIABLE, "INTERPOSE_CLIENT_ID", "INTERPOSE_LOUD_WIRE", "INTERPOSE_TOKEN"})
"""Variables of ours that are no keys."""

# A cluster that has a service named `interpose` puts these into every container.
_OF_A_CLUSTER = late(r"INTERPOSE_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)?)")


class Setting(Struct, frozen=True):
    """A key, what it is set to, and where."""

    key: Key
    value: Any
    where: str
    is_text: bool = False


Found = Setting | Problem


def from_file(file: FilePath, *, required: bool) -> Iterator[Found]:
    """The settings of a file. One that is not there says nothing, unless somebody asked for it."""
    try:
        text = _text(file)
    except FileNotFoundError:
        if required:
            yield Problem(str(file), "", "there is no such file")
        return
    except OSError as error:
        yield Problem(str(file), "", f"can't be read: {error.strerror}")
        return
    if isinstance(text, Problem):
        yield text
        return
    if not text.strip():
        return
    from interpose.core.formats.yaml_text import YamlError, read_yaml

    try:
        document = read_yaml(text)
    except YamlError as error:
        # A file whose every line is a comment says nothing; an empty one was dealt with above.
        if any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
            yield Problem(f"{file}:{error.line}", "", str(error))
        return
    yield from _DocumentWalk(str(file), document).group(tree(), document.data)


def _text(file: FilePath) -> str | Problem:
    """The text of a file that nobody else could have written."""
    handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as opened:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            return Problem(str(file), "", "expected a regular file")
        if about.st_uid not in (os.geteuid(), 0):
            return Problem(str(file), "", "belongs to another user, and is not read")
        if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return Problem(str(file), "", f"others can write it, and it is not read: chmod go-w {file}")
        data = opened.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        return Problem(str(file), "", f"the file is larger than {MAX_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return Problem(f"{file}:{line}", "", "expected UTF-8 text")


class _DocumentWalk:
    """One document beside the tree of keys."""

    def __init__(self, file: str, document: Any) -> None:
        self._file, self._document = file, document

    def group(self, group: Group, data: Any) -> Iterator[Found]:
        if data is None:
            return
        if not isinstance(data, dict):
            yield self._problem(group.path, f"expected a map of {', '.join(group.members)}")
            return
        for name, value in data.items():
            at = (*group.path, name)
            member = member_of(group, name)
            if isinstance(member, Key):
                yield Setting(member, value, self._where(at))
            elif isinstance(member, Group):
                yield from self.group(member, value)
            else:
                yield self._problem(at, member)

    def _where(self, path: Path) -> str:
        return f"{self._file}:{self._document.line_at(path)}"

    def _problem(self, path: Path, message: str) -> Problem:
        return Problem(self._where(path), ".".join(path), message)


def member_of(group: Group, name: str) -> Key | Group | str:
    """What a group has under a name, or why it has nothing."""
    if name in group.members:
        return group.members[name]
    if group.path == (INTERCEPTORS,):
        if not name.startswith("builtin:"):
            return interceptor_group(name)
        return unknown("interceptor", name, BUILTIN_INTERCEPTORS)
    if group.path[:1] == (INTERCEPTORS,) and (others := owners(name)):
        return f"unknown key {name!r} here, it is a setting of {' and '.join(others)}"
    return unknown("key", name, group.members)


def from_environment(environ: Mapping[str, str]) -> Iterator[Found]:
    """The settings of `INTERPOSE_...` variables, behind those of the names that others gave to the same keys."""
    ours = {name: text for name, text in environ.items() if name.startswith(PREFIX)}
    others: list[tuple[str, str, str]] = []
    if any(name.startswith(OTHERS_PREFIX) for name in environ):
        from interpose.core.config.maybe_dont_variables import maybe_dont_settings

        others = list(maybe_dont_settings(environ))
    if not ours and not others:
        return
    by_name = {key.name: key for key in tree().all_keys()}
    for name, text, variable in others:
        yield Setting(by_name[name], text, variable, is_text=True)
    by_variable = {key.variable: key for key in by_name.values()}
    for variable, text in ours.items():
        if variable in by_variable:
            yield Setting(by_variable[variable], text, variable, is_text=True)
        elif variable == DIRECTORY_VARIABLE and not text.startswith("/"):
            yield Problem(variable, "", f"expected an absolute path, got {text[:100]!r}")
        elif variable not in NOT_CONFIGURATION and not _OF_A_CLUSTER.fullmatch(variable):
            yield Problem(variable, "", unknown("variable", variable, (*by_variable, *NOT_CONFIGURATION)))


def from_flags(flags: Mapping[str, Any]) -> Iterator[Found]:
    """The settings of the command line, by key."""
    for name, value in flags.items():
        key = next((key for key in tree().all_keys() if key.name == name), None)
        if key is None:
            yield Problem("command line", "", unknown("key", name, (key.name for key in tree().all_keys())))
        else:
            yield Setting(key, value, "command line", is_text=isinstance(value, str))
