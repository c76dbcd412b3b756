"""Who answers a question. No handler, a failing handler, or any answer but True means no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, cast

from msgspec import UNSET

from interpose.core.answers import Approved, Edited, Pending
from interpose.core.driving import Ask, Failure, Flow, called, is_async
from interpose.core.errors import name_of, text_of
from interpose.core.pipeline import Approve
from interpose.core.types import Deny, Finding, PermissionRequest

EDITED = "interpose:edit"
"""Who asks about a call that a person wrote in the place of another."""
PAUSE = "pause:"
"""How the name of an approver begins where a pause answered."""
NO_HANDLER = "Interceptor requested permission but no confirmation handler configured: {message}"


Answer = bool | Approved | Deny | Pending | Edited
"""True and Approved let the call run. Pending leaves the question open. Edited is for another call than this one."""

Put = str | Approved | Deny | Pending | Edited
"""What came of a question: the approver's name, or one of the answers."""


class ConfirmationHandler(Protocol):
    """Puts one question to whoever may answer it. May be async."""

    def confirm(self, request: PermissionRequest, /) -> Answer | Awaitable[Answer]:
        """The answer."""


class AutoApprove:
    """Says yes to everything. For tests and for runs that somebody watches."""

    immediate = True
    """It answers at once: nobody has to wait for it in a thread."""

    def confirm(self, _request: PermissionRequest, /) -> bool:
        """Yes."""
        return True


class AutoDeny:
    """Says no to everything."""

    immediate = True

    def confirm(self, _request: PermissionRequest, /) -> bool:
        """No."""
        return False


class CallbackConfirmation:
    """Asks a function of the embedding program."""

    def __init__(self, callback: Callable[[PermissionRequest], object]) -> None:
        self._callback = callback
        self.immediate = is_async(callback)
        self.approver = str(getattr(callback, "__qualname__", "") or name_of(callback))
        """Who says yes, in records."""

    def confirm(self, request: PermissionRequest, /) -> bool | Awaitable[bool]:
        """What the function says. Anything but True is no."""
        return cast("bool", self._callback(request))


def as_handler(confirm: object) -> ConfirmationHandler | None:
    """Who answers questions: an object with `confirm(request)`, or a plain function. TypeError for anything else."""
    if confirm is None:
        return None
    if not isinstance(confirm, type):
        method = called(getattr, (confirm, "confirm", None))
        if callable(method) or type(method) is Failure:  # one that breaks when it is looked at says no when it is asked
            return cast("ConfirmationHandler", confirm)
        if callable(confirm):
            return CallbackConfirmation(confirm)
    raise TypeError(
        f"confirm must be a function that takes a request, or an object with confirm(request), not {confirm!r}"
    )


class StandingAnswer(Protocol):
    """Answers questions without a person: a grant, an organisation's `allow` rule."""

    def answer(self, request: PermissionRequest, /) -> str:
        """Who approves, for the record; empty if this question is none of its business."""


def standing_answer(answers: Sequence[StandingAnswer], request: PermissionRequest) -> str:
    """The first that answers. One that fails, or says anything but a name, has not answered.

    INVARIANT: what certain people must agree to is answered by nobody in advance.
    """
    if needs_people(request):
        return ""
    for standing in answers:
        name = called(_answer_of, (standing, request))  # a broken grant grants nothing, and the next is asked
        if type(name) is str and name:
            return name
    return ""


def _answer_of(standing: StandingAnswer, request: PermissionRequest) -> object:
    return standing.answer(request)


def needs_people(request: PermissionRequest) -> bool:
    """Whether certain people must agree to what is asked."""
    return any(found.approvers is not UNSET for found in request.findings)


def ask_person(handler: ConfirmationHandler | None) -> Approve:
    """The approval step of the law with nothing but a handler."""

    def approve(payload: object, asks: tuple[Finding, ...]) -> Flow[Put]:
        return (yield from put_question(handler, question(payload, asks)))

    return approve


def question(payload: object, asks: Sequence[Finding], came: object = None) -> PermissionRequest:
    """One question for all that was asked about a payload. `came` is what it was made of."""
    message = "\n".join(dict.fromkeys(ask.reason for ask in asks))
    return PermissionRequest(message, payload, tuple(asks), None if came is payload else came)


def put_question(handler: ConfirmationHandler | None, request: PermissionRequest) -> Flow[Put]:
    """Ask the handler. Who approves, why not, that the answer is still to come, or another call."""
    if handler is None:
        return Deny(NO_HANDLER.format(message=request.message), rule="no-confirmation-handler")
    # INVARIANT: one person at a prompt is not several, and may be the one who asked.
    if needs_people(request) and called(getattr, (handler, "counts_votes", False)) is not True:
        return Deny(
            f"Certain people must agree, and here nobody counts them: {request.message}", rule="needs-approvers"
        )
    answer = yield Ask(handler, request)
    # Exact types only: a garbage answer must not get to compare itself.
    if type(answer) is Deny or type(answer) is Pending:
        return answer
    if type(answer) is Approved and type(answer.by) is str and answer.by:
        return answer
    if type(answer) is Edited and type(answer.by) is str and answer.by and type(answer.arguments) is dict:
        return answer
    if type(answer) is Failure:
        reason = f"Confirmation failed ({text_of(answer.error)}): {request.message}"
        return Deny(reason, rule="confirmation-failed")
    if answer is True:
        return handler.approver if type(handler) is CallbackConfirmation else name_of(handler)
    return Deny(f"Confirmation denied: {request.message}", rule="confirmation-denied")
