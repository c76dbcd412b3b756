"""That questions are answered with yes for a while stands in the ledger: who said so, for how long and why.

Such a record looks like one of a call: its tool is `pause`. Each call that a pause let through names it as approver.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpose.core.errors import AuditUnavailableError, StoreError, text_of
from interpose.core.types import Allow, Context, ToolCall, ToolOutcome, Verdict, freeze

if TYPE_CHECKING:
    from datetime import datetime

    from interpose.composition.service.service import Service
    from interpose.people.approvals.grants import Given

TOOL = "pause"


def pause(service: Service, by: str, until: datetime, *, agent: str = "", reason: str = "") -> Given:
    """Answer questions with yes until then. Raises ScopeError, NotProvenError or StoreError. Blocks.

    INVARIANT: no record, no pause.
    """
    seal, pauses = service.desk.seal(), service.desk.pauses
    pauses.end_of(until)  # what can't be is not recorded
    _record(service, "begin", by, agent=agent, reason=reason, until=until.isoformat())
    return pauses.begin(by, until, seal, agent=agent, reason=reason)


def end_pause(service: Service, id: str, by: str) -> bool:
    """End a pause before its time. False if there is none. It ends whether that can be recorded or not. Blocks."""
    found = next((given for given in service.desk.pauses.standing() if given.id == id), None)
    if found is None or not service.desk.revoke(id):
        return False
    try:
        _record(service, "end", by, agent=found.agent, reason=found.comment, until=found.ends.isoformat())
    except StoreError:
        pass  # the ledger's own alarm says so
    return True


def _record(service: Service, act: str, by: str, **facts: str) -> None:
    arguments = freeze({"act": act, **facts})
    call = ToolCall(TOOL, arguments, context=Context(source=TOOL, principal=by))
    verdict: Verdict[ToolCall] = Verdict(outcome="allow", decision=Allow(), payload=call, approver=by)
    recorder = service.ledger.recorder
    try:
        record = recorder.decided(verdict)
        recorder.finished(verdict, ToolOutcome(call, {"status": act}, approver=by), None)
        if record is not None:
            record.wait()
    except AuditUnavailableError as error:
        raise StoreError(f"it could not be recorded, and does not count: {text_of(error)}") from error
