"""Call: everything about one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from msgspec import UNSET, Struct

from interpose.composition.service.question_views import changes
from interpose.core.types import Finding
from interpose.doors.http_server.messages import Refusal
from interpose.doors.page.frame import Shown, shown
from interpose.doors.page.html import Content, Html, tag
from interpose.doors.page.ledger_reads import read_ledger
from interpose.doors.page.page_visits import Visit
from interpose.doors.page.pieces import (
    badge,
    block,
    call_path,
    code,
    diff,
    duration,
    facts,
    id_at,
    moment,
    question_path,
    record_subject,
    session_path,
)
from interpose.doors.page.screens import Screen
from interpose.people.widenings.effect_words import effect_text
from interpose.record.ledger import CallProof, Record, named
from interpose.record.ledger.call_proof import call_proof

OF_REQUEST = 100


class _FoundCalls(Struct, frozen=True):
    records: list[Record]
    proof: CallProof | None


def screens() -> tuple[Screen, ...]:
    """One call by its id; those of a request by its id."""

    async def call(visit: Visit) -> Shown:
        id, store = id_at(visit.request.params["id"]), visit.service.store

        def read() -> _FoundCalls:
            records = named(store, id, OF_REQUEST)
            proof = call_proof(store, records[0]) if len(records) == 1 else None
            return _FoundCalls(records, proof)

        found = await read_ledger(visit.service, read)
        match found.records:
            case []:
                raise Refusal(404, "not_found", "there is no call or request of this id")
            case [one]:
                return shown(
                    "Call", tag("article", *_all(visit, one, found.proof), id="call", data_live="decided questions")
                )
            case several:
                return shown("Calls of one request", _list(several))

    return (Screen("GET", "/calls/{id}", "auditor", call, "Everything about one call"),)


def _list(records: Sequence[Record]) -> Html:
    rows = [
        tag("li", tag("a", badge(one.decision), tag("b", one.tool), " ", tag("code", record_subject(one)),
            href=call_path(one.call_id)))
        for one in records
    ]  # fmt: skip
    return tag("ol", rows, class_="rows")


def _all(visit: Visit, one: Record, proof: CallProof | None) -> Iterator[Content]:
    yield tag("p", badge(one.decision), tag("b", one.tool), " ", badge(one.outcome), class_="lead")
    if one.reason:
        yield tag("p", one.reason, class_="reason")
    yield tag("section", tag("h2", "The call"), _call(one))
    yield tag("p", tag("a", "Try rules out on it", href=f"/rules/playground?call={quote(one.call_id, safe='')}"))
    if one.effects:
        yield tag(
            "section", tag("h2", "What it would do"), tag("ul", [tag("li", effect_text(each)) for each in one.effects])
        )
    yield tag("section", tag("h2", "Who spoke"), _spoke(one.findings, one.timings))
    yield tag("section", tag("h2", "What came of it"), *_outcome(one))
    yield tag("section", tag("h2", "About it"), facts(_about(visit, one)))
    if proof is not None:
        yield tag("section", tag("h2", "Proof"), *_proof(one, proof))


def _call(one: Record) -> list[Content]:
    parts = [found.part for found in one.findings if found.part]
    arguments = one.arguments
    if arguments is UNSET:
        return [tag("p", "Its values are not kept.", class_="quiet")]
    command = arguments.get("command") if isinstance(arguments, dict) else None
    if isinstance(command, str) and isinstance(arguments, dict):
        others = {name: value for name, value in arguments.items() if name != "command"}
        shown_call: list[Content] = [code(command, parts), block(others) if others else None]
    else:
        shown_call = [block(arguments)]
    if one.original_arguments is UNSET:
        return shown_call
    return [
        tag("h3", "As it ran"), *shown_call, tag("h3", "As it came"), block(one.original_arguments),
        tag("h3", "What changed"), diff(changes(one.original_arguments, arguments, "as it ran")),
    ]  # fmt: skip


def _spoke(findings: Sequence[Finding], timings: Sequence[tuple[str, int]]) -> list[Content]:
    """The chain in its order, with what each said; most say nothing."""
    by_name: dict[str, list[Finding]] = {}
    for found in findings:
        by_name.setdefault(found.interceptor, []).append(found)
    rows = [_row(name, duration(spent), by_name.pop(name, [])) for name, spent in timings]
    rows += [_row(name, "", said) for name, said in by_name.items()]
    if not rows:
        return [tag("p", "Nobody was asked.", class_="quiet")]
    heads = tag("tr", [tag("th", word, scope="col") for word in ("interceptor", "time", "said")])
    return [tag("table", tag("thead", heads), tag("tbody", rows), class_="chain")]


def _row(name: str, time: str, said: Sequence[Finding]) -> Html:
    words: Content = [
        tag(
            "div", badge(found.said), tag("b", found.rule) if found.rule else None, " ", found.reason,
            tag("small", " would have: it only watches") if found.mode == "watch" else None,
            tag("small", " Safer: ", tag("code", found.instead)) if found.instead else None,
        )
        for found in said
    ] or tag("span", "nothing", class_="quiet")  # fmt: skip
    return tag("tr", tag("th", name, scope="row"), tag("td", time), tag("td", words), class_="" if said else "silent")


def _outcome(one: Record) -> Iterator[Content]:
    word: str = one.outcome
    if word == "unknown":
        word = "It waits for an answer." if one.decision == "ask" else "Its outcome never came."
    ended = moment(one.finished_ns) if one.finished_ns else ""
    after = one.after
    yield facts((
        ("outcome", word), ("ended", ended), ("took", duration(one.duration_ns) if one.duration_ns else ""),
        ("exit code", "" if one.exit_code is None else str(one.exit_code)),
        ("bytes", f"{one.bytes:,}" if one.bytes else ""),
        ("its result was", "" if after is None else after.result),
        ("because", "" if after is None else after.said.reason),
    ))  # fmt: skip
    if one.result is not UNSET:
        yield tag("h3", "What the agent got, without secrets")
        yield block(one.result)
    if one.original_result is not UNSET:
        yield tag("h3", "What the tool gave, without secrets")
        yield block(one.original_result)
    if after is not None and (after.said.findings or after.timings):
        yield tag("h3", "Who spoke about the result")
        yield _spoke(after.said.findings, after.timings)


def _about(visit: Visit, one: Record) -> Iterator[tuple[str, Content]]:
    yield "decided", moment(one.time_ns)
    yield "decided in", duration(one.elapsed_ns)
    yield "rule", one.rule
    yield "approved by", one.approver
    yield "question", visit.link(question_path(one.approval), one.approval) if one.approval else ""
    yield "word to the agent", one.word
    yield "session", tag("a", one.session, href=session_path(one.session)) if one.session else ""
    yield "agent", one.agent
    yield "role", one.role
    yield "principal", one.principal
    yield "claims to be", one.claimed or one.claimed_principal or ""
    yield "claimed session", one.claimed_session or ""
    yield "client", one.claimed_client or ""
    yield "directory", one.cwd
    yield "source", one.source
    yield "asked as", one.original_name if one.original_name != one.tool else ""
    yield "call", one.call_id
    yield "request", one.request_id
    yield "result came in", one.result_request_id if one.result_request_id != one.request_id else ""
    yield "trace", one.trace_id
    yield "policy", one.policy
    yield "arguments' digest", tag("code", one.arguments_digest) if one.arguments_digest else ""


def _proof(one: Record, proof: CallProof) -> Iterator[Content]:
    yield facts((
        ("entry", f"{one.seq} of writer {one.writer}"), ("hash", tag("code", proof.hash)),
        ("of the one before", tag("code", proof.before)),
        ("chain up to here", "holds" if proof.holds else f"DOES NOT HOLD: {proof.problem}; run interpose audit verify"),
        ("next checkpoint", f"entry {proof.checkpoint_seq}" if proof.checkpoint_seq else "none yet"),
        ("checkpoint's time", moment(proof.checkpoint_ns) if proof.checkpoint_ns else ""),
    ))  # fmt: skip
    yield tag("p", "The record as JSON: ", tag("code", f"interpose audit show {one.call_id} --json"), class_="quiet")
