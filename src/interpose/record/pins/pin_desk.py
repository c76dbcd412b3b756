"""Pins as the gateway asks for them, and as people answer for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from interpose.core.errors import NoPinError, PinError
from interpose.record.pins.definitions import Definition, Kind
from interpose.record.pins.oddities import Neighbours, Oddity, oddities_of
from interpose.record.pins.pin_files import PinFiles
from interpose.record.pins.pinned_server import Mode, Pin, ServerPins, after_listing, approved, rejected

MOST_OF_A_LISTING = 512 << 10
"""Characters of one listing that are read for oddities. What is trusted already is not read again."""

Told = Callable[["PinEvent"], object]
"""Hears what happens, before it does. What it raises as PinError keeps it from happening."""


class PinEvent(Struct, frozen=True, kw_only=True):
    """Something to be recorded. `items` are the names, each with the digest of what was shown."""

    what: str
    """`approved`, `rejected`, `forgotten`, `held` or `tampered`."""
    server: str
    by: str = ""
    items: tuple[tuple[str, str, str], ...] = ()
    why: str = ""


class PinChoice(Struct, frozen=True, kw_only=True):
    """What a person has looked at: exactly this definition, told by its digest."""

    kind: Kind
    name: str = ""
    digest: str = ""


class PinDesk:
    """All servers' pins. Safe for threads and processes."""

    def __init__(
        self, files: PinFiles, *, told: Told = lambda _event: None, clock: Callable[[], int] = time.time_ns
    ) -> None:
        self._files, self._told, self._clock = files, told, clock
        self._cached: dict[str, tuple[tuple[int, int, int], ServerPins | PinError]] = {}
        self._alarmed: set[str] = set()

    def known(self, server: str) -> ServerPins:
        """What is kept of a server. PinError if that can't be believed."""
        stamp = self._files.stamp(server)
        cached = self._cached.get(server)
        if cached is None or cached[0] != stamp or isinstance(cached[1], PinError):
            cached = (stamp, self._looked_up(server))
            self._cached[server] = cached
        if isinstance(cached[1], PinError):
            raise cached[1]
        return cached[1]

    def all(self, expected: Iterable[str] = ()) -> list[ServerPins | tuple[str, str]]:
        """Every server of which something is kept, or its name and why that can't be believed.

        `expected` are servers that may have been known: that their pins are gone shows only to who asks for them.
        """
        found: list[ServerPins | tuple[str, str]] = []
        for server in sorted({*self._files.servers(), *expected}):
            try:
                found.append(self.known(server))
            except PinError as error:
                found.append((server, str(error)))
        return found

    def listed(
        self, server: str, shown: Mapping[Kind, Sequence[Definition]], servers: Collection[str], *, mode: Mode
    ) -> ServerPins:
        """Take in what a server shows. Where that can't be kept, nothing new is trusted. Raises PinError."""
        with self._files.held():
            before = self.known(server)
            after = self._after(before, shown, servers, mode)
            if after == before:
                return before
            try:
                kept = self._files.write(after)
            except PinError as error:
                # INVARIANT: what could not be kept is not trusted, or it would be trusted again and again.
                unkept = self._after(before, shown, servers, "ask")
                self._tell_held(before, unkept, str(error))
                return unkept
            self._cached[server] = (self._files.stamp(server), kept)
        self._tell_held(before, kept, "")
        return kept

    def approve(self, server: str, choices: Sequence[PinChoice], by: str) -> list[Pin]:
        """Say yes to what was shown. Raises NoPinError or PinError.

        INVARIANT: who asks for this has shown that `by` is a person and no agent.
        """
        return self._answered(server, choices, by, approved, "approved")

    def reject(self, server: str, choices: Sequence[PinChoice], by: str) -> list[Pin]:
        """Say no to what was shown. Raises NoPinError or PinError."""
        return self._answered(server, choices, by, rejected, "rejected")

    def forget(self, server: str, by: str) -> None:
        """Forget a server: what it shows next is its first listing. Also the way out where its pins are not ours.

        INVARIANT: as for `approve`.
        """
        with self._files.held():
            known = self._looked_up(server)
            if isinstance(known, ServerPins) and not known.generation:
                raise NoPinError(f"nothing is known of a server {server!r}")
            generation = known.generation if isinstance(known, ServerPins) else 0
            self._told(PinEvent(what="forgotten", server=server, by=by))
            self._files.write(ServerPins(server=server, generation=generation))
            self._alarmed.discard(server)

    def _answered(
        self,
        server: str,
        choices: Sequence[PinChoice],
        by: str,
        change: Callable[[ServerPins, Collection[tuple[str, str]], str, int], ServerPins],
        what: str,
    ) -> list[Pin]:
        with self._files.held():
            known = self.known(server)
            pins = [_chosen(known, choice) for choice in choices]
            keys = {pin.key for pin in pins}
            items = tuple((pin.kind, pin.name, pin.shown) for pin in pins)
            self._told(PinEvent(what=what, server=server, by=by, items=items))  # first: no record, no yes
            kept = self._files.write(change(known, keys, by, self._clock()))
            self._cached[server] = (self._files.stamp(server), kept)
        return [pin for pin in kept.pins if pin.key in keys]

    def _after(
        self, known: ServerPins, shown: Mapping[Kind, Sequence[Definition]], servers: Collection[str], mode: Mode
    ) -> ServerPins:
        now = self._clock()
        for kind, found in shown.items():
            reader = _ListingReader(known.server, self._neighbours(known, kind, found, servers))
            known = after_listing(known, kind, found, reader.examine, mode=mode, now_ns=now)
        return known

    def _neighbours(
        self, known: ServerPins, kind: Kind, found: Iterable[Definition], servers: Collection[str]
    ) -> Neighbours:
        others: dict[str, str] = {}
        for server in servers:
            if server != known.server:
                others |= {pin.name: server for pin in self._pins_of(server) if pin.kind == "tools" and not pin.gone}
        own = {each.name for each in found} if kind == "tools" else ()
        return Neighbours(own, others, [server for server in servers if server != known.server])

    def _pins_of(self, server: str) -> tuple[Pin, ...]:
        try:
            return self.known(server).pins
        except PinError:
            return ()

    def _looked_up(self, server: str) -> ServerPins | PinError:
        try:
            return self._files.read(server)
        except PinError as error:
            if server not in self._alarmed:
                self._alarmed.add(server)
                self._told(PinEvent(what="tampered", server=server, why=str(error)))
            return error

    def _tell_held(self, before: ServerPins, after: ServerPins, why: str) -> None:
        held_before = {(pin.key, pin.shown) for pin in before.pins if pin.waits}
        held = [pin for pin in after.pins if pin.waits and (pin.key, pin.shown) not in held_before]
        if held:
            items = tuple((pin.kind, pin.name, pin.shown) for pin in held)
            self._told(PinEvent(what="held", server=after.server, items=items, why=why or reason_of(held[0])))


