"""Which installation the hooks of an agent really start: its interpreter is in their command lines and clients."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from interpose.effects.environment.facts import Environment, environment_at, running

_STARTED = re.compile(r"('[^'\n]+'|[^\s'\"=;()]+) -I -m interpose hook\b")
_CLIENT = re.compile(r"('[^'\n]*/interpose/hooks/[\w-]+'|[^\s'\";()]*/interpose/hooks/[\w-]+)(?=[\s'\";)]|$)")
_LARGEST = 1_000_000
_DEEPEST = 3
"""A script of a host runs our client, and that runs the program."""


def other_installations(commands: Iterable[list[str]]) -> list[Environment]:
    """The environments, but for this one, whose interpreters these command lines start."""
    found = dict.fromkeys(python for words in commands for python in _interpreters(words))
    roots = {_root(python): python for python in found}
    here = {_real(running().root), running().root}
    return [_installation(root, python) for root, python in roots.items() if not here & {root, _real(root)}]


def _interpreters(words: list[str]) -> Iterator[str]:
    if words[1:2] == ["-I"]:
        yield words[0]
    texts, seen = [" ".join(words), *map(_text, words[:1])], set[str]()
    for _ in range(_DEEPEST):
        clients = {_bare(found) for text in texts for found in _CLIENT.findall(text)} - seen
        yield from (_bare(found) for text in texts for found in _STARTED.findall(text))
        seen |= clients
        texts = [_text(client) for client in sorted(clients)]


def _installation(root: str, python: str) -> Environment:
    libraries = [str(place) for kind in ("site", "dist") for place in Path(root).glob(f"lib/python3*/{kind}-packages")]
    virtual = os.path.exists(f"{root}/pyvenv.cfg")  # noqa: PTH110 - a plain text
    return environment_at(root, virtual=virtual, interpreter=python, libraries=tuple(sorted(libraries)), package="")


def _root(python: str) -> str:
    return os.path.dirname(os.path.dirname(python))  # noqa: PTH120 - links must not be followed


def _real(path: str) -> str:
    return os.path.realpath(path)


def _bare(quoted: str) -> str:
    try:
        return next(iter(shlex.split(quoted)), "")
    except ValueError:
        return quoted


def _text(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return file.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
