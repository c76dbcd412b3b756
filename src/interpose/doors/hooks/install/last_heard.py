"""When each host was last heard of, by the sessions and decisions that it left in the store."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from interpose.core.formats.counted import plural
from interpose.doors.hooks.hosts.host_sessions import PREFIX, heard
from interpose.record.ledger.canaries import SESSION
from interpose.record.ledger.entry import Decided
from interpose.record.store.protocols import Query, Store

_DECISIONS = 2000
"""The newest decisions that are looked at."""


class LastHeard(Struct, frozen=True):
    """The last event of a host and the last call that it asked about, in nanoseconds; 0 is never."""

    event: str = ""
    heard_ns: int = 0
    asked_ns: int = 0
    session: str = ""


def span(seconds: float) -> str:
    """A time as people say it."""
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit}"
    return plural(max(0, int(seconds)), "second")


def seen_hosts(store: Store) -> dict[str, LastHeard]:
    """By name. Canaries of `doctor` don't count."""
    found: dict[str, LastHeard] = {}
    for session in heard(store):
        if session.session != SESSION and session.heard_ns > found.get(session.host, LastHeard()).heard_ns:
            found[session.host] = LastHeard(session.event, session.heard_ns, 0, session.session)
    for host, time_ns, session_id in _asked(store):
        before = found.get(host, LastHeard())
        if not before.asked_ns:
            newer = time_ns >= before.heard_ns
            found[host] = LastHeard(
                "a call" if newer else before.event,
                max(time_ns, before.heard_ns),
                time_ns,
                session_id if newer else before.session,
            )
    return found


def _asked(store: Store) -> Iterable[tuple[str, int, str]]:
    for entry in store.query(Query(kinds=("decided",)), _DECISIONS):
        if entry.session == SESSION:
            continue
        try:
            source = msgspec.json.decode(entry.body, type=Decided).source
        except msgspec.MsgspecError:
            continue
        if source.startswith(PREFIX):
            yield source.removeprefix(PREFIX), entry.time_ns, entry.session
