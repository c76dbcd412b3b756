"""Whoever asks for what only a person may do proves to be one: approvals, pins, bypasses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpose.core.errors import NotProvenError, text_of
from interpose.doors.http_server.messages import Refusal, Request
from interpose.people.approvals.desk import NO_SERVER
from interpose.people.presence.proof import Answerer

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

PROVING = (
    (403, "not_proven"), (403, "passphrase_needed"), (403, "passphrase_wrong"), (403, "code_needed"),
    (403, "code_wrong"), (429, "too_many_attempts"), (503, "no_server"),
)  # fmt: skip
"""What a request is answered with that was not proven."""
_STATUS = {code: status for status, code in PROVING}
APPROVE = "interpose approvals approve ID"
"""What proofs say is to be typed at one's own terminal."""


def answerer_of(request: Request, passphrase: str, code: str) -> Answerer:
    """Who sent a request, as the kernel and the connection say it, with what they typed."""
    peer = request.peer
    return Answerer(
        unix=peer.kind == "unix", address=peer.address, client=request.client, pid=peer.pid, start=peer.start,
        uid=peer.uid, passphrase=passphrase, code=code,
    )  # fmt: skip


def prove(service: Service, who: Answerer, subject: str, typed: str) -> None:
    """Raises NotProvenError unless it is a person. `subject` names what they want, `typed` how they would ask for it.

    INVARIANT: nothing that a person alone may do is done over the wire that did not come through here.
    """
    if service.answering is None:
        raise NotProvenError(NO_SERVER, "no_server")
    try:
        service.answering.proof.check(who, subject)
    except NotProvenError as error:
        raise NotProvenError(text_of(error).replace(APPROVE, typed), error.code) from None


def not_proven(error: NotProvenError) -> Refusal:
    """The answer to who did not prove it."""
    return Refusal(_STATUS[error.code], error.code, text_of(error))
