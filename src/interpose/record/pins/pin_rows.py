"""Pins as they are shown: to people, and to programs as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from interpose.record.pins.definitions import Kind
from interpose.record.pins.pin_desk import PinChoice, PinDesk
from interpose.record.pins.pinned_server import Pin, ServerPins, State


class PinRow(Struct, frozen=True, kw_only=True):
    """One pin. `digest` tells what a yes would be for; `trusted` and `offered` are definitions in their exact form.

    `tampered` stands for a whole server: its pins are not what we wrote, and nothing of it is used.
    """

    server: str
    kind: Kind
    name: str = ""
    state: State | Literal["tampered"]
    since: datetime | None = None
    by: str = ""
    was: str = ""
    digest: str = ""
    oddities: tuple[str, ...] = ()
    trusted: str = ""
    offered: str = ""

    @property
    def waits(self) -> bool:
        """Whether a person has to say something."""
        return self.state in ("changed", "new", "flagged", "tampered")

    def choice(self) -> PinChoice:
        """What a person says yes or no to, having seen this."""
        return PinChoice(kind=self.kind, name=self.name, digest=self.digest)


class PinsAnswer(Struct, frozen=True):
    """Pins, by server, kind and name."""

    pins: list[PinRow]


def rows_of(desk: PinDesk, server: str = "", expected: Iterable[str] = ()) -> list[PinRow]:
    """The pins of all servers, or of one. `expected` are servers of the configuration."""
    found: list[PinRow] = []
    for each in desk.all([server] if server else expected):
        if isinstance(each, ServerPins):
            if server in ("", each.server):
                found += [_row(each.server, pin) for pin in each.pins]
        elif server in ("", each[0]):
            found.append(PinRow(server=each[0], kind="connection", state="tampered", oddities=(each[1],)))
    return found


def _row(server: str, pin: Pin) -> PinRow:
    return PinRow(
        server=server, kind=pin.kind, name=pin.name, state=pin.state,
        since=datetime.fromtimestamp(pin.since_ns / 1e9, UTC), by=pin.refused_by or pin.by, was=pin.was,
        digest=pin.shown, oddities=tuple(each.text for each in pin.oddities), trusted=pin.trusted, offered=pin.offered,
    )  # fmt: skip
