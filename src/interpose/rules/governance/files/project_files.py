"""Looking at the files of a project: whether some exist, and what its state file says. Bounded, and never outside it.

INVARIANT: nothing outside the project is looked at, neither by `..` nor through links. What lies there could be made by
anybody, and whether it exists is none of an agent's business.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

from interpose.core.errors import text_of
from interpose.core.formats.strict_json import StrictJsonError, decode
from interpose.rules.governance.chains.prerequisites import FittingFile, StateContent, glob_problem
from interpose.rules.governance.roles.name_patterns import fits, is_glob

MOST_ENTRIES = 20_000
MOST_SECONDS = 0.5
MOST_STATE_BYTES = 1_000_000
_DEEPEST = 40
_SKIPPED = frozenset({".git", "node_modules"})
"""Directories that `**` does not go into: nothing that somebody wrote for others lies there."""


class _LookEndedError(Exception):
    """The look has taken all that it may."""


class WalkedFiles:
    """Looks at projects of this machine."""

    def __init__(
        self, *, entries: int = MOST_ENTRIES, seconds: float = MOST_SECONDS, clock: Callable[[], float] = monotonic
    ) -> None:
        self._entries, self._seconds, self._clock = entries, seconds, clock

    def look(self, project: str, /) -> WalkedProject:
        """A new look at this directory."""
        return WalkedProject(project, self._entries, self._clock() + self._seconds, self._clock)


class WalkedProject:
    """One look at one project. `entries` and the time are for all that is asked of it together."""

    def __init__(self, project: str, entries: int, end: float, clock: Callable[[], float]) -> None:
        self._project, self._left, self._end, self._clock = project, entries, end, clock
        self._root = os.path.realpath(project) if os.path.isabs(project) else ""  # noqa: PTH117 - a plain text
        self._states: dict[str, StateContent] = {}

    def found(self, pattern: str, /) -> FittingFile:
        """A file of the project that fits a glob; a directory where the glob ends with /."""
        if problem := self._problem(pattern):
            return FittingFile(problem=problem)
        parts = [part for part in pattern.split("/") if part not in ("", ".")]
        if not parts or len(parts) > _DEEPEST:
            return FittingFile(problem="the glob names nothing")
        try:
            is_wanted = os.path.isdir if pattern.endswith("/") else os.path.isfile
            for path in self._fitting(self._root, tuple(parts), 0):
                if is_wanted(path):
                    return FittingFile(os.path.relpath(path, self._root))
        except _LookEndedError:
            return FittingFile(problem="the project has too many files to look through")
        except (OSError, ValueError) as error:
            return FittingFile(problem=f"it can't be looked for: {text_of(error)}")
        return FittingFile()

    def state(self, file: str, /) -> StateContent:
        """What the state file holds. Read once in a look."""
        if file not in self._states:
            self._states[file] = self._read(file)
        return self._states[file]

    def _problem(self, path: str) -> str:
        if not self._root:
            return "the project's directory is not known"
        return glob_problem(path)

    def _fitting(self, directory: str, parts: tuple[str, ...], depth: int) -> Iterator[str]:
        """Paths below a directory that fit, without those that lead out of the project."""
        if depth > _DEEPEST:
            return
        part, rest = parts[0], parts[1:]
        if part == "**":
            yield from self._anywhere(directory, rest, depth)
            return
        for path in self._named(directory, part):
            if not self._is_inside(path):
                continue
            if not rest:
                yield path
            elif os.path.isdir(path):  # noqa: PTH112 - as above
                yield from self._fitting(path, rest, depth + 1)

    def _anywhere(self, directory: str, rest: tuple[str, ...], depth: int) -> Iterator[str]:
        yield from self._fitting(directory, rest or ("*",), depth + 1)
        for path in self._named(directory, "*"):
            # No links: they may lead round in circles.
            is_walked = os.path.basename(path) not in _SKIPPED and not os.path.islink(path)  # noqa: PTH119, PTH114
            if is_walked and os.path.isdir(path):  # noqa: PTH112 - as above
                yield from self._fitting(path, ("**", *rest), depth + 1)

    def _named(self, directory: str, part: str) -> list[str]:
        """What is in a directory under a name, or a glob of names."""
        self._take()
        if not is_glob(part):
            path = os.path.join(directory, part)  # noqa: PTH118 - as above
            return [path] if os.path.lexists(path) else []
        found = []
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    self._take()
                    if fits(part, entry.name):
                        found.append(entry.path)
        except (PermissionError, FileNotFoundError, NotADirectoryError):
            return []
        return sorted(found)

    def _take(self) -> None:
        self._left -= 1
        if self._left < 0 or self._clock() > self._end:
            raise _LookEndedError

    def _is_inside(self, path: str) -> bool:
        real = os.path.realpath(path)
        return real == self._root or real.startswith(f"{self._root.rstrip('/')}/")

    def _read(self, file: str) -> StateContent:
        if not file:
            return StateContent(problem="no state file is named")
        if problem := self._problem(file):
            return StateContent(problem=problem)
        path = os.path.join(self._root, file)  # noqa: PTH118 - as above
        if not os.path.lexists(path):
            return StateContent(problem="there is no such file")
        if not self._is_inside(path):
            return StateContent(problem="it is a link that leaves the project")
        try:
            text = _content(os.path.realpath(path))
            return StateContent(state_data(text, file), text=text.decode())
        except (OSError, ValueError) as error:
            return StateContent(problem=f"it can't be read: {text_of(error)}")


def _content(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is no regular file")
        text = os.read(handle, MOST_STATE_BYTES + 1)
    finally:
        os.close(handle)
    if len(text) > MOST_STATE_BYTES:
        raise ValueError(f"it is larger than {MOST_STATE_BYTES} bytes")
    return text


def state_data(text: bytes, file: str) -> Any:
    """What the text of a state file says: YAML by its name, else JSON. Raises ValueError, which says what is wrong."""
    if not file.lower().endswith((".yaml", ".yml")):
        try:
            return decode(text.removeprefix(b"\xef\xbb\xbf"))
        except StrictJsonError as error:
            raise ValueError(f"it is no JSON: {error}") from None
    from interpose.core.formats.yaml_text import read_yaml

    return read_yaml(text.decode()).data
