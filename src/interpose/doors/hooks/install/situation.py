"""How this user's installation stands: who listens, what the ledger holds, who waits, and which hosts were heard."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from time import time_ns

from msgspec import MsgspecError, Struct
from msgspec.structs import replace

from interpose.core.config.settings import Config
from interpose.core.errors import DamagedStoreError, InterposeError, text_of
from interpose.core.formats.counted import plural
from interpose.core.platforms.peers import peer_credentials
from interpose.core.platforms.processes import started_ns
from interpose.core.types import EMPTY
from interpose.doors.hooks.clients.fail_open_log import let_through_in, spool_of
from interpose.doors.hooks.hosts.host_sessions import heard
from interpose.doors.hooks.install.last_heard import LastHeard, seen_hosts
from interpose.doors.hooks.install.unheard_sessions import UnheardSession, unheard_sessions
from interpose.people.approvals.desk import Desk
from interpose.people.approvals.grants import Given
from interpose.people.approvals.seal import open_verifier
from interpose.people.approvals.uses import Uses
from interpose.record.ledger import Recovery, places_of, ran_unapproved, verify_directory, verify_notes
from interpose.record.ledger.canaries import SESSION
from interpose.record.store import open_store
from interpose.record.store.protocols import Query, Store

_VERIFIED_BYTES = 64 << 20
_WEEK_NS = 7 * 86400 * 1_000_000_000
_YEARS_NS = 100 * 365 * 86400 * 1_000_000_000

_STOPPED = (
    "process {pid} listens and does not answer, so hooks are decided without it: let it go on (`kill -CONT {pid}`), or"
    " end it (`kill -KILL {pid}`) and start another (`interpose serve`)"
)


_MOVE = "move that file away"


class ListeningServer(Struct, frozen=True):
    """Who listens on a socket. `pid` is 0 if nobody does; `since` is in seconds since 1970, 0 if that is not known."""

    socket: str
    pid: int = 0
    since: int = 0
    problem: str = ""


class LedgerState(Struct, frozen=True, kw_only=True):
    """What the ledger holds. `decisions` are all of them, also those about `canaries` of `interpose doctor`."""

    place: str
    decisions: int = 0
    canaries: int = 0
    bytes: int = 0
    problem: str = ""
    todo: str = ""
    """What to do about the problem, where it is no damage."""


class Unapproved(Struct, frozen=True):
    """Calls of the last week that ran without the answer of a person that they had to wait for, and the last one."""

    count: int = 0
    last_ns: int = 0
    last_call: str = ""

    @property
    def text(self) -> str:
        """What a person has to know, if there is one."""
        calls = "a call" if self.count == 1 else f"{self.count} calls"
        return (
            f"{calls} ran in the last week although a person had to be asked, and no record says that one agreed; the "
            f"last: interpose audit show {self.last_call}"
        )


class Situation(Struct, frozen=True, kw_only=True):
    """All of it. `opened` counts calls that were let through undecided, as somebody chose.

    `alarms` are grants and answers in the store that no server gave.
    """

    hooks: ListeningServer
    api: ListeningServer
    ledger: LedgerState
    approvals: int
    unapproved: Unapproved
    opened: int
    opened_last: int
    seen: dict[str, LastHeard]
    unheard: tuple[UnheardSession, ...] = ()
    warned: tuple[str, ...] = ()
    """What sessions of the last days were warned of: projects that switch hooks off."""
    alarms: tuple[str, ...] = ()
    pauses: tuple[str, ...] = ()
    """Pauses that hold: questions are answered with yes."""
    notifications: tuple[str, ...] = ()
    """Channels that fail, and that all are muted."""


def situation(config: Config, installed: Mapping[str, int] = EMPTY) -> Situation:
    """Look at everything. What can't be looked at is said in its place; nothing is raised.

    `installed` says since when hosts have hooks, in nanoseconds.
    """
    directory = Path(config.ledger.directory)
    database = directory / "ledger.db"
    place = "PostgreSQL" if config.store.url else str(database)
    ledger, approvals, seen = LedgerState(place=place), 0, dict[str, LastHeard]()
    unheard: tuple[UnheardSession, ...] = ()
    warned: tuple[str, ...] = ()
    unapproved = Unapproved()
    alarms: tuple[str, ...] = ()
    pauses: tuple[str, ...] = ()
    notifications: tuple[str, ...] = ()
    if config.store.url or database.is_file():
        try:
            store = open_store(config.store.url or database, read_only=True)
            try:
                ledger, approvals, seen = _ledger(store, place, directory), _waiting(store), seen_hosts(store)
                unheard, warned = unheard_sessions(installed, store), _warned(store)
                unapproved = _unapproved(store)
                alarms, pauses = grant_flaws(config, store), _pauses(config, store)
                notifications = _notifications(config, store)
            finally:
                store.close()
        except (InterposeError, OSError, MsgspecError) as error:
            ledger = _unreadable(place, error)
    else:  # nobody was ever heard: whoever works never asked
        unheard = unheard_sessions(installed, None)
        if gone := ledger_gone(directory):
            ledger = LedgerState(place=place, problem=gone)
        elif other := _in_its_place(directory):
            ledger = LedgerState(place=place, problem=f"{other} is no directory, and calls are refused", todo=_MOVE)
    if problem := _alarm(config):
        ledger = replace(ledger, problem=problem)
    opened = let_through_in(spool_of(config))
    return Situation(
        hooks=listening(config.hooks.socket),
        api=listening(config.server.socket),
        ledger=ledger,
        approvals=approvals,
        unapproved=unapproved,
        opened=len(opened),
        opened_last=max((each.at for each in opened), default=0),
        seen=seen,
        unheard=unheard,
        warned=warned,
        alarms=alarms,
        pauses=pauses,
        notifications=notifications,
    )


def _in_its_place(directory: Path) -> Path | None:
    """What is where the directory of the ledger has to be, if that is no directory."""
    first = next(each for each in (directory, *directory.parents) if os.path.lexists(each))
    return None if first.is_dir() else first


def _unreadable(place: str, error: Exception) -> LedgerState:
    if isinstance(error, DamagedStoreError):
        return LedgerState(place=place, problem=f"{text_of(error)}. See `interpose audit recover`")
    return LedgerState(place=place, problem=text_of(error), todo="make it yours to read and write, and look again")


def _alarm(config: Config) -> str:
    """What processes that write to the ledger have found out about its files."""
    found = Recovery(Path(config.ledger.directory)).alarms()
    return f"calls are refused: {'; '.join(found)}. See `interpose audit recover`" if found else ""


def _damage(store: Store, directory: Path) -> str:
    """What is damaged and not answered yet, as far as a quick look shows; `audit verify` looks at everything."""
    notes = verify_notes(directory, store)
    return f"{'; '.join(one.why for one in notes)}. See `interpose audit verify`" if notes else ""


def _ledger(store: Store, place: str, directory: Path) -> LedgerState:
    return LedgerState(
        place=place, decisions=_decisions(store), canaries=_decisions(store, SESSION), bytes=store.size(),
        problem=_damage(store, directory),
    )  # fmt: skip


def _decisions(store: Store, session: str = "") -> int:
    tallies = store.tallies(Query(kinds=("decided",), session=session), _YEARS_NS)
    return sum(tally.count for tally in tallies)


def _warned(store: Store) -> tuple[str, ...]:
    sessions = heard(store, since_ns=time_ns() - _WEEK_NS)
    found = (f"{each.host} started in {each.cwd}: {text}" for each in sessions for text in each.switches)
    return tuple(dict.fromkeys(found))


def store_desk(config: Config, store: Store) -> Desk:
    """A desk for those who only look: it has the public key, and neither answers nor takes."""
    uses = Uses(Path(config.approvals.directory) / "uses", alarm=lambda _key, _text: None)
    uses.read()
    verifier = open_verifier(Path(config.approvals.key))
    return Desk(store, timeout=config.approvals.timeout, key=b"", verifier=verifier, uses=uses)


def grant_flaws(config: Config, store: Store) -> tuple[str, ...]:
    """Grants and answers in the store that no server gave: they count for nothing, and somebody put them there."""
    return tuple(store_desk(config, store).flaws().values())


def standing_pauses(config: Config, store: Store) -> list[Given]:
    """Pauses that hold now."""
    return [given for given in store_desk(config, store).grants() if given.scope.kind == "pause" and not given.problem]


def _pauses(config: Config, store: Store) -> tuple[str, ...]:
    return tuple(_pause_text(given) for given in standing_pauses(config, store))


def _pause_text(given: Given) -> str:
    whose, why = (f" of {given.agent}" if given.agent else "", f" ({given.comment})" if given.comment else "")
    until = f"{given.ends.astimezone():%Y-%m-%d %H:%M}"
    return (
        f"questions{whose} are answered with yes until {until}, as {given.by} said{why}; end it with "
        f"`interpose approvals pause end {given.id}`"
    )


def _notifications(config: Config, store: Store) -> tuple[str, ...]:
    """What keeps people from being told of questions."""
    if not config.notifications.channels:
        return ()
    from interpose.people.notifications.standing import read_mute, read_standing

    found = [
        f"channel {name} fails ({plural(one.failed, 'notification')} did not arrive): {one.problem}; try it with "
        f"`interpose approvals notify test {name}`"
        for name in config.notifications.channels
        if (one := read_standing(store, name)).problem
    ]
    mute = read_mute(store, open_verifier(Path(config.approvals.key)))
    if mute is not None and mute.until.timestamp() > time_ns() / 1e9:
        until = f"{mute.until.astimezone():%Y-%m-%d %H:%M}"
        found.append(f"muted until {until} by {mute.by}; end it with `interpose approvals notify unmute`")
    return tuple(found)


def _waiting(store: Store) -> int:
    return len(store.waiting(now_ns=time_ns(), limit=1000))


def _unapproved(store: Store) -> Unapproved:
    found = ran_unapproved(store, time_ns() - _WEEK_NS)
    return Unapproved(len(found), found[0].time_ns, found[0].call_id) if found else Unapproved()


def ledger_flaw(config: Config) -> str | None:
    """What is wrong with the chain of the ledger; empty if it is whole, None if it is too large to be verified here."""
    directory = Path(config.ledger.directory)
    database = directory / "ledger.db"
    if config.store.url or (database.is_file() and database.stat().st_size > _VERIFIED_BYTES):
        return None
    if not database.is_file():
        return ledger_gone(directory)
    try:
        store = open_store(database, read_only=True)
        try:
            found = verify_directory(directory, store, places_of(config.ledger.anchor))
        finally:
            store.close()
    except (InterposeError, OSError) as error:
        return text_of(error)
    return "; ".join(f"{broken.writer} #{broken.seq}: {broken.why}" for broken in found.broken)


def _says_anything(connected: socket.socket) -> bool:
    """Whether a server answers at all. One that is stopped still takes connections."""
    try:
        connected.sendall(b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return bool(connected.recv(1))
    except TimeoutError:
        return False


def ledger_gone(directory: Path) -> str:
    """What is wrong with a ledger that has no database; empty if nothing was recorded yet."""
    count = len(list((directory / "heads").glob("*")))
    return (
        f"ledger.db is gone, and {plural(count, 'chain')} had entries in it. See `interpose audit recover`"
        if count
        else ""
    )


def _listener(connected: socket.socket) -> tuple[int, int]:
    """Process and user of who listens. A user that the system does not name is nobody's."""
    found = peer_credentials(connected)
    return (0, -1) if found is None else (found.pid, found.uid)


def listening(path: str) -> ListeningServer:
    """Who listens on a Unix socket, and since when."""
    if not path:
        return ListeningServer(path)
    try:
        with socket.socket(socket.AF_UNIX) as connected:
            connected.settimeout(2.0)
            connected.connect(path)
            pid, owner = _listener(connected)
            answers = owner in (os.geteuid(), 0) and _says_anything(connected)
    except (FileNotFoundError, ConnectionRefusedError):
        return ListeningServer(path)
    except OSError as error:
        return ListeningServer(path, problem=text_of(error))
    if owner not in (os.geteuid(), 0):
        return ListeningServer(path, pid, problem=f"it belongs to user {owner}, and is not believed")
    if not answers:
        return ListeningServer(path, pid, problem=_STOPPED.format(pid=pid))
    try:
        return ListeningServer(path, pid, started_ns(pid) // 10**9)
    except OSError:
        return ListeningServer(path, pid)
