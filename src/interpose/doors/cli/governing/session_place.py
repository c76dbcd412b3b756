"""Where sessions are looked at: in the store, at the server that runs here, or at one that is named."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import quote

from interpose.composition.service.seen_sessions import SeenSession, SessionsAnswer, seen_sessions
from interpose.composition.service.session_desk import SessionDesk
from interpose.core.config.load import load
from interpose.core.config.settings import Config
from interpose.doors.cli.approving.approvals_desk import ServerDesk, listening_desk, server_named, started_desk
from interpose.doors.cli.auditing.kept_store import kept_store
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.record.ledger.times import moment_ns
from interpose.record.store.protocols import Store
from interpose.rules.governance.sessions.session_keeper import SessionKeeper
from interpose.rules.governance.sessions.session_views import GovernedDetail

T = TypeVar("T")


class SessionPlace(Protocol):
    """Where sessions are."""

    def sessions(self, since: str, state: str, limit: int) -> list[SeenSession]:
        """Sessions that were active since then, the last active first."""

    def session(self, id: str) -> GovernedDetail:
        """One governed session."""

    def halt(self, id: str, reason: str) -> GovernedDetail:
        """Stop its tools."""

    def lift(self, id: str, comment: str) -> GovernedDetail:
        """Let it go on."""


class ServedSessions:
    """The sessions of a server."""

    def __init__(self, desk: ServerDesk) -> None:
        self._desk = desk

    def sessions(self, since: str, state: str, limit: int) -> list[SeenSession]:
        """Sessions that were active since then, the last active first."""
        wanted = f"since={quote(since, safe='')}&limit={limit}" + (f"&state={state}" if state else "")
        return self._desk.ask("GET", f"sessions?{wanted}", SessionsAnswer).sessions

    def session(self, id: str) -> GovernedDetail:
        """One governed session."""
        return self._desk.do("session", GovernedDetail, id=id)

    def halt(self, id: str, reason: str) -> GovernedDetail:
        """Stop its tools. The server knows by whom."""
        return self._desk.do("halt", GovernedDetail, {"reason": reason}, id=id)

    def lift(self, id: str, comment: str) -> GovernedDetail:
        """Let it go on. The server asks for proof."""
        return self._desk.do("lift", GovernedDetail, {"comment": comment}, id=id)


class OwnSessions:
    """This user's sessions. The list is that of the store; what is said to a session, its server hears."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def sessions(self, since: str, state: str, limit: int) -> list[SeenSession]:
        """Sessions that were active since then, the last active first."""
        try:
            since_ns = moment_ns(since, time.time())
        except ValueError as error:
            raise UsageError(f"--since: {error}") from None
        return self._read(lambda store, desk: seen_sessions(store, desk, since_ns=since_ns, limit=limit, state=state))

    def session(self, id: str) -> GovernedDetail:
        """One governed session: as the server knows it, if one runs."""
        if (desk := listening_desk(self._config)) is not None:
            return ServedSessions(desk).session(id)
        return self._read(lambda _store, desk: desk.detail(desk.session(id)))

    def halt(self, id: str, reason: str) -> GovernedDetail:
        """Stop its tools, at a server that is started for it if none runs."""
        return ServedSessions(started_desk(self._config)).halt(id, reason)

    def lift(self, id: str, comment: str) -> GovernedDetail:
        """Let it go on, in the same way.

        INVARIANT: who does so is proven by a server, never by this process, which an agent could start.
        """
        return ServedSessions(started_desk(self._config)).lift(id, comment)

    def _read(self, look: Callable[[Store, SessionDesk], T]) -> T:
        with kept_store(self._config) as store:
            return look(store, SessionDesk(SessionKeeper(store), checkpoints=Path(self._config.governance.checkpoints)))


def session_place(args: argparse.Namespace) -> SessionPlace:
    """The sessions that are meant. Raises UsageError or ConfigError."""
    named = server_named(args)
    return OwnSessions(load(args.config).config) if named is None else ServedSessions(named)
