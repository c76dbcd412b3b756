"""A record: what people see of one call, put together from its entries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from msgspec import UNSET, MsgspecError, Raw, Struct, UnsetType
from msgspec.json import Decoder
from msgspec.structs import replace

from interpose.ledger.entry import Decided, Finished, OutcomeWord, SeenEffect
from interpose.store.protocols import EntryStore, Query, StoredEntry
from interpose.types import Finding

RecordOutcome = OutcomeWord | Literal["unknown"]
"""`unknown`: the outcome never came, because the process ended or still runs the tool."""

_decided = Decoder(Decided).decode
_finished = Decoder(Finished).decode
_any = Decoder().decode
_NO_DECISION = Decided()


class Record(Struct, frozen=True, kw_only=True):
    """One call: what was decided, and what came of it. Arguments and result are without their secrets.

    `arguments` and `result` are UNSET where their values are not kept.
    """

    call_id: str
    writer: str
    seq: int
    time_ns: int
    session: str
    agent: str
    tool: str
    decision: str
    rule: str
    reason: str
    outcome: RecordOutcome
    finished_ns: int
    duration_ns: int
    exit_code: int | None
    bytes: int
    arguments: Any | UnsetType
    arguments_digest: str
    result: Any | UnsetType
    result_digest: str
    original_name: str
    role: str
    principal: str
    cwd: str
    trace_id: str
    source: str
    questions: tuple[str, ...]
    findings: tuple[Finding, ...]
    effects: tuple[SeenEffect, ...]
    rewritten: bool
    approver: str
    elapsed_ns: int
    policy: str
    timings: tuple[tuple[str, int], ...]
    position: int


def records(entries: Iterable[StoredEntry]) -> list[Record]:
    """The records of these entries, in the order of their first ones. Entries that belong to no call are left out.

    Of several decisions or outcomes of one call the last counts: a refusal for want of a record comes after what was
    hanging in the storage when it was given.
    """
    decided: dict[str, StoredEntry] = {}
    finished: dict[str, StoredEntry] = {}
    for entry in entries:
        if entry.kind == "decided":
            decided[entry.call_id] = entry
        elif entry.kind == "finished":
            finished[entry.call_id] = entry
    return [record(first, finished.get(call)) for call, first in decided.items()]


def search(store: EntryStore, query: Query, limit: int, after: int | None = None) -> list[Record]:
    """The newest records whose decisions match. `after` is the position of the last one of the page before."""
    found = store.query(replace(query, kinds=("decided",)), limit, after)
    known = {one.call_id: one for one in records(store.of_calls([entry.call_id for entry in found]))}
    return [known[entry.call_id] for entry in found if entry.call_id in known]


def record(decided: StoredEntry, finished: StoredEntry | None) -> Record:
    """The record of a decision and of its outcome, if it came. A body that can't be read leaves its fields empty."""
    try:
        said = _decided(decided.body)
    except MsgspecError:
        said = _NO_DECISION
    end: Finished | None = None
    if finished is not None:
        try:
            end = _finished(finished.body)
        except MsgspecError:
            finished = None
    words = said.said
    return Record(
        call_id=decided.call_id, writer=decided.writer, seq=decided.seq, time_ns=decided.time_ns,
        session=decided.session, agent=decided.agent, tool=decided.tool, decision=decided.decision, rule=decided.rule,
        reason=words.reason, outcome="unknown" if end is None else end.outcome,
        finished_ns=0 if finished is None else finished.time_ns, duration_ns=0 if end is None else end.duration_ns,
        exit_code=None if end is None else end.exit_code, bytes=0 if end is None else end.bytes,
        arguments=_value(said.arguments), arguments_digest=said.arguments_digest,
        result=UNSET if end is None else _value(end.result), result_digest="" if end is None else end.result_digest,
        original_name=said.original_name, role=said.role, principal=said.principal, cwd=said.cwd,
        trace_id=said.trace_id, source=said.source, questions=words.questions, findings=words.findings,
        effects=words.effects, rewritten=said.rewritten,
        approver=said.approver or ("" if end is None else end.approver), elapsed_ns=said.elapsed_ns,
        policy=said.policy, timings=said.timings, position=decided.position,
    )  # fmt: skip


def _value(raw: Raw) -> Any | UnsetType:
    return _any(raw) if raw else UNSET
