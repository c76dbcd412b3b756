"""`requestState`: what a client carries for us between a question and its answer, in an attacker's hands.

A text with a signature under it, bound to the very call that was judged: principal, session, directory, server, method,
name, arguments as they would run. It ends soon, and is spent once: that is kept in the store, for all gateways over it.

INVARIANT: nothing of the question is in it but a number and an end. It gives nothing to who only reads it.
"""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path

from msgspec import MsgspecError, Raw, Struct
from msgspec import json as fast

from interpose.core.types import PermissionRequest
from interpose.people.approvals.binding import bound, subject_of
from interpose.people.approvals.seal import Seal, Sealed, new_seal, open_seal
from interpose.record.store.protocols import Counters

_KIND = "mcp-request-state"
_LONGEST = 1_024
_SECOND = 1_000_000_000


class RequestStateError(Exception):
    """A state that lets nothing through. The text says why, for the record."""


class _Content(Struct, frozen=True, array_like=True):
    nonce: str
    ends_ns: int


class RequestStates:
    """Makes and takes them. Safe for any number of threads; gateways that share a key and a store share them."""

    def __init__(
        self, store: Counters, *, digests: bytes, seconds: float, clock: Callable[[], int], seal: Seal | None = None
    ) -> None:
        """`digests` is the key under which calls are digested. Without a `seal` they count in this process alone."""
        self._store, self._digests, self._clock = store, digests, clock
        self._lasts_ns, self._seal = round(seconds * _SECOND), seal

    def made(self, request: PermissionRequest) -> str:
        """The state of a question. Raises UnboundError if its call has no exact form."""
        content = fast.encode(_Content(secrets.token_urlsafe(16), self._clock() + self._lasts_ns))
        sealed = self._own_seal().sealed(_KIND, content, self._subject(request))
        return f"{_text(content)}.{_text(sealed.signature)}"

    def spend(self, state: str, request: PermissionRequest) -> None:
        """Take a state as the answer to this question. Raises RequestStateError, StoreError or UnboundError. May block.

        INVARIANT: of any number who bring the same state at the same time, one gets through.
        """
        content, sealed = _read(state)
        if not self._own_seal().accepts(_KIND, sealed, self._subject(request)):
            raise RequestStateError("it is not ours, or was given for another call")
        if content.ends_ns <= self._clock():
            raise RequestStateError("it is over: make the call again without it")
        if self._store.spend(f"{_KIND}:{content.nonce}", 1, budget=1) is None:
            raise RequestStateError("it was used before")

    def _subject(self, request: PermissionRequest) -> str:
        return bound(subject_of(request), self._digests).session

    def _own_seal(self) -> Seal:
        if self._seal is None:
            self._seal = new_seal()
        return self._seal


def seal_of(path: str) -> Seal | None:
    """The seal of a key file that gateways share; None if there is none. Raises ServerError."""
    return open_seal(Path(path)) if path else None


def _read(state: str) -> tuple[_Content, Sealed]:
    head, dot, tail = state.partition(".")
    if len(state) > _LONGEST or not dot or not state.isascii():
        raise RequestStateError("it is none of ours")
    try:
        content, signature = _data(head), _data(tail)
        return _decoded(content), Sealed(Raw(content), signature)
    except (ValueError, MsgspecError):
        raise RequestStateError("it is none of ours") from None


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _data(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


_decoded = fast.Decoder(_Content).decode
