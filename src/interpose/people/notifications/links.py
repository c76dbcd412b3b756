"""Links by which one person answers one question, once.

A link is signed by the server and bound to the question, its very call, an end, a channel, a person, and what it may be
used for. The server remembers which ones were used, in the store, so that all servers over it know.

INVARIANT: whoever follows a link (a person, or a program that makes a preview of it) changes nothing. What answers is
sent with a form that only the page behind the link has.
"""

from __future__ import annotations

import binascii
import hashlib
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Literal

from msgspec import MsgspecError, Raw, Struct, msgpack

from interpose.core.answers import ApproverRole
from interpose.people.approvals.seal import Sealed

if TYPE_CHECKING:
    from interpose.people.approvals.questions import Kept
    from interpose.people.approvals.seal import Seal, Verifier
    from interpose.record.store.protocols import Counters

PATH = "/a/{token}"
FORM_SECONDS = 3600
"""How long a page that was opened may be answered by."""
LONGEST = 400
"""Letters of a link's token that are looked at."""
_LINK, _FORM = "answer-link", "answer-form"
_SIGNATURE_BYTES = 64

Purpose = Literal["answer", "deny"]


class AnswerLink(Struct, frozen=True, kw_only=True, array_like=True):
    """What a link says. One with the purpose `deny` can only say no: it may be a button that asks nothing more."""

    nonce: bytes
    question: str
    arguments: bytes
    """A digest of the call that it is about: the tool, all arguments, where, and for whom."""
    expires: int
    """Seconds since 1970."""
    channel: str
    person: str = ""
    role: ApproverRole = "approver"
    purpose: Purpose = "answer"

    @property
    def by(self) -> str:
        """Who answers by it, as records name them."""
        return self.person or f"link:{self.channel}"


_link = msgpack.Decoder(AnswerLink).decode


def new_link(kept: Kept, *, channel: str, person: str, role: ApproverRole, purpose: Purpose = "answer") -> AnswerLink:
    """A link to a question as it is now."""
    question = kept.question
    return AnswerLink(
        nonce=secrets.token_bytes(9), question=question.id, arguments=arguments_of(kept),
        expires=int(question.expires.timestamp()), channel=channel, person=person, role=role, purpose=purpose,
    )  # fmt: skip


def arguments_of(kept: Kept) -> bytes:
    """A digest of the call that a question is about."""
    return hashlib.sha256(f"{kept.question.id}\0{kept.bound.session}".encode()).digest()[:12]


def token_of(link: AnswerLink, seal: Seal) -> str:
    """The link as it stands in an address."""
    content = msgpack.encode(link)
    return _text(content + seal.sealed(_LINK, content).signature)


def read_link(token: str, verifier: Verifier) -> AnswerLink | None:
    """What the server signed; None if it did not."""
    whole = _bytes(token) if len(token) <= LONGEST else b""
    content, signature = whole[:-_SIGNATURE_BYTES], whole[-_SIGNATURE_BYTES:]
    if not content or not verifier.accepts(_LINK, Sealed(Raw(content), signature)):
        return None
    try:
        return _link(content)
    except MsgspecError:  # pragma: no cover - what we signed is one
        return None


def shown_digest(kept: Kept) -> bytes:
    """A digest of all that a page shows of a question: one that was put off meanwhile is another."""
    return hashlib.sha256(msgpack.encode(kept.question)).digest()


def form_of(link: AnswerLink, shown: bytes, now: int, seal: Seal) -> str:
    """What only the page behind a link has, and whoever answers sends along."""
    return f"{now}.{_text(seal.sealed(_FORM, _form(link, shown, now)).signature)}"


def is_form(field: str, link: AnswerLink, shown: bytes, now: int, verifier: Verifier) -> bool:
    """Whether the page of this very link was opened, not long ago, and showed the question as it is."""
    said, _, signature = field[:LONGEST].partition(".")
    if not said.isdecimal() or not said.isascii() or len(said) > 12 or not 0 <= now - int(said) <= FORM_SECONDS:
        return False
    return verifier.accepts(_FORM, Sealed(Raw(_form(link, shown, int(said))), _bytes(signature)))


def _form(link: AnswerLink, shown: bytes, now: int) -> bytes:
    return msgpack.encode((link.nonce, shown, now))


def is_used(link: AnswerLink, store: Counters) -> bool:
    """Whether somebody has answered by it."""
    return store.spent(_counter(link)) > 0


def use_up(link: AnswerLink, store: Counters) -> bool:
    """Use it. INVARIANT: True for one of all who try, whichever server they come to; the store decides."""
    return store.spend(_counter(link), 1, budget=1) is not None


def _counter(link: AnswerLink) -> str:
    return f"link:{link.nonce.hex()}"


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _bytes(text: str) -> bytes:
    """Empty if it is not exactly what `_text` writes: a link has one spelling."""
    try:
        data = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (ValueError, binascii.Error):
        return b""
    return data if _text(data) == text else b""
