"""What is known of notifications beyond one process: whether they are muted, and which channels fail. In the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from msgspec import MsgspecError, Struct
from msgspec import json as fast

from interpose.core.errors import StoreError
from interpose.people.approvals.seal import Seal, Sealed, Verifier
from interpose.record.store.protocols import SessionState

_MUTE = "notifications:mute"
_CHANNEL = "notifications:channel:"
_MUTED = "notifications-muted"
_ATTEMPTS = 20
_LONGEST_PROBLEM = 500


class StandingStore(Protocol):
    """What is needed of a store."""

    def load_session(self, session: str) -> SessionState | None:
        """A state as it is now."""

    def save_session(self, session: str, body: bytes, *, version: int, now_ns: int) -> bool:
        """Replace the state that had this version; 0 makes a new one. False: somebody else was faster."""


class Mute(Struct, frozen=True):
    """Until when nothing is sent, and who said so. One that is over says what was asked meanwhile."""

    until: datetime
    by: str


class ChannelStanding(Struct, frozen=True, kw_only=True):
    """How the last notification of a channel went. `failed` in a row did not arrive."""

    name: str
    failed: int = 0
    problem: str = ""
    at: datetime | None = None


_sealed = fast.Decoder(Sealed).decode
_mute = fast.Decoder(Mute).decode
_standing = fast.Decoder(ChannelStanding).decode


def read_mute(store: StandingStore, verifier: Verifier) -> Mute | None:
    """The last mute. What no server of ours signed is none: it would keep people from being told."""
    state = store.load_session(_MUTE)
    if state is None:
        return None
    try:
        sealed = _sealed(state.body)
        return _mute(sealed.content) if verifier.accepts(_MUTED, sealed) else None
    except MsgspecError:
        return None


def write_mute(store: StandingStore, mute: Mute, seal: Seal, now_ns: int) -> None:
    """Mute until then, whatever was said before."""
    body = fast.encode(seal.sealed(_MUTED, fast.encode(mute)))
    _replace(store, _MUTE, lambda _before: body, now_ns)


def read_standing(store: StandingStore, name: str) -> ChannelStanding:
    """How a channel stands."""
    return _of_state(store.load_session(_CHANNEL + name), name)


def note_sent(store: StandingStore, name: str, at: datetime, now_ns: int) -> None:
    """It works. Written down only where that is news."""
    if read_standing(store, name).problem:
        _replace(store, _CHANNEL + name, lambda _: fast.encode(ChannelStanding(name=name, at=at)), now_ns)


def note_failed(store: StandingStore, name: str, problem: str, at: datetime, now_ns: int) -> None:
    """A notification did not arrive."""

    def worse(before: SessionState | None) -> bytes:
        failed = _of_state(before, name).failed + 1
        return fast.encode(ChannelStanding(name=name, failed=failed, problem=problem[:_LONGEST_PROBLEM], at=at))

    _replace(store, _CHANNEL + name, worse, now_ns)


def _of_state(state: SessionState | None, name: str) -> ChannelStanding:
    try:
        return ChannelStanding(name=name) if state is None else _standing(state.body)
    except MsgspecError:
        return ChannelStanding(name=name)


def _replace(store: StandingStore, key: str, made: Callable[[SessionState | None], bytes], now_ns: int) -> None:
    for _ in range(_ATTEMPTS):
        before = store.load_session(key)
        version = 0 if before is None else before.version
        if store.save_session(key, made(before), version=version, now_ns=now_ns):
            return
    raise StoreError("others change this all the time: try again")
