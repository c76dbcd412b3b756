"""A call that a person answered by another one: the edited call is decided about like any call, from the beginning.

    decide -> a person writes other arguments -> decide again, all of it -> the answer that the person gave -> run

INVARIANT: an edit is no permission. The edited call passes every interceptor, a refusal of it stands, and at the end of
them it always asks once more. What answers that question is the answer of the same person to exactly this call, used up
by it, and only if nobody asks who had not asked about the call as it came (approvals/taking.py). Whoever asks now and
did not ask then knows something that the person was not told: that is a new question.
"""

from __future__ import annotations

from msgspec.json import encode
from msgspec.structs import replace

from interpose.core.answers import Edited
from interpose.core.driving import Flow
from interpose.core.errors import text_of
from interpose.core.interceptor import Registration
from interpose.core.pipeline import Approve, decide
from interpose.core.points import POINTS
from interpose.core.registration import registration
from interpose.core.tools import command_of
from interpose.core.types import Confirm, Deny, Finding, HookPoint, ToolCall, Transform, Verdict, refused
from interpose.people.approvals import EDITED

MOST_EDITS = 3
"""How often one call may be answered by another. A person gives each of these answers."""

RULE = "edited"
"""The rule that records of calls name which a person has changed."""


def decide_edited(
    entries: tuple[Registration, ...], verdict: Verdict[ToolCall], approve: Approve, *, rewrites: bool
) -> Flow[Verdict[ToolCall]]:
    """What becomes of a call that was answered by another. Where the other side can't run that one, it is shown it."""
    for _ in range(MOST_EDITS):
        edit = verdict.edit
        if edit is None:
            return verdict
        came = verdict.payload
        try:
            edited = came.with_arguments(edit.arguments)
        except ValueError as error:
            return refused(replace(verdict, edit=None), Deny(f"The edited call is none: {text_of(error)}", RULE))
        if not rewrites:
            return _only_shown(verdict, edit, edited)
        again: Verdict[ToolCall] = yield from decide(_asking(entries, edit), edited, approve=approve)
        verdict = _joined(verdict, again, _said(edit, came, edited))
    if verdict.edit is None:
        return verdict
    return refused(replace(verdict, edit=None), Deny(f"It was edited more than {MOST_EDITS} times", RULE))


def _joined(before: Verdict[ToolCall], after: Verdict[ToolCall], said: Finding) -> Verdict[ToolCall]:
    """One verdict about what came in and what was made of it."""
    joined = replace(
        after,
        findings=(*before.findings, said, *(found for found in after.findings if found not in before.findings)),
        questions=tuple(dict.fromkeys((*before.questions, *after.questions))),
        rewritten=True,
        original=before.payload if before.original is None else before.original,
        elapsed_ns=before.elapsed_ns + after.elapsed_ns,
        timings=(*before.timings, *after.timings),
    )
    if after.outcome != "allow":
        return joined
    return replace(joined, outcome="rewrite", decision=Transform(after.payload), decided_by=said)


def _only_shown(verdict: Verdict[ToolCall], edit: Edited, edited: ToolCall) -> Verdict[ToolCall]:
    """The other side runs calls as they came: it is told which one was agreed to.

    INVARIANT: the answer is not used up by this. The edited call uses it up, when the agent makes it.
    """
    shown = command_of(edited) if edited.name == "exec" else None
    reason = f"{edit.by} agreed to another call than this one"
    deny = Deny(reason, RULE, instead=shown if shown is not None else encode(edit.arguments).decode())
    return refused(replace(verdict, approval=""), deny)


def _said(edit: Edited, came: ToolCall, edited: ToolCall) -> Finding:
    changed = POINTS[HookPoint.TOOL_BEFORE].describe(came, edited)
    return Finding(
        interceptor=EDITED, said="rewrite", reason=f"{edit.by} edited this call and agreed to it", rule=RULE,
        severity="info", part=changed,
    )  # fmt: skip


class _Asking:
    def __init__(self, edit: Edited) -> None:
        # No rule: nobody answers this in advance, so the answer to the edited call is the one that is used up.
        self._confirm = Confirm(f"{edit.by} wrote this call in the place of another")

    def intercept(self, _call: ToolCall) -> Confirm:
        return self._confirm


def _asking(entries: tuple[Registration, ...], edit: Edited) -> tuple[Registration, ...]:
    """Everybody who has a say, and the question that every edited call ends with."""
    asking = registration(id=EDITED, name=HookPoint.TOOL_BEFORE, interceptor=_Asking(edit))
    deciding = sum(not entry.is_observer for entry in entries)
    return (*entries[:deciding], asking, *entries[deciding:])
