"""`hooks.ask: host`: ordinary questions go to a host's own prompt also where something else might answer it.

    choose     a person says so, with proof; it is recorded and signed
    keep       before a question is handed over: the call is remembered, signed, in the store
    heard      the host's own event says that it asks its person about that call
    close      the result is there; without that event it is withheld, and
    end        the host is handed nothing more in that version and mode, until a person chooses again

INVARIANT: what is remembered survives the end of this process, and no other call can push it out: where there is no
room a question is not handed over. That a hand-over ended is kept outside the store, as uses of grants are.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import MsgspecError, Struct
from msgspec import json as fast
from msgspec.structs import replace

from interpose.core.errors import AuditUnavailableError, NotProvenError, StoreError, text_of
from interpose.core.late import late_logger
from interpose.core.types import Allow, Context, PermissionRequest, ToolCall, ToolOutcome, Verdict, freeze
from interpose.engine.flow.handed_over import HandedOver
from interpose.people.approvals.desk import NO_SERVER
from interpose.people.approvals.known_calls import is_ordinary
from interpose.people.approvals.seal import Sealed
from interpose.record.store.protocols import NEVER

if TYPE_CHECKING:
    from interpose.composition.service.answering import Answering
    from interpose.engine.flow.run_parts import Recorder
    from interpose.record.store.protocols import Sessions

log = late_logger("interpose.approvals")

TOOL = "hand-over"
MOST_UNASKED = 100
MOST_ASKED = 100
"""Calls that are remembered: of those that the host has not asked about none is ever forgotten for another."""
KEPT_NS = 7 * 24 * 3600 * 1_000_000_000
_ATTEMPTS = 5

_rows = fast.Decoder(tuple[Sealed, ...]).decode
_handed = fast.Decoder(HandedOver).decode


class HandOverChoice(Struct, frozen=True, kw_only=True):
    """A person lets a host ask."""

    host: str
    by: str
    given_ns: int


_choice = fast.Decoder(HandOverChoice).decode


class HandOvers:
    """For one server and the hosts of its machine. Safe for threads; each method blocks."""

    def __init__(self, store: Sessions, recorder: Recorder | None, answering: Answering | None, place: str) -> None:
        """`place` is where this server keeps what is its own: servers that share a store hand over for themselves."""
        where = f"{os.uname().nodename}:{place}"
        self._row = f"hand-over:{hashlib.blake2b(where.encode(), digest_size=12).hexdigest()}"
        self._store, self._recorder, self._answering = store, recorder, answering
        self._lock = threading.RLock()
        self._calls: dict[tuple[str, str], HandedOver] | None = None

    def choose(self, host: str, by: str) -> HandOverChoice:
        """Let a host ask ordinary questions. Raises NotProvenError or StoreError; then it does not count.

        INVARIANT: who asks for this has shown that `by` is a person and no agent.
        """
        answering = self._server()
        made = HandOverChoice(host=host, by=by, given_ns=answering.clock())
        self._record("begin", host, by)
        sealed = answering.seal.sealed("hand-over-choice", fast.encode(made))
        others = [row for row in self._sealed("choices") if (one := self._chosen(row)) is not None and one.host != host]
        self._save("choices", (*others, sealed))
        log.warning("%s lets %s ask ordinary questions at its own prompt", by, host)
        return made

    def withdraw(self, host: str, by: str) -> bool:
        """Take that back. False if nobody had said so. It stays taken back when the store is set back."""
        answering = self._server()
        if all(one.host != host for one in self.choices()):
            return False
        now = answering.clock()
        answering.uses.note(_withdrawn(host), now, ends_ns=NEVER, now_ns=now)
        try:
            self._record("end", host, by)
        except StoreError:
            pass  # the ledger's own alarm says so
        return True

    def choices(self) -> list[HandOverChoice]:
        """What people chose and has not been taken back."""
        if self._answering is None:
            return []
        chosen = filter(None, map(self._chosen, self._sealed("choices")))
        uses = self._answering.uses
        return [one for one in chosen if one.given_ns > max(uses.spent(_withdrawn(one.host)), uses.void_until_ns)]

    def ended(self) -> list[str]:
        """Where a host ran something without asking: host, version and mode, for people."""
        if self._answering is None:
            return []
        names = [name for name in self._answering.uses.known() if name.startswith(_ENDED)]
        return [" ".join(name.removeprefix(_ENDED).split("\n")) for name in names]

    def may(self, host: str, version: str, mode: str) -> bool:
        """Whether a person chose this, and the host has not run anything unasked since."""
        if self._answering is None or not version:
            return False
        ended_ns = self._answering.uses.spent(_ended(host, version, mode))
        return any(one.host == host and one.given_ns > ended_ns for one in self.choices())

    def keep(self, handed: HandedOver) -> bool:
        """Remember a call that is about to be handed over. False if it can't be remembered: then it must not be."""
        with self._lock:
            calls = self._known()
            fresh = {at: one for at, one in calls.items() if one.at_ns > handed.at_ns - KEPT_NS}
            asked = [at for at, one in fresh.items() if one.asked]
            if (known := fresh.get((handed.session, handed.key))) is not None:  # two hooks for one call
                return known.place == handed.place
            if len(fresh) - len(asked) >= MOST_UNASKED:
                return False
            for at in asked[: max(0, len(asked) - MOST_ASKED)]:
                del fresh[at]
            fresh[handed.session, handed.key] = handed
            try:
                self._save_calls(fresh.values())
            except StoreError as error:
                log.warning("a question is not handed over, as that can't be kept: %s", text_of(error))
                return False
            self._calls = fresh
            return True

    def heard(self, session: str, key: str, place: str) -> None:
        """The host says that it asks its person."""
        with self._lock:
            calls = self._known()
            alike = [
                one
                for one in calls.values()
                if one.session == session and not one.asked and (one.key == key if key else one.place == place)
            ]
            if not alike:
                return
            asked = alike[-1]
            calls[asked.session, asked.key] = replace(asked, asked=True)
            self._save_calls(calls.values())

    def close(self, session: str, key: str) -> HandedOver | None:
        """The call that has a result now."""
        with self._lock:
            calls = self._known()
            found = calls.pop((session, key), None)
            if found is not None:
                try:
                    self._save_calls(calls.values())
                except StoreError as error:
                    log.warning("call %s stays among those that were handed over: %s", found.call_id, text_of(error))
            return found

    def end(self, unasked: HandedOver) -> None:
        """Nothing more is handed over there."""
        answering = self._server()
        answering.alarms(
            f"unasked:{unasked.call_id}",
            f"{unasked.where} ran call {unasked.call_id} of session {unasked.session!r} without asking its person: the "
            "result was withheld, and its questions wait in the queue from now on",
        )
        now = answering.clock()
        name = _ended(unasked.host, unasked.version, unasked.mode)
        answering.uses.note(name, now, ends_ns=NEVER, now_ns=now)

    def _server(self) -> Answering:
        if self._answering is None:
            raise NotProvenError(NO_SERVER, "no_server")
        return self._answering

    def _known(self) -> dict[tuple[str, str], HandedOver]:
        if self._calls is None:
            found = [self._opened("handed-over", row) for row in self._sealed("calls")]
            calls = [fast.decode(body, type=HandedOver) for body in found if body is not None]
            self._calls = {(one.session, one.key): one for one in calls}
        return self._calls

    def _save_calls(self, calls: Iterable[HandedOver]) -> None:
        seal = self._server().seal
        self._save("calls", tuple(seal.sealed("handed-over", fast.encode(one)) for one in calls))

    def _chosen(self, row: Sealed) -> HandOverChoice | None:
        body = self._opened("hand-over-choice", row)
        return None if body is None else _choice(body)

    def _opened(self, kind: str, row: Sealed) -> bytes | None:
        seal = self._server().seal
        return (
            bytes(row.content)
            if seal.accepts(
                kind,
                row,
            )
            else None
        )

    def _sealed(self, what: str) -> tuple[Sealed, ...]:
        state = self._store.load_session(f"{self._row}:{what}")
        try:
            return () if state is None else _rows(state.body)
        except MsgspecError:
            return ()  # somebody wrote something else there: it hands nothing over

    def _save(self, what: str, rows: tuple[Sealed, ...]) -> None:
        """INVARIANT: what this process remembers is what is kept. Nobody else writes this row."""
        name, now = f"{self._row}:{what}", self._server().clock()
        for _ in range(_ATTEMPTS):
            state = self._store.load_session(name)
            if self._store.save_session(name, fast.encode(rows), version=state.version if state else 0, now_ns=now):
                return
        raise StoreError("what was handed over could not be kept: others keep changing it")

    def _record(self, act: str, host: str, by: str) -> None:
        """INVARIANT: no record, no hand-over."""
        if self._recorder is None:
            return
        call = ToolCall(TOOL, freeze({"act": act, "host": host}), context=Context(source=TOOL, principal=by))
        verdict: Verdict[ToolCall] = Verdict(outcome="allow", decision=Allow(), payload=call, approver=by)
        try:
            record = self._recorder.decided(verdict)
            self._recorder.finished(verdict, ToolOutcome(call, {"status": act}, approver=by), None)
            if record is not None:
                record.wait()
        except AuditUnavailableError as error:
            raise StoreError(f"it could not be recorded, and does not count: {text_of(error)}") from error


class HandingOver:
    """One event's call, which may be handed over to its host."""

    def __init__(self, hand_overs: HandOvers, handed: HandedOver) -> None:
        self._hand_overs, self._handed = hand_overs, handed

    def keep(self, request: PermissionRequest) -> bool:
        """Whether the host asks this; it is remembered then. Blocks.

        INVARIANT: whatever can't be told, read or kept is asked in our queue.
        """
        call, at = request.subject, self._handed
        try:
            # A call that was rewritten would be shown as it came.
            if not isinstance(call, ToolCall) or request.original is not None or not is_ordinary(request):
                return False
            if not self._hand_overs.may(at.host, at.version, at.mode):
                return False
        except StoreError:
            return False
        return self._hand_overs.keep(replace(at, call_id=call.call_id))


_ENDED = "unasked:"


def _ended(host: str, version: str, mode: str) -> str:
    """A name among the uses of grants, which have other names. What is noted there is when it ended."""
    return f"{_ENDED}{host}\n{version}\n{mode}"


def _withdrawn(host: str) -> str:
    return f"hand-over:{host}"
