"""What hosts were heard of: the sessions that start and end, so that a host that runs and never asks is noticed."""

from __future__ import annotations

from time import time_ns

import msgspec
from msgspec import Struct

from interpose.core.driving import Block, Failure, Flow
from interpose.doors.hooks.hosts.events import HostEvent
from interpose.record.store.protocols import Sessions

PREFIX = "hook:"
_ATTEMPTS = 5


class HookSession(Struct, frozen=True, kw_only=True):
    """A host's session as it was last heard of. Times are nanoseconds; `ended_ns` is 0 while it goes on."""

    host: str
    session: str = ""
    cwd: str = ""
    event: str = ""
    started_ns: int = 0
    heard_ns: int = 0
    ended_ns: int = 0
    agents: int = 0
    """Sub-agents that it started."""
    switches: tuple[str, ...] = ()
    """What switched hooks off in its project when it started."""


def remember(store: Sessions, event: HostEvent, switches: tuple[str, ...] = ()) -> Flow[None]:
    """Keep an event that only informs."""
    answer = yield Block(_remember, store, event, time_ns(), switches)
    if type(answer) is Failure:
        raise answer.error


def heard(store: Sessions, *, since_ns: int = 0, limit: int = 1000) -> list[HookSession]:
    """The sessions of all hosts, the last heard first."""
    return [
        msgspec.json.decode(state.body, type=HookSession)
        for state in store.sessions(since_ns=since_ns, limit=limit, prefix=PREFIX)
    ]


def _remember(store: Sessions, event: HostEvent, now_ns: int, switches: tuple[str, ...]) -> None:
    name = f"{PREFIX}{event.host}:{event.context.session_id}"
    for _ in range(_ATTEMPTS):  # others may write the same session at the same time
        kept = store.load_session(name)
        before = msgspec.json.decode(kept.body, type=HookSession) if kept else None
        after = _changed(before, event, now_ns, switches)
        if store.save_session(
            name, msgspec.json.encode(after), version=kept.version if kept else 0, now_ns=now_ns
        ):  # fmt: skip
            return


def _changed(before: HookSession | None, event: HostEvent, now_ns: int, switches: tuple[str, ...]) -> HookSession:
    starts, ends = event.point == "session.start", event.point == "session.end"
    known = before or HookSession(host=event.host)
    return HookSession(
        host=event.host,
        session=event.context.session_id,
        cwd=event.context.cwd or known.cwd,
        event=event.name,
        started_ns=now_ns if starts or not known.started_ns else known.started_ns,
        heard_ns=now_ns,
        ended_ns=now_ns if ends else 0,
        agents=known.agents + (event.point == "subagent.start"),
        switches=switches if starts else known.switches,
    )
