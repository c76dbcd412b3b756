"""How sessions are kept: a row of the store each, changed by compare-and-swap, so that servers and restarts share them.

A change is a function of the last value. It may be called several times, and must do nothing else than return the next
value: what others saved meanwhile is what it gets the next time. Threads of one process take turns, so only processes
ever meet; a change that is beaten again and again ends with an error, and the call that it belongs to is refused.

What can't be read is an error, too: a session that began anew because somebody damaged it would have lost its halt.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from interpose.core.errors import DamagedStoreError, StoreError, text_of
from interpose.core.late import late_logger
from interpose.record.store.protocols import SessionState
from interpose.rules.governance.sessions.session_bounds import bounded
from interpose.rules.governance.sessions.session_keys import kept_key
from interpose.rules.governance.sessions.sessions import GovernedSession

log = late_logger("interpose.governance")

PREFIX = "gov:"
_MOST_REPORTED = 1000
_ATTEMPTS = 200
"""Each time that a change is beaten, another was saved: with so many in a row, somebody changes without end."""
_LONGEST_PAUSE = 0.02
_TURN_SECONDS = 20.0
_TURNS = 64
_LARGEST_BODY = 4 << 20
_LARGEST_KEPT, _MOST_KEPT = 64 << 10, 128
"""Sessions that are kept as they were read: of how many bytes at most, and how many of them."""

Change = Callable[[GovernedSession | None], GovernedSession]
Checked = Callable[[str, GovernedSession | None], GovernedSession | None]
"""Sees what was read or saved under a key before anybody else does. What it returns counts instead."""


class SessionRows(Protocol):
    """The part of a store that sessions are kept in."""

    def load_session(self, session: str) -> SessionState | None:
        """A row as it is now."""

    def save_session(self, session: str, body: bytes, *, version: int, now_ns: int) -> bool:
        """Replace the row that had this version; 0 makes a new one. False: somebody else was faster."""

    def sessions(self, *, since_ns: int = 0, limit: int = 1000, prefix: str = "") -> list[SessionState]:
        """Rows that changed since then, the last changed first; those whose names begin so."""


class SessionBody(Struct, frozen=True, forbid_unknown_fields=True):
    """What is in a row. `form` is the version of its form."""

    form: Literal[1]
    session: GovernedSession


class SessionKeeper:
    """The sessions of a store, or of a memory (memory_sessions.py). Keys are those of session_keys.py."""

    def __init__(
        self,
        rows: SessionRows,
        *,
        clock: Callable[[], int] = time.time_ns,
        attempts: int = _ATTEMPTS,
        checked: Checked = lambda _key, session: session,
    ) -> None:
        self._rows, self._clock, self._attempts, self._checked = rows, clock, attempts, checked
        self._reported: set[str] = set()
        self._read: dict[str, tuple[bytes, GovernedSession]] = {}
        self._reporting = threading.Lock()
        self._turns = tuple(threading.Lock() for _ in range(_TURNS))

    def read(self, key: str) -> GovernedSession | None:
        """A session as it is now; None if nobody has heard of it. Raises StoreError."""
        kept = kept_key(key)
        state = self._rows.load_session(PREFIX + kept)
        return self._checked(kept, None if state is None else self._read_again(state))

    def change(self, key: str, change: Change) -> GovernedSession:
        """Make the next value of the last. Raises StoreError; then nothing was changed that is known of."""
        kept = kept_key(key)
        name = PREFIX + kept
        with self._turn(name):
            for attempt in range(self._attempts):
                state = self._rows.load_session(name)
                before = self._checked(kept, None if state is None else self._read_again(state))
                after = bounded(change(before))
                if after is before:
                    return after
                version = 0 if state is None else state.version
                if self._rows.save_session(name, _encoded(after), version=version, now_ns=self._clock()):
                    return self._checked(kept, after) or after
                time.sleep(random.uniform(0, min(_LONGEST_PAUSE, 0.0005 * (attempt + 1))))  # noqa: S311 - no secret
        raise StoreError(f"others changed the session {key!r} {self._attempts} times while it was to be changed here")

    def recent(self, since_ns: int = 0, limit: int = 100) -> list[GovernedSession]:
        """Sessions that changed since then, the last changed first. Raises StoreError.

        A row that can't be read is left out and reported: it must not hide all others. That session itself is an error.
        """
        found: list[GovernedSession] = []
        for state in self._rows.sessions(since_ns=since_ns, limit=limit, prefix=PREFIX):
            key = state.session.removeprefix(PREFIX)
            try:
                session = _decoded(state)
            except DamagedStoreError as error:
                self._report(key, text_of(error))
                continue
            found.append(self._checked(key, session) or session)
        return found

    def _read_again(self, state: SessionState) -> GovernedSession:
        """The session of a row. One that was read before and is the same to the byte is not decoded again."""
        known = self._read.get(state.session)
        if known is not None and known[0] == state.body:
            return known[1]
        session = _decoded(state)
        if len(state.body) <= _LARGEST_KEPT:
            if len(self._read) >= _MOST_KEPT:
                self._read.clear()
            self._read[state.session] = state.body, session
        return session

    def _report(self, key: str, problem: str) -> None:
        with self._reporting:
            if key in self._reported or len(self._reported) >= _MOST_REPORTED:
                return
            self._reported.add(key)
        log.error("alarm: %s", problem)

    @contextmanager
    def _turn(self, name: str) -> Iterator[None]:
        """Threads that change the same session wait for each other instead of beating each other."""
        turn = self._turns[hash(name) % _TURNS]
        if not turn.acquire(timeout=_TURN_SECONDS):
            raise StoreError(f"the session {name.removeprefix(PREFIX)!r} is being changed by too many at once")
        try:
            yield
        finally:
            turn.release()


def _decoded(state: SessionState) -> GovernedSession:
    try:
        return _DECODER.decode(state.body).session
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        name = state.session.removeprefix(PREFIX)
        raise DamagedStoreError(
            f"the session {name!r} can't be read: it is damaged, or a newer version of interpose wrote it ({error})"
        ) from None


def _encoded(session: GovernedSession) -> bytes:
    kept = SessionBody(1, session)
    try:
        body = msgspec.json.encode(kept)
    except UnicodeEncodeError:  # half a character that somebody put into a text
        body = msgspec.json.encode(_whole(msgspec.to_builtins(kept)))
    if len(body) > _LARGEST_BODY:
        raise StoreError(f"the session {session.id!r} has become too large to keep: {len(body)} bytes")
    return body


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return {key: _whole(item) for key, item in value.items()} if isinstance(value, dict) else value


_DECODER = msgspec.json.Decoder(SessionBody)
