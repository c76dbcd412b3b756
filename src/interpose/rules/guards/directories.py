"""Where the paths of a call lead, for guards that compare directories."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from interpose.core.tools import seen_as
from interpose.core.types import ToolCall
from interpose.effects.paths import Lookup, Spellings
from interpose.reading.calls import starts_of


def known_as(call: ToolCall) -> ToolCall:
    """The call as guards that compare directories look at it."""
    return seen_as(call)


def spellings_of(call: ToolCall, text: str, home: str, lookup: Lookup) -> Iterator[Spellings]:
    """Where `text` leads, seen from where the agent works and from where the call says that it starts."""
    cwd = absolute(call.context.cwd)
    for start in dict.fromkeys((cwd, *starts_of(call, cwd, home))):
        yield lookup.spellings(text, cwd=start, home=home)


def absolute(path: str) -> str:
    """`path` seen from the directory of this process, with `~` expanded."""
    return os.path.abspath(os.path.expanduser(path)) if path[:1] != "/" else path  # noqa: PTH100, PTH111 - text to text


def is_below(path: str, directory: str) -> bool:
    """Whether `path` is `directory` or lies in it. Compared part by part: `/etcetera` is not in `/etc`."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def directories(paths: Iterable[object], required: str) -> tuple[str, ...]:
    """A configured list of paths as absolute texts; ValueError with `required` if there are none."""
    if isinstance(paths, str | bytes):
        raise ValueError(f"{required}: give a list, not {paths!r}")
    texts = [os.fspath(path) if isinstance(path, os.PathLike) else path for path in paths]
    named = [text for text in texts if isinstance(text, str) and text]
    if not named or len(named) != len(texts):
        raise ValueError(f"{required}, each as text; got {texts!r}")
    return tuple(os.path.normpath(absolute(text)) for text in named)
