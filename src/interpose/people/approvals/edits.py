"""Other arguments that a person wrote in the place of a call's own: what they may be, and how they are kept."""

from __future__ import annotations

import json
from typing import Any

from interpose.core.errors import EditError, UnboundError, text_of
from interpose.core.types import Context, HookPoint, ToolCall, freeze, same
from interpose.people.approvals.binding import Subject, bound
from interpose.people.approvals.questions import SHOWN_LIMIT, Kept, Question
from interpose.reading.secrets import Redactor

_MARKER = "[redacted:"


def context_of(question: Question) -> Context:
    """Who asks, and where, as far as an answer is bound to it."""
    return Context(
        session_id=question.session, agent_id=question.agent, role=question.role, principal=question.principal,
        cwd=question.cwd, source=question.source, claimed=question.claimed,
    )  # fmt: skip


def edited_call(question: Question, arguments: dict[str, Any]) -> ToolCall:
    """The call that a person wrote. EditError if there can be none."""
    try:
        return ToolCall(question.tool, arguments, context=context_of(question), original_name=question.said)
    except ValueError as error:
        raise EditError(f"these can't be arguments: {text_of(error)}") from None


def checked(kept: Kept, arguments: dict[str, Any], *, key: bytes, redactor: Redactor) -> tuple[dict[str, Any], str]:
    """The arguments, and what the edited call is bound to. EditError says why a call can't be edited so.

    INVARIANT: what is kept holds no secret. Hidden ones can't be put back, so none may be left in an edited call.
    """
    question = kept.question
    if question.point is not HookPoint.TOOL_BEFORE:
        raise EditError("only a call can be edited, and this question is about something else")
    if not isinstance(question.arguments, dict):
        raise EditError("the call is too long to be shown whole, and so to be edited")
    edited_call(question, arguments)  # first of all: what nests too deep can't be looked at
    text = json.dumps(arguments)
    if len(text) > SHOWN_LIMIT:
        raise EditError(f"the edited call is longer than {SHOWN_LIMIT} letters")
    if _MARKER in text:
        raise EditError("a secret is hidden in these arguments: what was hidden can't be put back; leave it out")
    if redactor.redact_value(arguments)[1]:
        raise EditError("the edited call holds a secret, and an answer that is kept must hold none")
    if same(freeze(arguments), freeze(question.arguments)):
        raise EditError("nothing was changed: approve it as it is")
    return arguments, edit_subject(kept, arguments, key)


def edit_subject(kept: Kept, arguments: dict[str, Any], key: bytes) -> str:
    """What an edited call is bound to: exactly itself, in the session of the question."""
    question = kept.question
    call = edited_call(question, arguments)
    subject = Subject(question.point, question.tool, call.arguments, call.context, question.said)
    try:
        return bound(subject, key).session
    except UnboundError as error:
        raise EditError(text_of(error)) from None
