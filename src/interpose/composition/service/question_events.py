"""What happens to questions, told to those who watch: opened, answered, expired, voted, deferred, looked-at.

What happens in this process is told at once. What other servers over the same store do, and that the time is up, is
seen by looking at the store each second, by one thread for all, and only while somebody watches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from interpose.core.errors import ApprovalError, StoreError
from interpose.core.late import late_logger
from interpose.people.approvals.questions import Question

if TYPE_CHECKING:
    from interpose.people.approvals.desk import Desk

log = late_logger("interpose.approvals")

EVERY_SECONDS = 1.0
MOST_WATCHERS = 64

EventWord = Literal["waiting", "opened", "answered", "expired", "voted", "deferred", "escalated", "looked-at"]


class QuestionEvent(Struct, frozen=True, kw_only=True):
    """One thing that happened. `waiting` comes first: which questions wait when somebody begins to watch."""

    event: EventWord
    id: str = ""
    question: Question | None = None
    ids: tuple[str, ...] = ()
    looked_at_by: tuple[str, ...] = ()


Watcher = Callable[[QuestionEvent | None], object]
"""Hears of each event, in any thread; None is the end. Comes back at once."""


class QuestionEvents:
    """All that happens, and who watches. Safe to share by threads."""

    def __init__(self, desk: Callable[[], Desk]) -> None:
        self._desk = desk
        self._lock = threading.Lock()
        self._look = threading.Event()
        self._heard: list[tuple[str, str]] = []
        self._watchers: list[Watcher] = []
        self._thread: threading.Thread | None = None
        self._known: dict[str, int] = {}
        self._over = False

    def watch(self, watcher: Watcher) -> bool:
        """Tell this one, too, beginning with what waits now. False if too many watch, or the end has come. Blocks."""
        waiting = tuple(question.id for question in self._desk().asked())
        with self._lock:
            if len(self._watchers) >= MOST_WATCHERS or self._over:
                return False
            watcher(QuestionEvent(event="waiting", ids=waiting))
            self._watchers.append(watcher)
            if self._thread is None:
                self._known = self._open_ones()
                self._thread = threading.Thread(target=self._work, name="interpose:question-events", daemon=True)
                self._thread.start()
        return True

    def leave(self, watcher: Watcher) -> None:
        """Tell this one no more."""
        with self._lock:
            if watcher in self._watchers:
                self._watchers.remove(watcher)
        self._look.set()

    def heard(self, word: str, id: str) -> None:
        """Something happened in this process. Nobody waits for those who watch."""
        if self._watchers:
            with self._lock:
                self._heard.append((word, id))
            self._look.set()

    def end(self) -> None:
        """The server ends: so do those who watch."""
        with self._lock:
            self._over, watchers = True, list(self._watchers)
            self._watchers.clear()
        for watcher in watchers:
            watcher(None)
        self._look.set()

    def _work(self) -> None:
        while True:
            self._look.wait(EVERY_SECONDS)
            self._look.clear()
            with self._lock:
                if not self._watchers:
                    self._thread = None
                    self._heard.clear()
                    return
                heard, self._heard = self._heard, []
            try:
                events = [*self._from_here(heard), *self._from_store()]
            except (StoreError, ApprovalError) as error:
                log.debug("questions can't be looked at: %s", error)
                continue  # it may come back
            self._tell(events)

    def _tell(self, events: list[QuestionEvent]) -> None:
        with self._lock:
            watchers = list(self._watchers)
        for watcher in watchers:
            for event in events:
                watcher(event)

    def _from_here(self, heard: list[tuple[str, str]]) -> list[QuestionEvent]:
        """What is not seen in the list of those that wait: votes, and who looks."""
        desk = self._desk()
        found: list[QuestionEvent] = []
        for word, id in dict.fromkeys(heard):
            match word:
                case "voted":
                    found.append(QuestionEvent(event="voted", id=id, question=desk.question(id)))
                case "escalated":
                    found.append(QuestionEvent(event="escalated", id=id, question=desk.question(id)))
                case "looked-at":
                    found.append(QuestionEvent(event="looked-at", id=id, looked_at_by=desk.onlookers.of(id)))
                case _:
                    pass
        return found

    def _from_store(self) -> list[QuestionEvent]:
        desk, now, before = self._desk(), self._open_ones(), self._known
        self._known = now
        found: list[QuestionEvent] = []
        for id in (*before.keys() - now.keys(), *now.keys()):
            if id in before and id in now and before[id] == now[id]:
                continue
            question = desk.question(id)
            word: EventWord = "opened" if id not in before else "deferred" if id in now else "answered"
            if question.state == "expired":
                word = "expired"
            found.append(QuestionEvent(event=word, id=id, question=question))
        return found

    def _open_ones(self) -> dict[str, int]:
        """Questions that wait, and until when: one that was put off waits longer."""
        return {question.id: round(question.expires.timestamp()) for question in self._desk().asked()}
