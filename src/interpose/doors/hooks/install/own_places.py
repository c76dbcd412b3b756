"""Every file and directory that Interpose keeps for a user, by name: what is removed goes by this table.

`interpose help install` lists them for people; a test holds both against what a whole trial leaves in a fresh home.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from msgspec import Struct

from interpose.core.config.places import Places

Base = Literal["config", "state", "runtime"]


class OwnName(Struct, frozen=True):
    """A name directly below one of our three directories. A directory is ours with all that is in it."""

    base: Base
    name: str
    """A pattern. What is written first under `.NAME.` and then renamed belongs to it."""
    what: str


OWN_NAMES = (
    OwnName("state", "hooks", "the clients that agents start"),
    OwnName("runtime", "hook.sock*", "the local server's socket for hooks, and its lock"),
    OwnName("runtime", "hook.addr", "the local server's port for hooks, and its secrets"),
    OwnName("runtime", "hook.stalled", "a server that did not answer"),
    OwnName("runtime", "api.sock*", "the socket of the HTTP API, and its lock"),
    OwnName("runtime", "start.lock", "who starts the local server"),
    OwnName("runtime", "server.log", "what the local server complained of"),
    OwnName("state", "run", "the local server's sockets, port and log"),
    OwnName("state", "cache", "compiled rules and clients"),
    OwnName("state", "approvals", "which agents asked, how often grants were used, what MCP servers showed"),
    OwnName("state", "ledger", "every decision and its outcome, with the key of its seals"),
    OwnName("state", "governance.log*", "what governance did, for people"),
    OwnName("state", "checkpoints", "the context of sessions that were halted"),
    OwnName("state", "backups", "agents' files as they were before"),
    OwnName("state", "installs", "what was installed where"),
    OwnName("config", "tokens", "names, roles and tokens of callers"),
    OwnName("config", "approvals.key*", "the key that signs approvals, and its public half"),
    OwnName("config", "passphrase", "the hash of the operator's passphrase"),
    OwnName("config", "policy", "your rules, and which packs are on"),
    OwnName("config", "governance.yaml", "the roles of agents, and what holds for them"),
    OwnName("config", "interpose.yaml", "your settings"),
)
"""In the order in which they go: what agents start first, what says where everything lies last."""


class OwnEntry(Struct, frozen=True):
    """Something of ours that is there."""

    path: Path
    what: str
    files: int
    bytes: int


def own_entries(places: Places) -> list[OwnEntry]:
    """All that is there, in the order in which it goes."""
    bases: dict[Base, Path] = {"config": places.config, "state": places.state, "runtime": places.runtime}
    found: dict[Path, OwnEntry] = {}
    for own in OWN_NAMES:
        for path in _inside(bases[own.base]):
            if _is(path.name, own.name) and path not in found:
                found[path] = OwnEntry(path, own.what, *_size(path))
    covered = [path for path in found if path.is_dir() and not path.is_symlink()]
    return [
        entry for path, entry in found.items() if not any(path.is_relative_to(one) for one in covered if one != path)
    ]


def foreign_entries(places: Places) -> list[Path]:
    """What lies in our directories and is not in the table: somebody else's, or that of another version.

    A directory that somebody chose for our settings may hold anything.
    """
    bases: dict[Base, Path] = {"config": places.config, "state": places.state}
    if places.runtime.parent != places.state:  # else it is ours as a whole
        bases["runtime"] = places.runtime
    return [
        path
        for base, directory in bases.items()
        for path in (_inside(directory) if directory.name == "interpose" else ())
        if not any(own.base == base and _is(path.name, own.name) for own in OWN_NAMES)
    ]


def _is(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(name, f".{pattern}.*")


def _inside(directory: Path) -> list[Path]:
    """What is in a directory. INVARIANT: never through a link, so that nothing goes that is kept elsewhere."""
    try:
        return [] if directory.is_symlink() else sorted(directory.iterdir())
    except OSError:
        return []


def _size(path: Path) -> tuple[int, int]:
    about = [_lstat(each) for each in _walk(path)]
    return sum(1 for each in about if each is not None), sum(each.st_size for each in about if each is not None)


def _walk(path: Path) -> Iterator[Path]:
    """The files of a tree, links included and not followed."""
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    for each in _inside(path):
        yield from _walk(each)


def _lstat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None
