"""The forms by which a question is answered: yes for so much, yes to another call, no, and later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interpose.composition.service.question_views import ShownQuestion
from interpose.doors.page.edit_fields import edit_fields, editable
from interpose.doors.page.html import NOTHING, Content, Html, tag
from interpose.doors.page.page_visits import Visit
from interpose.doors.page.pieces import question_path
from interpose.doors.page.question_card import widening_text
from interpose.people.approvals.scopes import KIND_LASTS, KIND_USES, MAX_USES

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

LONGEST_WORD = 1000


def answer_forms(visit: Visit, question: ShownQuestion, *, typed: Visit | None = None) -> Html:
    """All that can be said to a question that waits. `typed` is what was tried just now."""
    if question.state != "waiting":
        return NOTHING
    return tag(
        "div",
        _approve(visit, question, typed),
        _edit(visit, question, typed),
        _deny(visit, question),
        _defer(visit, question),
        class_="answers",
    )


def proof_fields(service: Service) -> list[Content]:
    """What else a yes needs here, as `approvals.proof` has it."""
    kind = service.answering.proof.kind if service.answering is not None else ""
    if kind == "passphrase":
        field = tag("input", type="password", name="passphrase", autocomplete="off", required=True, maxlength=1000)
        return [tag("label", "Passphrase ", field)]
    if kind == "code":
        field = tag("input", name="code", autocomplete="off", maxlength=40)
        return [tag("label", "Code that the server shows (send once without it, and it shows one) ", field)]
    return []


def _form(visit: Visit, question: ShownQuestion, act: str, *content: Content, **attributes: Any) -> Html:
    path = f"{question_path(question.id)}/{act}"
    return tag("form", visit.csrf_field(), *content, method="post", action=path, **attributes)


def _word(hears: bool = True) -> Html:
    note = "" if hears else " (this agent's host has no place for one: it goes to the record)"
    return tag("label", f"A word to the agent{note} ", tag("input", name="comment", maxlength=LONGEST_WORD))


def _approve(visit: Visit, question: ShownQuestion, typed: Visit | None) -> Html:
    chosen = (typed.field("scope") if typed is not None else "") or "once"
    ways: list[Content] = [_way("once", "Once: this call", chosen)]
    if not question.approvers:
        uses = tag("input", type="number", name="uses", min=1, max=MAX_USES, value=3, aria_label="how often")
        minutes = tag("input", type="number", name="minutes", min=1, max=44640, value=60, aria_label="minutes")
        ways += [
            _way("uses", ["This call, ", uses, " times"], chosen),
            _way("session", "This call, for this session", chosen),
            _way("until", ["This call, for ", minutes, " minutes, in any session"], chosen),
            *[_way(f"kind:{one.id}", widening_text(one), chosen) for one in question.widenings],
        ]
    kind_bounds = tag(
        "p",
        "A kind of call counts for ",
        tag("input", type="number", name="kind_minutes", min=1, max=1440, value=int(KIND_LASTS.total_seconds() / 60),
            aria_label="minutes of a kind"),
        " minutes and ",
        tag("input", type="number", name="kind_uses", min=1, max=1000, value=KIND_USES, aria_label="uses of a kind"),
        " uses. What is refused stays refused.",
        class_="quiet",
    ) if question.widenings and not question.approvers else None  # fmt: skip
    return _form(
        visit, question, "approve",
        tag("fieldset", tag("legend", "Let it run"), ways, kind_bounds),
        _word(question.hears), proof_fields(visit.service),
        tag("button", "Approve", class_="yes", id="approve"),
        class_="approve",
    )  # fmt: skip


def _way(value: str, label: Content, chosen: str) -> Html:
    field = tag("input", type="radio", name="scope", value=value, checked=value == chosen)
    return tag("label", field, " ", tag("span", label), class_="way")


def _edit(visit: Visit, question: ShownQuestion, typed: Visit | None) -> Html:
    arguments = editable(question)
    if arguments is None:
        return tag("p", "This call can't be edited: it is not shown whole.", class_="quiet")
    tried = typed if typed is not None and typed.field("edited") else None
    note = (
        "The call that you write is judged again, and runs once."
        if question.rewrites
        else "This agent's host runs calls as they came: the agent is shown the call that you write, and may make it."
    )
    form = _form(
        visit, question, "edit",
        tag("input", type="hidden", name="edited", value="1"),
        edit_fields(arguments, tried), tag("p", note, class_="quiet"), _word(question.hears),
        proof_fields(visit.service), tag("button", "Approve the edited call", class_="yes", id="approve-edited"),
    )  # fmt: skip
    return tag("details", tag("summary", "Edit and approve"), form, open=tried is not None, class_="edit")


def _deny(visit: Visit, question: ShownQuestion) -> Html:
    return _form(
        visit, question, "deny",
        tag("label", "Why not ", tag("input", name="reason", maxlength=LONGEST_WORD)), _word(),
        tag("button", "Deny", class_="no", id="deny"), class_="deny",
    )  # fmt: skip


def _defer(visit: Visit, question: ShownQuestion) -> Html:
    form = _form(visit, question, "defer", _word(), tag("button", "Answer later", id="defer"))
    return tag("details", tag("summary", "Answer later"), form)