def reason_of(pin: Pin) -> str:
    """Why a pin does not count now, in half a sentence; empty if it does."""
    odd = next((each.what for each in pin.oddities if each.holds), "")
    match pin.state:
        case "pinned":
            return ""
        case "removed":
            return "its server does not show it any more"
        case "rejected":
            return f"{pin.refused_by} said no to it"
        case "changed":
            return "it is not what it was when it was trusted" + (f", and {odd}" if odd else "")
        case "flagged":
            return odd
        case "new":
            return "it is new under this name" if pin.was else "it is new, and nobody has looked at it"


def choices_of(pins: Iterable[Pin]) -> list[PinChoice]:
    """What a person is asked to say yes or no to."""
    return [PinChoice(kind=pin.kind, name=pin.name, digest=pin.shown) for pin in pins]


class _ListingReader:
    """Reads what is new in one listing, and no more of it than a server may cost."""

    def __init__(self, server: str, beside: Neighbours) -> None:
        self._server, self._beside = server, beside
        self._left = MOST_OF_A_LISTING

    def examine(self, definition: Definition) -> tuple[Oddity, ...]:
        self._left -= len(definition.text)
        if self._left < 0:
            return (Oddity(f"its server shows more than {MOST_OF_A_LISTING >> 10} KiB, and nobody read the rest"),)
        return oddities_of(definition, self._server, self._beside)


def _chosen(known: ServerPins, choice: PinChoice) -> Pin:
    pin = known.get(choice.kind, choice.name)
    if pin is None:
        raise NoPinError(f"{known.server} has no {choice.kind} {choice.name!r}")
    if choice.digest and choice.digest != pin.shown:
        raise NoPinError(f"{choice.name or choice.kind} of {known.server} changed again while you looked; look again")
    return pin
