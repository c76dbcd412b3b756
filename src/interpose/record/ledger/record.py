"""A record: what people see of one call, put together from its entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from msgspec import UNSET, MsgspecError, Raw, Struct, UnsetType
from msgspec.json import Decoder
from msgspec.structs import replace

from interpose.core.types import Finding
from interpose.record.ledger.entry import After, Decided, Finished, OutcomeWord, SeenEffect
from interpose.record.ledger.values import request_name
from interpose.record.store.protocols import EntryStore, Query, StoredEntry

RecordOutcome = OutcomeWord | Literal["unknown"]
"""`unknown`: the outcome never came, because the process ended or still runs the tool."""

_decided = Decoder(Decided).decode
_finished = Decoder(Finished).decode
_any = Decoder().decode
_NO_DECISION = Decided()
_LOOKED_THROUGH = 200
"""The newest calls of a session, among which one is looked for whose outcome has come."""


class Record(Struct, frozen=True, kw_only=True):
    """One call: what was decided, and what came of it. Arguments and result are without their secrets.

    `arguments` are those that the tool got, `original_arguments` those that came in if they are others. `result` is
    what the agent got, `original_result` what the tool gave if that is something else; `after` says why. All four are
    UNSET where there is none, or where values are not kept. `approval` is the id of the question that was asked.
    `request_id` is the request in which the call was asked about, `result_request_id` the one that brought its result.
    Many calls may name the same request: its id is the caller's to choose.
    """

    call_id: str
    request_id: str = ""
    result_request_id: str = ""
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
    original_arguments: Any | UnsetType
    original_arguments_digest: str
    result: Any | UnsetType
    result_digest: str
    original_result: Any | UnsetType
    original_result_digest: str
    original_name: str
    role: str
    principal: str
    claimed: str
    cwd: str
    trace_id: str
    source: str
    questions: tuple[str, ...]
    findings: tuple[Finding, ...]
    effects: tuple[SeenEffect, ...]
    rewritten: bool
    approver: str
    approval: str
    elapsed_ns: int
    policy: str
    timings: tuple[tuple[str, int], ...]
    after: After | None
    position: int
    word: str = ""
    """What the person who answered, or put the answer off, said to the agent."""
    claimed_session: str | UnsetType = UNSET
    """The session that an anonymous caller named. Nothing proves it: it is no session of ours."""
    claimed_principal: str | UnsetType = UNSET
    """For whom an anonymous caller says that it acts."""
    claimed_client: str | UnsetType = UNSET
    """What the caller calls itself."""


def records(entries: Iterable[StoredEntry]) -> list[Record]:
    """The records of these entries, in the order of their first ones. Entries that belong to no call are left out.

    Of several decisions or outcomes of one call the last counts: a refusal for want of a record comes after what was
    hanging in the storage when it was given, and the answer of a person after the question.
    """
    decided: dict[str, list[StoredEntry]] = {}
    finished: dict[str, StoredEntry] = {}
    for entry in entries:
        if entry.kind == "decided":
            decided.setdefault(entry.call_id, []).append(entry)
        elif entry.kind == "finished":
            finished[entry.call_id] = entry
    return [_of_call(made, finished.get(call)) for call, made in decided.items()]


def _of_call(decided: list[StoredEntry], finished: StoredEntry | None) -> Record:
    last = record(decided[-1], finished)
    if last.approval or len(decided) == 1:
        return last
    asked = next((said.approval for entry in decided[-2::-1] if (said := _said(entry)).approval), "")
    return replace(last, approval=asked) if asked else last


def search(
    store: EntryStore,
    query: Query,
    limit: int,
    after: int | None = None,
    *,
    oldest_first: bool = False,
    wanted: Callable[[Record], bool] | None = None,
) -> list[Record]:
    """The newest records whose decisions match. `after` is the position of the last one of the page before.

    `wanted` is asked about each of them besides.
    """
    query = replace(query, kinds=("decided",), request=request_name(query.request))
    found: list[Record] = []
    while (room := limit - len(found)) > 0:
        page = store.query(query, room, after, oldest_first=oldest_first)
        known = {one.call_id: one for one in records(store.of_calls([entry.call_id for entry in page]))}
        # A call that was decided more than once is found once, at the decision that counts.
        found += [
            one
            for entry in page
            if (one := known.get(entry.call_id)) and (one.writer, one.seq) == (entry.writer, entry.seq)
            if wanted is None or wanted(one)
        ]
        if len(page) < room:
            break
        after = page[-1].position
    return found


def named(store: EntryStore, name: str, limit: int) -> list[Record]:
    """The call of this id; or else the calls of the request of this id, the newest ones, in order."""
    if not name:
        return []
    return records(store.of_calls([name]))[-1:] or search(store, Query(request=name), limit)[::-1]


def unfinished(store: EntryStore, *, session: str, tool: str, source: str, digest: str, since_ns: int = 0) -> str:
    """The id of the newest call with these arguments that may run since then and has no outcome yet; empty if there is
    none."""
    if not session:
        return ""
    wanted = Query(kinds=("decided",), session=session, tool=tool, since_ns=since_ns or None)
    page = store.query(wanted, _LOOKED_THROUGH)
    alike = [entry.call_id for entry in page if entry.decision != "deny" and _is_of(_said(entry), source, digest)]
    done = {entry.call_id for entry in store.of_calls(alike) if entry.kind == "finished"}
    return next((call_id for call_id in alike if call_id not in done), "")


def _is_of(said: Decided, source: str, digest: str) -> bool:
    return said.source == source and digest in (said.arguments_digest, said.original_digest)


def record(decided: StoredEntry, finished: StoredEntry | None) -> Record:
    """The record of a decision and of its outcome, if it came. A body that can't be read leaves its fields empty."""
    said = _said(decided)
    end: Finished | None = None
    if finished is not None:
        try:
            end = _finished(finished.body)
        except MsgspecError:
            finished = None
    words = said.said
    return Record(
        call_id=decided.call_id, request_id=decided.request,
        result_request_id="" if finished is None else finished.request,
        writer=decided.writer, seq=decided.seq, time_ns=decided.time_ns,
        session=decided.session, agent=decided.agent, tool=decided.tool, decision=decided.decision, rule=decided.rule,
        reason=words.reason, outcome="unknown" if end is None else end.outcome,
        finished_ns=0 if finished is None else finished.time_ns, duration_ns=0 if end is None else end.duration_ns,
        exit_code=None if end is None else end.exit_code, bytes=0 if end is None else end.bytes,
        arguments=_value(said.arguments), arguments_digest=said.arguments_digest,
        original_arguments=_value(said.original), original_arguments_digest=said.original_digest,
        result=UNSET if end is None else _value(end.result), result_digest="" if end is None else end.result_digest,
        original_result=UNSET if end is None else _value(end.original),
        original_result_digest="" if end is None else end.original_digest,
        original_name=said.original_name, role=said.role, principal=said.principal, claimed=said.claimed, cwd=said.cwd,
        trace_id=said.trace_id, source=said.source, questions=words.questions, findings=words.findings,
        effects=words.effects, rewritten=said.rewritten,
        approver=said.approver or ("" if end is None else end.approver), approval=said.approval,
        elapsed_ns=said.elapsed_ns, policy=said.policy, timings=said.timings,
        after=None if end is None else end.after, position=decided.position, word=words.word,
        claimed_session=said.claimed_session or UNSET, claimed_principal=said.claimed_principal or UNSET,
        claimed_client=said.claimed_client or UNSET,
    )  # fmt: skip


def timings_of(decided: StoredEntry) -> tuple[tuple[str, int], ...]:
    """What each interceptor took for a decision, in nanoseconds."""
    return _said(decided).timings


def _said(decided: StoredEntry) -> Decided:
    try:
        return _decided(decided.body)
    except MsgspecError:
        return _NO_DECISION


def _value(raw: Raw) -> Any | UnsetType:
    return _any(raw) if raw else UNSET
