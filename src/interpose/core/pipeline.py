"""THE LAW: what a list of interceptors says about one payload.

`decide` is the only place where decisions are combined. It is a generator: what has to be waited for (an async answer,
one with a deadline, a person) is yielded as a step, and a driver (waiting.py) performs it, blocking or awaiting. So
there is one law for sync and async callers, and it can be tested alone.

1. Higher priority first; equal priorities in registration order (the registry sorts).
2. Deny ends the chain; nobody below can undo it.
3. Confirm does not stop the chain. The question is put once, at the end, about the payload that would really run.
4. Transform replaces the payload for those below, and guards that already ran see the new payload again.
5. Deny > Confirm > Transform > Allow. Allow lifts nothing.
6. Observers (negative priority) always run last, see the final state and change nothing.
7. An exception, a timeout or a malformed answer is a finding; `on_error` says what it means. It touches nobody else.
8. With `look_only` (a denied call in tool.after) all interceptors are observers.

Points 9 and 10 (no record, no execution; nothing the agent controls loosens a decision) are the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any, cast, get_args

from msgspec import UNSET
from msgspec.structs import replace

from interpose.core.answers import Approved, Approvers, Edited, Pending
from interpose.core.driving import Failure, Flow, ask
from interpose.core.errors import logged, name_of, text_of
from interpose.core.interceptor import Registration
from interpose.core.points import POINTS
from interpose.core.types import (
    INTERCEPTOR_ERROR,
    NOTHING_RAISED,
    Allow,
    Confirm,
    Decision,
    Deny,
    Finding,
    Outcome,
    Raised,
    Report,
    Severity,
    Transform,
    Verdict,
    same,
)

ONLY_WATCHES = "%s has the priority %d, so it only observes, and its %s is ignored: give it 0 or more to let it decide"

MAX_ROUNDS = 3
"""How often guards may look again at one rewrite before a chain that keeps rewriting is refused."""

Approve = Callable[[Any, tuple[Finding, ...]], Flow["str | Approved | Deny | Pending | Edited"]]
"""Puts the question: who approves, why not, that nobody has answered yet, or that another call should run."""


Renamed = Callable[[Any], Flow["tuple[Any, Sequence[Registration]]"]]
"""A payload that was made something else, and who has a say about that."""

_SEVERITIES = get_args(Severity)
_DECISIONS = (Allow, Transform, Confirm, Deny)
_UNCHANGED: Any = object()


class _Chain:
    """The state of one decision."""

    __slots__ = (
        "approval", "approver", "asks", "decided_by", "denied", "edit", "errors", "findings", "may_rename", "original",
        "payload", "policies", "timings", "word",
    )  # fmt: skip

    def __init__(self, payload: Any, may_rename: bool) -> None:
        self.payload = payload
        self.may_rename = may_rename
        self.original: Any = _UNCHANGED
        self.approver = self.approval = self.word = ""
        self.edit: Edited | None = None
        self.findings: list[Finding] = []
        self.errors: list[BaseException] = []
        self.asks: list[Finding] = []
        self.denied: Deny | None = None
        self.decided_by: Finding | None = None
        self.policies: dict[str, None] = {}
        self.timings: list[tuple[str, int]] = []

    @property
    def rewritten(self) -> bool:
        return self.original is not _UNCHANGED


def decide(
    entries: Sequence[Registration],
    payload: Any,
    *,
    approve: Approve | None = None,
    look_only: bool = False,
    renamed: Renamed | None = None,
) -> Flow[Verdict[Any]]:
    """Run the chain over `payload`. Without `approve`, a question stays open: the verdict's outcome is `ask`.

    `renamed` says who decides about a call that was rewritten to another tool's. Without it, such a rewrite is none.
    """
    start = before = perf_counter_ns()
    chain = _Chain(payload, renamed is not None)
    deciding = renames = 0
    again = True
    while again:
        again = False
        for entry in entries:
            if look_only or entry.priority < 0:
                break
            deciding += 1
            came = chain.payload
            # INVARIANT: only Allow leaves the chain as it is, so only Allow may skip `_take`.
            answer = yield from ask(entry, entry.consult, came)
            if type(answer) is not Allow and _take(chain, entry, answer):
                if not _is_other(entry, came, chain.payload):
                    yield from _recheck(chain, entries[: deciding - 1])
                again = renamed is not None and _is_other(entry, came, chain.payload)
            now = perf_counter_ns()
            chain.timings.append((entry.id, now - before))
            before = now
            if again or chain.denied is not None:
                break
        if again and renamed is not None and chain.denied is None:
            # INVARIANT: another tool is judged by all who have a say about it, from the first one on.
            chain.payload, entries = yield from renamed(chain.payload)
            deciding, renames = 0, renames + 1
            if renames > MAX_ROUNDS:
                _unsettled(chain, entry)
        again = again and chain.denied is None
    if chain.asks and chain.denied is None and approve is not None:
        yield from _put(chain, approve)
    verdict = _verdict(chain, perf_counter_ns() - start)
    for entry in entries[deciding:]:
        if look_only or entry.priority < 0:
            # Observers are shown the final state. Only a failure of theirs is noted.
            answer = yield from ask(entry, entry.look, chain.payload, verdict)
            if type(answer) is Failure:
                chain.errors.append(logged(answer.error, entry.id))
                chain.findings.append(_finding(entry, "error", text_of(answer.error), "", "warning", "", ""))
            elif type(answer) is not Allow and type(answer) in _DECISIONS and entry.priority < 0:
                entry.only_watches(ONLY_WATCHES, entry.id, entry.priority, name_of(answer))
    return verdict if len(chain.findings) == len(verdict.findings) else _verdict(chain, verdict.elapsed_ns)


def _put(chain: _Chain, approve: Approve) -> Flow[None]:
    """Put the question, and keep what was answered."""
    answer = yield from approve(chain.payload, tuple(chain.asks))
    match answer:
        case Deny():
            _deny(chain, _refused_question(chain.asks[0], answer))
        case Pending(approval, word):
            chain.approval, chain.word = approval, word
        case Edited(approval=approval):  # no answer to this payload: whoever decides about the other one says yes
            chain.approval, chain.edit = approval, answer
        case Approved(approver, word):
            chain.approver, chain.word = approver, word
        case approver:
            chain.approver = approver


def _take(chain: _Chain, entry: Registration, answer: object) -> bool:
    """Add one answer to the chain. True if it replaced the payload."""
    problem = _problem(entry, chain, answer)
    if problem:
        if type(answer) is Failure:
            chain.errors.append(logged(answer.error, entry.id))
        answer = _note_failure(chain, entry, problem)
    match answer:
        case Report():
            return _take_report(chain, entry, answer)
        case Transform(payload=new, reason=reason, detail=detail, rule=rule) if not _same(entry, chain.payload, new):
            new, described = _rewrite(entry, chain.payload, new)
            said = _finding(entry, "rewrite", reason or described, rule, "info", described, "", detail)
            _note(chain, entry, said)
            if entry.mode == "watch":
                return False
            if not chain.rewritten:
                chain.original = chain.payload
            chain.payload, chain.decided_by = new, said
            return True
        case Confirm(message, rule, severity, part, instead, detail, summary, approvers):
            said = _finding(entry, "ask", message, rule, severity, part, instead, detail, summary)
            _note(chain, entry, said if approvers is UNSET else replace(said, approvers=approvers))
        case Deny(reason, rule, severity, part, instead, detail, summary):
            said = _finding(entry, "deny", reason, rule, severity, part, instead, detail, summary)
            _note(chain, entry, said)
            if entry.mode == "enforce":
                _deny(chain, said)
        case _:
            pass
    return False


def _take_report(chain: _Chain, entry: Registration, report: Report[Any]) -> bool:
    """Add all that an interceptor has to say: its notes, then its decisions, up to the first refusal."""
    if report.policy:
        chain.policies[report.policy] = None
    for note in report.notes:
        said = _finding(
            entry, note.said, note.reason, note.rule, note.severity, note.part, note.instead, note.detail, note.summary
        )  # fmt: skip
        said = replace(said, mode="watch") if note.mode == "watch" else said
        if said not in chain.findings:
            chain.findings.append(said)
    rewritten = False
    for decision in report.decisions:
        rewritten = _take(chain, entry, decision) or rewritten
        if chain.denied is not None:
            break
    return rewritten


def _problem(entry: Registration, chain: _Chain, answer: object) -> str:
    """Why an answer counts as a failure; empty if it is a decision that fits.

    INVARIANT: only the exact type is asked. `isinstance` and `==` would run code of the answer's own class.
    """
    kind = type(answer)
    if kind is Failure:
        return text_of(answer.error)  # type: ignore[attr-defined]  # mypy does not narrow by a type held in a name
    if kind is Transform:
        return _misfit(entry, chain, answer.payload)  # type: ignore[attr-defined]  # as above
    if kind is Confirm:
        return _misasked(answer)  # type: ignore[arg-type]  # as above
    if kind is Allow or kind is Deny:
        return ""
    if kind is Report:
        return _misreport(answer)  # type: ignore[arg-type]  # as above
    return f"answered {name_of(answer)} instead of Allow, Transform, Confirm or Deny"


def _misasked(confirm: Confirm) -> str:
    """Why a question is none that people could answer: who must agree has to be said in so many words."""
    approvers: object = confirm.approvers
    if approvers is UNSET or (type(approvers) is Approvers and type(approvers.count) is int and approvers.count > 0):
        return ""
    return "answered a Confirm whose approvers are none"


def _misreport(report: Report[Any]) -> str:
    """Why a report is none: only plain tuples of plain decisions and findings are read."""
    if type(report.decisions) is not tuple or type(report.notes) is not tuple or type(report.policy) is not str:
        return "answered a Report whose parts are no tuples"
    if any(type(decision) not in _DECISIONS for decision in report.decisions):
        return "answered a Report with something else than decisions in it"
    if any(type(note) is not Finding for note in report.notes):
        return "answered a Report with something else than findings in its notes"
    return ""


def _rewrite(entry: Registration, old: Any, new: Any) -> tuple[Any, str]:
    """The payload after a rewrite that fits, and what changed in it."""
    if entry.name is None:
        return new, "rewritten"
    spec = POINTS[entry.name]
    new = spec.merged(old, new)
    try:
        return new, spec.describe(old, new)
    except BaseException:  # noqa: BLE001 - comparing values of the agent's or the author's may raise anything
        return new, "rewritten"


def _recheck(chain: _Chain, ran: Sequence[Registration]) -> Flow[None]:
    """A rewrite is shown to the guards that already ran. A guard that rewrites again starts another round."""
    guards = [entry for entry in ran if entry.guard]
    for _ in range(MAX_ROUNDS):
        settled = True
        for guard in guards:
            answer = yield from ask(guard, guard.consult, chain.payload)
            if _take(chain, guard, answer):
                settled = False
            if chain.denied is not None:
                return
        if settled:
            return
    _unsettled(chain, guards[-1])


def _unsettled(chain: _Chain, entry: Registration) -> None:
    reason = f"The rewrites of {entry.id} did not settle in {MAX_ROUNDS} rounds"
    said = _finding(entry, "deny", reason, "unsettled-rewrite", "error", "", "")
    chain.findings.append(said)
    _deny(chain, said)


def _is_other(entry: Registration, old: Any, new: Any) -> bool:
    return entry.name is not None and POINTS[entry.name].is_other(old, new)


def _deny(chain: _Chain, said: Finding) -> None:
    chain.decided_by = said
    chain.denied = Deny(said.reason, said.rule, said.severity, said.part, said.instead, said.detail, said.summary)


def _refused_question(asked: Finding, answer: Deny) -> Finding:
    """A question that was answered with no: whose question it was, and what the answer says."""
    return Finding(
        interceptor=asked.interceptor, said="deny", reason=_plain(answer.reason), rule=_plain(answer.rule),
        severity=_severity(answer.severity), part=_plain(answer.part) or asked.part,
        instead=_plain(answer.instead) or asked.instead,
    )  # fmt: skip


def _note_failure(chain: _Chain, entry: Registration, problem: str) -> Decision[Any]:
    chain.findings.append(_finding(entry, "error", problem, "", "error", "", ""))
    match entry.on_error:
        case "deny":
            return Deny(f"{entry.id} failed: {problem}", rule=INTERCEPTOR_ERROR)
        case "ask":
            return Confirm(f"{entry.id} failed: {problem}. Go on without it?", rule=INTERCEPTOR_ERROR)
        case "allow":
            return Allow()


def _note(chain: _Chain, entry: Registration, finding: Finding) -> None:
    asked = finding.said == "ask" and entry.mode == "enforce"
    if finding.said == "rewrite" or finding not in chain.findings:  # a guard that looks again says the same again
        chain.findings.append(finding)
    if asked and finding not in chain.asks:
        chain.asks.append(finding)


def _finding(
    entry: Registration,
    said: Any,
    reason: object,
    rule: object,
    severity: Any,
    part: object,
    instead: object,
    detail: object = "",
    summary: object = "",
) -> Finding:
    """A finding in plain texts: a decision with garbage in its fields is still that decision."""
    return Finding(
        interceptor=entry.id, said=said, reason=_plain(reason), rule=_plain(rule),
        severity=_severity(severity),
        part=_plain(part), instead=_plain(instead), mode=entry.mode, kind=entry.kind, detail=_plain(detail),
        summary=_plain(summary),
    )  # fmt: skip


def _severity(word: Any) -> Severity:
    return cast("Severity", word) if type(word) is str and word in _SEVERITIES else "error"


def _plain(text: object) -> str:
    if type(text) is str:
        return text
    return "" if text is None else text_of(text)


def _misfit(entry: Registration, chain: _Chain, new: object) -> str:
    if entry.name is None:
        return ""
    spec, old = POINTS[entry.name], chain.payload
    try:
        why = spec.misfit(old, new)
        if not why and not chain.may_rename and spec.is_other(old, spec.merged(old, new)):
            why = "name may not be changed, as the other tool can't be run in its place here"
    except BaseException as error:  # noqa: BLE001 - comparing may run a hostile __eq__
        why = text_of(error)
    return f"returned a rewrite that does not fit: {why}" if why else ""


def _same(entry: Registration, old: Any, new: Any) -> bool:
    if old is new:
        return True
    try:
        if entry.name is None:
            return bool(old == new)
        return all(same(getattr(old, name), getattr(new, name)) for name in POINTS[entry.name].rewritable)
    except BaseException:  # noqa: BLE001 - a payload that can't be compared counts as changed
        return False


def _verdict(chain: _Chain, elapsed_ns: int) -> Verdict[Any]:
    decision: Decision[Any]
    outcome: Outcome
    decided_by = chain.decided_by
    if chain.denied is not None:
        outcome, decision = "deny", chain.denied
    elif chain.asks and not chain.approver:
        first = chain.asks[0]
        message = "\n".join(dict.fromkeys(ask.reason for ask in chain.asks))
        outcome, decision = "ask", Confirm(
            message, first.rule, first.severity, first.part, first.instead, first.detail, first.summary
        )  # fmt: skip
        decided_by = first
    elif chain.rewritten:
        outcome, decision = "rewrite", Transform(chain.payload)
    else:
        outcome, decision = "allow", Allow()
    return Verdict(
        outcome=outcome, decision=decision, payload=chain.payload, findings=tuple(chain.findings),
        questions=tuple(ask.reason for ask in chain.asks), rewritten=chain.rewritten,
        approver=chain.approver, elapsed_ns=elapsed_ns, policy="+".join(chain.policies), timings=tuple(chain.timings),
        original=chain.original if chain.rewritten else None, approval=chain.approval, word=chain.word, edit=chain.edit,
        decided_by=decided_by, errors=Raised(chain.errors) if chain.errors else NOTHING_RAISED,
    )  # fmt: skip
