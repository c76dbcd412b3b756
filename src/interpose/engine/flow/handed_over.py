"""Calls whose question was handed over to the host's own prompt in a mode in which something else might answer it.

Such a call counts as asked about only when the host has said, by an event of its own, that it asks its person. A result
that comes without that is withheld, and the host is handed no more questions in that version and mode.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from interpose.core.types import Deny, Finding

RAN_UNASKED = "ran-unasked"
"""The rule that records of results name whose host ran what it was to ask its person about, without asking."""


class HandedOver(Struct, frozen=True, kw_only=True):
    """One call. `key` is the host's own name for it, `place` what it is: events that name no call are found by that."""

    session: str
    key: str
    place: str
    call_id: str
    host: str
    version: str
    mode: str
    at_ns: int
    asked: bool = False
    """Whether the host said that it asks its person."""

    @property
    def where(self) -> str:
        """The host, its version and its mode, for people."""
        return f"{self.host} {self.version} in mode {self.mode}"


class HandedOverCalls(Protocol):
    """What is remembered of them. Each method blocks."""

    def heard(self, session: str, key: str, place: str) -> None:
        """The host says that it asks its person about a call: about the one of this name, or, if it names none, the
        newest one like it that it has not asked about yet."""

    def close(self, session: str, key: str) -> HandedOver | None:
        """The call that has a result now, and is forgotten; None if it was not handed over."""

    def end(self, unasked: HandedOver) -> None:
        """The host ran this without asking: it is handed nothing more, and that is an alarm."""


def withheld_unasked(handed: HandedOver) -> tuple[Deny, Finding]:
    """What stands in the place of the result, and what the record says."""
    reason = (
        f"This call had to be asked about. {handed.where} ran it without asking its person. Its result is withheld, "
        "and questions wait in the queue of Interpose from now on. Tell the user"
    )
    said = Finding(interceptor="interpose", said="error", rule=RAN_UNASKED, severity="critical", reason=reason)
    return Deny(reason, RAN_UNASKED, "critical"), said
