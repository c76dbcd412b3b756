"""Which projects' rules a session was seen under. They hold for the rest of it, also after a restart.

The store is the memory; what is here is a copy of what was needed last. A store that can't say holds everything: a
session must not get rid of rules because somebody made many others, or because the server was started anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from queue import Empty, SimpleQueue
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Protocol, TypeVar

from msgspec import MsgspecError
from msgspec import json as fast

from interpose.core.errors import StoreError

if TYPE_CHECKING:
    from interpose.record.store.protocols import SessionState

T = TypeVar("T")
Files = tuple[str, ...]

COPIES = 10_000
"""Sessions that are kept here beside the store. Without a store no more are taken than these."""
FRESH_SECONDS = 5.0
"""How long a copy is good: other servers may share the store."""
STORE_SECONDS = 1.0
"""How long a decision waits for the store, and for how long one that did not answer is not asked again."""
_IDLE_SECONDS = 10.0
"""How long its thread waits for the next question."""
_PREFIX = "rules:"
_ATTEMPTS = 10

_files = fast.Decoder(Files).decode


class SessionStore(Protocol):
    """What is needed of a store."""

    def load_session(self, session: str) -> SessionState | None:
        """A session as it is now."""

    def save_session(self, session: str, body: bytes, *, version: int, now_ns: int) -> bool:
        """Replace the state that had this version; 0 makes a new session. False: somebody else was faster."""


class SessionRules:
    """The project files of sessions. Safe for threads."""

    def __init__(self, store: SessionStore | None = None, clock: Callable[[], float] = monotonic) -> None:
        self._store, self._clock = store, clock
        self._lock = threading.Lock()
        self._copies: OrderedDict[str, tuple[float, Files]] = OrderedDict()
        self._worker = _StoreThread() if store is not None else None
        self._again = 0.0

    def seen(self, session: str, here: Files) -> Files:
        """All files that hold for a session which is now seen under those that hold `here`. Raises StoreError."""
        now = self._clock()
        at, known = self._copies.get(session, (0.0, ()))
        fresh = self._store is None or (at and now - at < FRESH_SECONDS)
        if fresh and set(here) <= set(known):
            return known
        store = self._store
        files = _joined(known, here) if store is None else self._asked(lambda: _kept(store, session, here))
        if files or store is not None:
            self._copy(session, files, now)
        return files

    def _asked(self, work: Callable[[], T]) -> T:
        """What the store says, within its time."""
        assert self._worker is not None  # noqa: S101 - there is one wherever there is a store
        if self._clock() < self._again:
            raise StoreError("the store did not answer a moment ago")
        try:
            return self._worker.asked(work, STORE_SECONDS)
        except TimeoutError:
            self._again = self._clock() + STORE_SECONDS
            raise StoreError(f"the store did not answer within {STORE_SECONDS:g} s") from None

    def _copy(self, session: str, files: Files, now: float) -> None:
        with self._lock:
            if self._store is None and len(self._copies) >= COPIES and session not in self._copies:
                raise StoreError(f"more than {COPIES} sessions are under project rules, and there is no store")
            self._copies[session] = (now, files)
            self._copies.move_to_end(session)
            if len(self._copies) > COPIES:
                self._copies.popitem(last=False)


class _StoreThread:
    """One thread for all that is asked. Smaller than `concurrent.futures`, which a hook would load for one question."""

    def __init__(self) -> None:
        self._work = SimpleQueue[Callable[[], None]]()
        self._lock = threading.Lock()
        self._runs = False

    def asked(self, work: Callable[[], T], seconds: float) -> T:
        """What the work gives or raises. TimeoutError if it takes longer; it is done all the same."""
        given: list[T] = []
        failed: list[BaseException] = []
        done = threading.Event()

        def perform() -> None:
            try:
                given.append(work())
            except BaseException as error:  # noqa: BLE001 - whoever asked raises it
                failed.append(error)
            done.set()

        with self._lock:
            self._work.put(perform)
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, name="interpose:sessions", daemon=True).start()
        if not done.wait(seconds):
            raise TimeoutError
        if failed:
            raise failed[0]
        return given[0]

    def _run(self) -> None:
        while True:
            try:
                work = self._work.get(timeout=_IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._work.empty():
                        self._runs = False
                        return
            else:
                work()


def _joined(one: Files, other: Files) -> Files:
    return tuple(sorted({*one, *other}))


def _kept(store: SessionStore, session: str, here: Files) -> Files:
    """INVARIANT: files are only added to a session, and are in the store before anything is decided by them."""
    name = f"{_PREFIX}{session}"
    for _ in range(_ATTEMPTS):
        state = store.load_session(name)
        known = _read(state.body) if state is not None else ()
        if set(here) <= set(known):
            return known
        files = _joined(known, here)
        version = 0 if state is None else state.version
        if store.save_session(name, fast.encode(files), version=version, now_ns=time_ns()):
            return files
    raise StoreError(f"the rules of session {session[:64]!r} could not be kept: others keep changing them")


def _read(body: bytes) -> Files:
    try:
        return _files(body)
    except MsgspecError:
        raise StoreError("what is kept of this session's rules can't be read") from None
