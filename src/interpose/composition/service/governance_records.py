"""What governance and its operators do stands in the ledger: halts, lifts, and how delegated work ended.

Such a record looks like one of a call: its tool is `governance`, its arguments say what was done, and to which session.
Violations and denials are in the records of their own calls; a bypass is in bypass_desk.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from interpose.core.errors import AuditUnavailableError, StoreError
from interpose.core.late import late_logger
from interpose.core.types import Allow, Context, Deny, Finding, ToolCall, ToolOutcome, Verdict, freeze
from interpose.core.types import refused as refusal
from interpose.rules.governance.sessions.session_keys import kept_key

if TYPE_CHECKING:
    from interpose.engine.flow.run_parts import Recorder
    from interpose.rules.governance.sessions.sessions import GovernedSession

log = late_logger("interpose.governance")

TOOL = "governance"
HALT, LIFT, TASK = "governance/halt", "governance/lift", "governance/task"

GovernanceAct = Literal["halted", "lifted", "task-done", "task-failed"]
_RULES: dict[GovernanceAct, str] = {"halted": HALT, "lifted": LIFT, "task-done": TASK, "task-failed": TASK}


class GovernanceEvent(Struct, frozen=True, kw_only=True):
    """Something that governance did to a session, or that happened in it."""

    act: GovernanceAct
    session: str
    reason: str
    key: str = ""
    """By which the session is found (session_keys.py)."""
    at_ns: int = 0
    by: str = ""
    """The operator who said so; `governance/stall` and the like where nobody did."""
    agent: str = ""
    role: str = ""
    host: str = ""
    project: str = ""
    principal: str = ""
    """Whose session it is."""
    watch: bool = False
    """It would have happened: nothing was halted."""
    checkpoint: str = ""
    delegation: str = ""
    """The id of the call that delegated."""
    target: str = ""


def halted_event(session: GovernedSession, *, agent: str = "", role: str = "", watch: bool = False) -> GovernanceEvent:
    """That a session was halted, or would have been: then its halt is one that nobody kept."""
    halt = session.halt
    return GovernanceEvent(
        act="halted", session=session.id, key=kept_key(session.key or session.id), agent=agent, role=role,
        host=session.host, project=session.project, principal=session.principal, watch=watch,
        reason=halt.reason if halt is not None else "", by=halt.by if halt is not None else "",
        at_ns=halt.at_ns if halt is not None else 0, checkpoint=halt.checkpoint if halt is not None else "",
    )  # fmt: skip


class GovernanceRecords:
    """Called with what happens. A halt holds whether it could be recorded or not; a lift that can't be recorded is
    none."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __call__(self, event: GovernanceEvent) -> None:
        """Record it. Raises StoreError if a lift can't be."""
        told = {
            name: value for name in event.__struct_fields__ if (value := getattr(event, name)) not in ("", False, 0)
        }
        by_operator = event.by if event.act == "lifted" or not event.by.startswith("governance/") else ""
        context = Context(
            session_id=event.session, agent_id=event.agent, role=event.role, cwd=event.project, source=TOOL,
            principal=event.principal,
        )  # fmt: skip
        call = ToolCall(TOOL, freeze(told), context=context)
        failed = event.act == "task-failed"
        denied = event.act == "halted" and not event.watch
        verdict = self._verdict(event, call, by_operator)
        outcome = ToolOutcome(call, {"status": event.act}, is_error=denied or failed, denied=denied)
        try:
            record = self._recorder.decided(verdict)
            if record is not None and event.act == "lifted":
                record.wait()
            ended = self._recorder.finished(verdict, outcome, None)
        except AuditUnavailableError as error:
            if event.act == "lifted":  # no record, no lift
                raise StoreError(f"it could not be recorded, and does not count: {error}") from error
            log.warning("that session %r was %s could not be recorded: %s", event.session[:64], event.act, error)
            return
        for sent in (record if event.act != "lifted" else None, ended):
            if sent is not None:
                sent.send()

    @staticmethod
    def _verdict(event: GovernanceEvent, call: ToolCall, by_operator: str) -> Verdict[ToolCall]:
        rule = _RULES[event.act]
        if event.act == "halted" and not event.watch:
            nothing: Verdict[ToolCall] = Verdict(outcome="allow", decision=Allow(), payload=call)
            return refusal(nothing, Deny(event.reason, rule), by="interpose:governance")
        said = Finding(
            interceptor="interpose:governance", said="deny" if event.act == "halted" else "note", rule=rule,
            reason=event.reason, mode="watch" if event.watch else "enforce", kind="governance",
        )  # fmt: skip
        return Verdict(outcome="allow", decision=Allow(), payload=call, approver=by_operator, findings=(said,))
