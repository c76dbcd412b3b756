"""Sessions that an agent wrote down and that no hook of ours ever heard of: it worked, and never asked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import time_ns

import msgspec
from msgspec import Struct

from interpose.core.config.places import places_of
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.host_sessions import PREFIX, heard
from interpose.effects.agents.agent import Transcripts
from interpose.effects.agents.known_agents import BY_NAME
from interpose.record.ledger.entry import Decided
from interpose.record.store.protocols import Query, Store

_DAYS_NS = 7 * 86400 * 1_000_000_000
_SETTLING_NS = 1_000_000_000
"""An event may be on its way while its session is already written down."""
_DECISIONS = 5000
_SESSIONS = 5000
_MOST = 500
"""Transcripts of a host that are looked at, the newest."""


class UnheardSession(Struct, frozen=True):
    """One of them. Its transcript was last written at that time."""

    host: str
    session: str
    path: str
    at_ns: int


def unheard_sessions(
    since: Mapping[str, int], store: Store | None, environ: Mapping[str, str] = os.environ
) -> tuple[UnheardSession, ...]:
    """Of the hosts whose hooks are installed, the newest first. Only file names and times are read, no transcript.

    `since` says when their hooks were installed, in nanoseconds. Without a store, nothing was ever recorded.
    """
    wanted = {name: at for name, at in since.items() if name in BY_NAME and BY_NAME[name].transcripts}
    if not wanted:
        return ()
    now = time_ns()
    first = max(min(wanted.values()), now - _DAYS_NS)
    known = _heard_of(store, first - _DAYS_NS) if store is not None else frozenset()
    found = [
        each
        for name, at in wanted.items()
        for each in _written(name, max(at, first), environ)
        if each.at_ns < now - _SETTLING_NS and not _is_known(each, known)
    ]
    return tuple(sorted(found, key=lambda each: -each.at_ns))


def _heard_of(store: Store, since_ns: int) -> frozenset[str]:
    sessions = {each.session for each in heard(store, since_ns=since_ns, limit=_SESSIONS)}
    for entry in store.query(Query(kinds=("decided",), since_ns=since_ns), _DECISIONS):
        if entry.session and _is_of_a_hook(entry.body):
            sessions.add(entry.session)
    return frozenset(sessions)


def _is_of_a_hook(body: bytes) -> bool:
    try:
        return msgspec.json.decode(body, type=Decided).source.startswith(PREFIX)
    except msgspec.MsgspecError:
        return False


def _is_known(each: UnheardSession, known: frozenset[str]) -> bool:
    transcripts = BY_NAME[each.host].transcripts
    if transcripts is not None and transcripts.session == "start":
        return any(session.startswith(each.session) for session in known)
    return each.session in known


def _written(host: str, since_ns: int, environ: Mapping[str, str]) -> Iterator[UnheardSession]:
    transcripts = BY_NAME[host].transcripts
    if transcripts is None:
        return
    found: list[tuple[int, Path]] = []
    for path in _files(host, transcripts, environ):
        try:
            at = path.stat().st_mtime_ns
        except OSError:
            continue
        if at > since_ns:
            found.append((at, path))
    for at, path in sorted(found, reverse=True)[:_MOST]:
        session = _session(path, transcripts)
        if session:
            yield UnheardSession(host, session, str(path), at)


def _files(host: str, transcripts: Transcripts, environ: Mapping[str, str]) -> Iterator[Path]:
    file = next(file for file in HOSTS[host].facts.setup.files if file.scope == "user")
    moved = environ.get(file.moved_by, "") if file.moved_by else ""
    pattern = transcripts.pattern
    if moved.startswith("/") and pattern.startswith(file.root + "/"):
        root, rest = Path(moved), pattern.removeprefix(file.root + "/")
    else:
        root, rest = places_of(environ).home, pattern.removeprefix("~/")
    try:
        yield from root.glob(rest)
    except OSError:
        return


def _session(path: Path, transcripts: Transcripts) -> str:
    match transcripts.session:
        case "stem":
            return "" if path.stem.startswith("agent-") else path.stem
        case "tail":
            return path.stem[-36:]
        case "parent":
            return path.parent.name
        case "start":
            return path.stem[-8:]
