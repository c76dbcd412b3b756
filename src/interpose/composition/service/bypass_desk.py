"""Where operators let commands pass their chain rules for a while: signed by the server, kept in the store, recorded.

INVARIANT: only a desk that has the seal gives, and only what it signed counts. Nobody reaches `give` who has not shown
to be a person and no agent (surfaces/http/proving.py). A word that could not be recorded does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns
from typing import TYPE_CHECKING

from msgspec import MsgspecError, Struct
from msgspec import json as fast

from interpose.core.command_text import COMMAND_TOOL
from interpose.core.errors import AuditUnavailableError, NotProvenError, ScopeError, StoreError
from interpose.core.late import late_logger
from interpose.core.types import Allow, Context, Finding, ToolCall, ToolOutcome, Verdict, freeze, new_id
from interpose.people.approvals.desk import NO_SERVER
from interpose.people.approvals.seal import Seal, Sealed, Verifier
from interpose.people.approvals.uses import REVOKED, Uses
from interpose.rules.governance.budgets.durations import NANOSECONDS
from interpose.rules.governance.roles.bypasses import MOST_SECONDS, RULE, Bypass, bypassed

if TYPE_CHECKING:
    from interpose.composition.service.answering import Answering
    from interpose.engine.flow.run_parts import Recorder
    from interpose.record.store.protocols import Sessions

log = late_logger("interpose.approvals")

ROW = "bypasses:commands"
MOST = 100
"""Words that may stand at the same time."""
_ATTEMPTS = 10
_ID_LETTERS = 12
_KIND = "command-bypass"

_rows = fast.Decoder(tuple[Sealed, ...]).decode
_bypass = fast.Decoder(Bypass).decode


class SeenBypass(Struct, frozen=True, kw_only=True):
    """A word as people see it. With a `problem` it is none: nothing passes by it."""

    bypass: Bypass
    problem: str = ""


class BypassDesk:
    """Gives, shows and takes back. Safe for threads; any number of desks share a store."""

    def __init__(
        self,
        store: Sessions,
        recorder: Recorder | None = None,
        answering: Answering | None = None,
        verifier: Verifier | None = None,
    ) -> None:
        """`answering` is what only a server has. Without it the desk shows what the `verifier` accepts, and nothing
        counts: a process that an agent could have started honours no word."""
        self._store, self._recorder = store, recorder
        self._seal: Seal | None = None if answering is None else answering.seal
        self._uses: Uses | None = None if answering is None else answering.uses
        self._clock: Callable[[], int] = time_ns if answering is None else answering.clock
        self._verifier = self._seal or verifier or Verifier()

    def give(self, command: str, *, by: str, reason: str, seconds: int, session: str = "") -> Bypass:
        """Let commands pass. Raises ScopeError, NotProvenError or StoreError; then nothing passes.

        INVARIANT: who asks for this has shown that `by` is a person and no agent.
        """
        if self._seal is None:
            raise NotProvenError(NO_SERVER, "no_server")
        if not command.strip() or not reason.strip():
            raise ScopeError("a bypass needs a command, and a reason for those who look later")
        if not 1 <= seconds <= MOST_SECONDS:
            raise ScopeError(f"a bypass lasts from 1 second to {MOST_SECONDS // 3600} hours, not {seconds} seconds")
        now = self._clock()
        given = Bypass(
            id=new_id()[:_ID_LETTERS], command=command.strip(), by=by, reason=reason.strip(), given_ns=now,
            ends_ns=now + seconds * NANOSECONDS, session=session,
        )  # fmt: skip
        sealed = self._seal.sealed(_KIND, fast.encode(given))
        self._record("bypass", given, by)
        self._change(lambda rows: self._with(rows, sealed, now))
        log.warning("%s lets command %r pass until %s (bypass %s)", by, given.command, given.until, given.id)
        return given

    def seen(self) -> list[SeenBypass]:
        """Words that have not ended, the oldest first. Raises StoreError."""
        now = self._clock()
        found = [self._seen(row) for row in self._load()[0]]
        return [one for one in found if one is not None and (one.problem or one.bypass.ends_ns > now)]

    def revoke(self, id: str, by: str) -> bool:
        """Take a word back. False if there is none of this id. It stays taken back when the store is set back."""
        found = next((one.bypass for one in self.seen() if one.bypass.id == id), None)
        if found is None:
            return False
        if self._uses is not None:
            self._uses.note(_used(id), REVOKED, ends_ns=found.ends_ns, now_ns=self._clock())
        self._change(lambda rows: tuple(row for row in rows if (it := self._read(row)) is None or it.id != id))
        self._record("revoke", found, by)
        return True

    def bypass_of(self, command: str, session: str) -> Bypass | None:
        """The word by which a command passes now; None if there is none, or nobody can say. For chain rules."""
        if self._seal is None:
            return None
        try:
            words = [one.bypass for one in self.seen() if not one.problem]
        except StoreError:
            return None
        return bypassed(words, command, session, self._clock())

    def _seen(self, row: Sealed) -> SeenBypass | None:
        bypass = self._read(row)
        if bypass is None:
            return None
        problem = "" if self._verifier.accepts(_KIND, row) else self._verifier.doubt
        if not problem and self._uses is not None and self._uses.spent(_used(bypass.id)) >= REVOKED:
            problem = "it was revoked, and an older copy of the store brought it back"
        return SeenBypass(bypass=bypass, problem=problem)

    @staticmethod
    def _read(row: Sealed) -> Bypass | None:
        try:
            return _bypass(row.content)
        except MsgspecError:
            return None

    def _with(self, rows: tuple[Sealed, ...], new: Sealed, now: int) -> tuple[Sealed, ...]:
        kept = tuple(row for row in rows if (it := self._read(row)) is not None and it.ends_ns > now)
        if len(kept) >= MOST:
            raise ScopeError(
                f"{MOST} bypasses stand already: take some back with `interpose governance command revoke`"
            )
        return (*kept, new)

    def _load(self) -> tuple[tuple[Sealed, ...], int]:
        state = self._store.load_session(ROW)
        if state is None:
            return (), 0
        try:
            return _rows(state.body), state.version
        except MsgspecError:
            return (), state.version  # somebody wrote something else there: it lets nothing pass

    def _change(self, change: Callable[[tuple[Sealed, ...]], tuple[Sealed, ...]]) -> None:
        for _ in range(_ATTEMPTS):
            rows, version = self._load()
            if self._store.save_session(ROW, fast.encode(change(rows)), version=version, now_ns=self._clock()):
                return
        raise StoreError("the bypasses could not be kept: others keep changing them")

    def _record(self, act: str, bypass: Bypass, by: str) -> None:
        """INVARIANT: no record, no word."""
        if self._recorder is None:
            return
        told = {
            "status": act, "id": bypass.id, "name": bypass.command, "session_id": bypass.session,
            "reason": bypass.reason, "title": f"{bypass.command} until {bypass.until}",
        }  # fmt: skip
        call = ToolCall(COMMAND_TOOL, freeze(told), context=Context(source=COMMAND_TOOL, principal=by))
        word = "lets it pass" if act == "bypass" else "takes the bypass back"
        said = Finding(
            interceptor="interpose:bypasses", said="note", rule=RULE, kind="governance",
            reason=f"{bypass.command}: {by} {word}: {bypass.reason}",
        )  # fmt: skip
        verdict: Verdict[ToolCall] = Verdict(
            outcome="allow", decision=Allow(), payload=call, approver=by, findings=(said,)
        )
        try:
            record = self._recorder.decided(verdict)
            if record is not None:
                record.wait()
            ended = self._recorder.finished(verdict, ToolOutcome(call, {"status": act}, approver=by), None)
        except AuditUnavailableError as error:
            raise StoreError(f"it could not be recorded, and does not count: {error}") from error
        if ended is not None:
            ended.send()


def _used(id: str) -> str:
    """A name among the uses of grants, which have other names."""
    return f"bypass:{id}"
