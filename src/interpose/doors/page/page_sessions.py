"""Who is signed in at the page. A cookie is a name and a secret; the store has the name and a hash, sealed by us.

    sign in -> a session of its own -> another secret every 15 minutes of use -> 1 hour unused, or 12 hours in all: over

INVARIANT: what is in the store signs nobody in: a row that the server did not seal is none, and no secret is kept.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import MsgspecError, Struct
from msgspec import json as fast
from msgspec.structs import replace

from interpose.doors.http_server.messages import Role
from interpose.people.approvals.seal import Sealed

if TYPE_CHECKING:
    from interpose.composition.service.answering import Answering
    from interpose.record.store.protocols import Sessions

LONGEST = 12 * 3600
UNUSED = 3600
ROTATED_AFTER = 900
"""Seconds: in all, without use, and until the secret is another one."""
OLD_COUNTS = 60
"""Seconds for which the secret before still counts: requests of a page may be on their way with it."""
MOST_OUTCOMES = 4
"""Forms whose outcome can still be shown: those that were sent last."""
LONGEST_LINE = 400
_NOTED_AFTER = 60
_MOST_LOOKED_AT = 20
_PREFIX = "page:"
_KIND = "page-session"
_NANO = 1_000_000_000


class OutcomeLine(Struct, frozen=True):
    """What became of one thing that a form asked for. `question` is the id of the question that it was about."""

    text: str
    question: str = ""
    notes: tuple[str, ...] = ()
    failed: bool = False


class Outcome(Struct, frozen=True):
    """What became of a form. The key stands in the address where it is shown."""

    key: str
    lines: tuple[OutcomeLine, ...]


class PageSession(Struct, frozen=True, kw_only=True):
    """One browser that is signed in. Times are seconds.

    `proven` is the proof by which a person paired it, empty if it was signed in by a token; `token` is the digest of
    that. `csrf` stands in every form of its pages. `here` is one on this machine: its cookie, taken elsewhere, is worth
    no more there.
    """

    id: str
    name: str
    role: Role
    csrf: str
    begun: int
    used: int
    rotated: int
    secret: str
    before: str = ""
    proven: str = ""
    token: str = ""
    here: bool = False
    ended: bool = False
    outcomes: tuple[Outcome, ...] = ()


class SignedIn(Struct, frozen=True):
    """A session, and the cookie to send if there is a new one."""

    session: PageSession
    cookie: str = ""


class PageSessions:
    """All of them. Each method blocks."""

    def __init__(self, store: Sessions, answering: Answering) -> None:
        self._store, self._seal, self._clock = store, answering.seal, answering.clock

    def begin(
        self, name: str, role: Role, *, proven: str = "", token: str = "", here: bool = False
    ) -> SignedIn:  # fmt: skip
        """Somebody signs in."""
        id, secret, now = secrets.token_urlsafe(12), secrets.token_urlsafe(32), self._now()
        session = PageSession(
            id=id, name=name, role=role, csrf=secrets.token_urlsafe(24), begun=now, used=now, rotated=now,
            secret=_hash(secret), proven=proven, token=token, here=here,
        )  # fmt: skip
        self._save(session, 0)
        return SignedIn(session, f"{id}.{secret}")

    def found(self, cookie: str, *, used: bool = True) -> SignedIn | None:
        """Whose cookie it is; None if nobody's any more. A page that looks by itself is not `used` by anybody."""
        id, _, secret = cookie.partition(".")
        kept = self._load(id) if secret else None
        if kept is None:
            return None
        session, version = kept
        now, shown = self._now(), _hash(secret)
        old = now - session.rotated < OLD_COUNTS and hmac.compare_digest(session.before, shown)
        is_over = session.ended or now >= session.begun + LONGEST or now >= session.used + UNUSED
        if is_over or not (old or hmac.compare_digest(session.secret, shown)):
            return None
        if not used:
            return SignedIn(session)
        if not old and now >= session.rotated + ROTATED_AFTER:
            fresh = secrets.token_urlsafe(32)
            changed = replace(session, secret=_hash(fresh), before=shown, rotated=now, used=now)
            return SignedIn(changed, f"{id}.{fresh}") if self._save(changed, version) else SignedIn(session)
        if now >= session.used + _NOTED_AFTER:
            self._save(replace(session, used=now), version)
        return SignedIn(session)

    def end(self, id: str) -> None:
        """Sign out."""
        self._change(id, lambda session: replace(session, ended=True))

    def keep(self, id: str, lines: Sequence[OutcomeLine]) -> str:
        """Keep what became of a form. The key by which the session finds it; empty if it could not be kept."""
        outcome = Outcome(secrets.token_urlsafe(9), tuple(_bounded(line) for line in lines))
        kept = self._change(
            id, lambda session: replace(session, outcomes=(*session.outcomes, outcome)[-MOST_OUTCOMES:])
        )
        return outcome.key if kept else ""

    def _change(self, id: str, change: Callable[[PageSession], PageSession]) -> bool:
        """Change a session. What others change at the same time happens before."""
        for _ in range(5):
            kept = self._load(id)
            if kept is None:
                return False
            if self._save(change(kept[0]), kept[1]):
                return True
        return False

    def is_anybody_in(self) -> bool:
        """Whether somebody is signed in who used a page of late."""
        since = (self._now() - UNUSED) * _NANO
        found = self._store.sessions(prefix=_PREFIX, since_ns=since, limit=_MOST_LOOKED_AT)
        kept = (self._load(state.session.removeprefix(_PREFIX)) for state in found)
        return any(one is not None and not one[0].ended for one in kept)

    def end_all(self) -> int:
        """Sign everybody out. Says how many were signed in."""
        now, ended = self._now(), 0
        for state in self._store.sessions(prefix=_PREFIX, since_ns=(now - LONGEST) * _NANO):
            kept = self._load(state.session.removeprefix(_PREFIX))
            if kept is not None and not kept[0].ended:
                self.end(kept[0].id)
                ended += 1
        return ended

    def _now(self) -> int:
        return self._clock() // _NANO

    def _load(self, id: str) -> tuple[PageSession, int] | None:
        state = self._store.load_session(_PREFIX + id) if 0 < len(id) <= 40 else None
        if state is None:
            return None
        try:
            sealed = fast.decode(state.body, type=Sealed)
            if not self._seal.accepts(_KIND, sealed, id):
                return None
            return fast.decode(sealed.content, type=PageSession), state.version
        except MsgspecError:
            return None

    def _save(self, session: PageSession, version: int) -> bool:
        body = fast.encode(self._seal.sealed(_KIND, fast.encode(session), session.id))
        return self._store.save_session(_PREFIX + session.id, body, version=version, now_ns=self._clock())


def _bounded(line: OutcomeLine) -> OutcomeLine:
    return replace(line, text=line.text[:LONGEST_LINE], notes=tuple(note[:LONGEST_LINE] for note in line.notes[:4]))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
