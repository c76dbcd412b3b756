"""What a widening would have let through of what was asked about before, from the ledger. The work is bounded."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from msgspec import json as fast

from interpose.core.formats.plain_text import one_line
from interpose.core.types import Context, Finding, ToolCall
from interpose.people.approvals.questions import Question, WouldHaveLet
from interpose.people.widenings.covering import outside
from interpose.record.ledger import Record, search
from interpose.record.store.protocols import Query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.people.widenings.kind_values import CallKind
    from interpose.record.store.protocols import EntryStore

RECORDS = 300
SECONDS = 0.5
"""The newest calls of a tool that are looked at, and for how long at most."""
PAST_NS = 30 * 24 * 3600 * 1_000_000_000
EXAMPLES = 3
_SHOWN = 160


def would_have_let_through(
    store: EntryStore, question: Question, kinds: Sequence[CallKind], now_ns: int
) -> dict[str, WouldHaveLet]:
    """For each kind, by its id: how many of the calls that people were asked about it would have answered."""
    if not kinds:
        return {}
    end = monotonic() + SECONDS
    found = search(store, Query(tool=question.tool, since_ns=now_ns - PAST_NS), RECORDS)
    asked = [one for one in found if _is_alike(one, question)]
    counted: dict[str, list[str]] = {kind.id: [] for kind in kinds}
    looked = 0
    for one in asked:
        if monotonic() > end:
            break
        looked += 1
        call = _call_of(one)
        for kind in kinds:
            if call is not None and not outside(kind, call):
                counted[kind.id].append(_shown(call))
    return {
        id: WouldHaveLet(count=len(texts), of=looked, examples=tuple(dict.fromkeys(texts))[:EXAMPLES])
        for id, texts in counted.items()
    }


def _is_alike(record: Record, question: Question) -> bool:
    """Whether a person was asked about a call by the same rules, of the same principal, agent and directory."""
    who = (record.principal, record.cwd, record.source, record.original_name)
    return (
        bool(record.questions)
        and record.approval != question.id
        and who == (question.principal, question.cwd, question.source, question.said)
        and _askers(record.findings) <= _askers(question.findings)
    )


def _askers(findings: Sequence[Finding]) -> set[tuple[str, str, str]]:
    return {
        (found.interceptor, found.rule, "" if found.rule else found.reason)
        for found in findings
        if found.said == "ask" and found.mode == "enforce"
    }


def _call_of(record: Record) -> ToolCall | None:
    if not isinstance(record.arguments, dict):
        return None
    try:
        return ToolCall(
            record.tool, record.arguments, context=Context(cwd=record.cwd), original_name=record.original_name
        )
    except ValueError:
        return None


def _shown(call: ToolCall) -> str:
    command = call.arguments.get("command")
    text = one_line(command if isinstance(command, str) else fast.encode(call.arguments).decode())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
