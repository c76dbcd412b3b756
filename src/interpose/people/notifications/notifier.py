"""Tells people of questions: looks at what is open each second, and sends what is due by each channel.

What is still to be told is not kept: it is what is open in the store and was not told. So nothing is forgotten while
notifications are muted, while a channel is busy, or while there is no server.

INVARIANT: no decision waits for any of this. A channel has one notification under way at a time, in a thread of its
own, with bounded attempts; whatever becomes of it touches no other channel.
INVARIANT: a question is told once by a channel, whichever of several servers does it: the store decides.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from interpose.core.config.notifications import NotificationChannel, NotificationSettings
from interpose.core.errors import ApprovalError, NotificationError, StoreError, text_of
from interpose.core.formats.plain_text import one_line
from interpose.people.approvals.questions import Question, moment
from interpose.people.notifications.links import PATH, new_link, token_of
from interpose.people.notifications.notices import MOST_LISTED, TRYOUT, Notice, notice_of
from interpose.people.notifications.schedule import to_tell
from interpose.people.notifications.sending import send
from interpose.people.notifications.standing import (
    ChannelStanding,
    Mute,
    StandingStore,
    note_failed,
    note_sent,
    read_mute,
    read_standing,
    write_mute,
)
from interpose.record.store.protocols import Approvals, Counters

if TYPE_CHECKING:
    from interpose.people.approvals.desk import Desk

log = logging.getLogger("interpose.notifications")

EVERY_SECONDS = 1.0
PAUSES = (2.0, 8.0, 30.0)
"""Seconds before each new attempt."""
_RATE_SECONDS = 60.0
_STOPPING_SECONDS = 2.0


class NotifierStore(StandingStore, Counters, Approvals, Protocol):
    """What is needed of a store."""


class Tried(Struct, frozen=True, kw_only=True):
    """What became of a try-out."""

    channel: str
    kind: str
    sent: bool
    problem: str = ""


class _Lane(Struct):
    """What one channel does. `told` are the questions that need not be looked at again."""

    thread: threading.Thread | None = None
    sent: deque[float] = field(default_factory=deque)
    told: set[str] = field(default_factory=set)


class Notifier:
    """All channels of a server. Safe to share by threads."""

    def __init__(
        self,
        store: NotifierStore,
        desk: Callable[[], Desk],
        settings: Callable[[], NotificationSettings],
        *,
        public_url: Callable[[], str] = lambda: "",
        clock_ns: Callable[[], int],
        steady: Callable[[], float] = monotonic,
        pauses: Sequence[float] = PAUSES,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """`public_url` is where other machines reach the server: links begin with it, or with where it listens."""
        self._store, self._desk, self._settings, self._public_url = store, desk, settings, public_url
        self._clock_ns, self._steady, self._pauses, self._environ = clock_ns, steady, tuple(pauses), environ
        self._local_url = ""
        self._lanes: dict[str, _Lane] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, local_url: str = "") -> None:
        """Look from now on, if there is any channel. `local_url` is where the server listens, if browsers can."""
        self._local_url = local_url or self._local_url
        with self._lock:
            if self._thread is None and self._settings().channels and not self._over.is_set():
                self._thread = threading.Thread(target=self._work, name="interpose:notifications", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Begin nothing more. What is under way gets a moment."""
        self._over.set()
        end = monotonic() + _STOPPING_SECONDS
        for thread in (self._thread, *(lane.thread for lane in self._lanes.values())):
            if thread is not None:
                thread.join(max(0.0, end - monotonic()))

    def mute(self, minutes: int, by: str) -> Mute:
        """Send nothing for so long; 0 ends it. What is open then is told in one notification. Raises StoreError."""
        now = self._clock_ns()
        mute = Mute(moment(now) + timedelta(minutes=minutes), by)
        write_mute(self._store, mute, self._desk().seal(), now)
        log.info("notifications are muted until %s by %s", f"{mute.until:%Y-%m-%dT%H:%M:%SZ}", one_line(by))
        return mute

    def muted(self) -> Mute | None:
        """The mute that holds now. Raises StoreError."""
        mute = read_mute(self._store, self._desk().seal())
        return mute if mute is not None and mute.until > moment(self._clock_ns()) else None

    def standings(self) -> list[ChannelStanding]:
        """How each channel stands. Raises StoreError."""
        return [read_standing(self._store, name) for name in self._settings().channels]

    def try_out(self, names: Sequence[str] = ()) -> list[Tried]:
        """Send a try-out by each channel, or by these, at once and in one attempt. Blocks."""
        channels = {name: one for name, one in self._settings().channels.items() if not names or name in names}
        if not channels:
            return []
        with ThreadPoolExecutor(len(channels), thread_name_prefix="interpose:notify-test") as pool:
            return list(pool.map(self._tried, channels, channels.values()))

    def _tried(self, name: str, channel: NotificationChannel) -> Tried:
        problem = self._attempt(TRYOUT, name, channel)
        self._note(name, "" if problem is None else text_of(problem))
        return Tried(
            channel=name, kind=channel.kind, sent=problem is None, problem="" if problem is None else text_of(problem)
        )

    def _work(self) -> None:
        said = ""
        while not self._over.wait(EVERY_SECONDS):
            problem = ""
            try:
                self.look()
            except (StoreError, ApprovalError) as error:
                problem = text_of(error)
            except Exception:
                log.exception("notifications: a look failed")  # the next may not
            if problem and problem != said:
                log.warning("nobody is told of questions now: %s", problem)
            said = problem

    def look(self) -> None:
        """Send what is due. Raises StoreError or ApprovalError."""
        settings, now_ns = self._settings(), self._clock_ns()
        everyone, _ = self._store.count_waiting("", now_ns=now_ns)
        if not settings.channels or not everyone:
            for lane in self._lanes.values():
                lane.told.clear()
            return
        mute, open_ones, now = read_mute(self._store, self._desk().seal()), self._desk().asked(), moment(now_ns)
        ids = {question.id for question in open_ones}
        for name, channel in settings.channels.items():
            lane = self._lanes.setdefault(name, _Lane())
            lane.told &= ids
            if _is_busy(lane) or not self._may_send(lane, settings.per_minute):
                continue  # they are told together when it is free
            untold = [question for question in open_ones if question.id not in lane.told]
            until = None if mute is None else mute.until
            due = to_tell(untold, channel, now, group=settings.group, muted_until=until)
            if mine := self._claimed(name, lane, due):
                lane.sent.append(self._steady())
                after_mute = until is not None and any(question.asked < until for question in mine)
                notice = self._notice(name, channel, mine, now, after_mute=after_mute)
                lane.thread = threading.Thread(
                    target=self._deliver, args=(notice, name, channel, [one.id for one in mine]),
                    name=f"interpose:notify:{name}", daemon=True,
                )  # fmt: skip
                lane.thread.start()

    def settle(self) -> None:
        """Wait for what is under way. For tests."""
        for lane in list(self._lanes.values()):
            if lane.thread is not None:
                lane.thread.join()

    def _may_send(self, lane: _Lane, per_minute: int) -> bool:
        while lane.sent and self._steady() - lane.sent[0] >= _RATE_SECONDS:
            lane.sent.popleft()
        return len(lane.sent) < per_minute

    def _claimed(self, name: str, lane: _Lane, due: Sequence[Question]) -> list[Question]:
        """Those that no other server tells of by this channel."""
        mine: list[Question] = []
        for one in due:
            try:
                if self._store.spend(f"told:{name}:{one.id}", 1, budget=1) is not None:
                    mine.append(one)
            except StoreError:
                break  # what is ours by now is told; the others at the next look
            lane.told.add(one.id)
        return mine

    def _notice(
        self,
        name: str,
        channel: NotificationChannel,
        questions: Sequence[Question],
        now: datetime,
        *,
        after_mute: bool,
    ) -> Notice:
        links: dict[str, tuple[str, str]] = {}
        if base := self._public_url() or self._local_url:
            desk = self._desk()
            for question in questions[:MOST_LISTED]:
                kept, _ = desk.kept(question.id)
                made = partial(new_link, kept, channel=name, person=channel.person, role=channel.role)
                pair = made(), made(purpose="deny")
                look, deny = (base + PATH.replace("{token}", token_of(link, desk.seal())) for link in pair)
                links[question.id] = look, deny
        return notice_of(questions, links, now, details=channel.details, after_mute=after_mute)

    def _deliver(self, notice: Notice, name: str, channel: NotificationChannel, ids: Sequence[str]) -> None:
        problem: NotificationError | None = None
        for seconds in (0.0, *self._pauses):
            if self._over.wait(seconds) or (seconds and not self._are_open(ids)):
                break
            problem = self._attempt(notice, name, channel)
            if problem is None or not problem.again:
                break
        if problem is not None:
            log.warning(
                "channel %s: nobody was told of question %s: %s", name, ", ".join(ids), one_line(text_of(problem))
            )
        self._note(name, "" if problem is None else text_of(problem))

    def _attempt(self, notice: Notice, name: str, channel: NotificationChannel) -> NotificationError | None:
        try:
            send(notice, channel, self._environ)
        except NotificationError as error:
            return error
        except Exception:  # a channel that fails in a way that nobody thought of is one that failed
            log.exception("channel %s failed", name)
            return NotificationError("it failed: see the server's log")
        return None

    def _are_open(self, ids: Sequence[str]) -> bool:
        try:
            return len(self._store.settled(ids, now_ns=self._clock_ns())) < len(ids)
        except StoreError:
            return True

    def _note(self, name: str, problem: str) -> None:
        now = self._clock_ns()
        try:
            if problem:
                note_failed(self._store, name, one_line(problem), moment(now), now)
            else:
                note_sent(self._store, name, moment(now), now)
        except StoreError as error:
            log.warning("channel %s: how it went can't be kept: %s", name, text_of(error))


def _is_busy(lane: _Lane) -> bool:
    return lane.thread is not None and lane.thread.is_alive()
