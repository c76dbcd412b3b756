"""What is known of one server, and what becomes of it by a listing or a person's word. Values only.

INVARIANT: what counts (`trusted`) changes by a person's word alone, or by the first listing of a kind. A listing never
changes it afterwards, whatever it says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from interpose.record.pins.definitions import WHOLE, Definition, Kind, canonical, digest, nameless
from interpose.record.pins.oddities import Oddity

State = Literal["pinned", "changed", "new", "flagged", "removed", "rejected"]
Mode = Literal["first-use", "ask"]
"""`first-use`: what a server shows first is trusted, unless it is odd. `ask`: nothing is without a person's word."""
FIRST_USE = "first use"


class Pin(Struct, frozen=True, kw_only=True):
    """One thing that a server shows or showed. `by` is who trusted it, `refused_by` who said no to what is offered."""

    kind: Kind
    name: str
    trusted: str = ""
    """The definition that counts; empty if none does."""
    offered: str = ""
    """What the server shows now, if it is another."""
    since_ns: int = 0
    by: str = ""
    refused_by: str = ""
    gone: bool = False
    was: str = ""
    """The trusted name that this one has the definition of: it was renamed."""
    oddities: tuple[Oddity, ...] = ()

    @property
    def key(self) -> tuple[Kind, str]:
        """What it is found by."""
        return self.kind, self.name

    @property
    def state(self) -> State:
        """How it stands, in one word."""
        if self.refused_by:
            return "rejected"
        if self.offered or not self.trusted:
            if self.trusted:
                return "changed"
            return "flagged" if any(each.holds for each in self.oddities) else "new"
        return "removed" if self.gone else "pinned"

    @property
    def waits(self) -> bool:
        """Whether a person has to say something."""
        return self.state in ("changed", "new", "flagged")

    @property
    def shown(self) -> str:
        """The digest of what a person would say yes to."""
        return digest(self.offered or self.trusted)


class ServerPins(Struct, frozen=True, kw_only=True):
    """All pins of a server. `generation` counts its versions; `listed` are the kinds that had their first listing."""

    server: str
    generation: int = 0
    listed: tuple[Kind, ...] = ()
    pins: tuple[Pin, ...] = ()

    def get(self, kind: str, name: str) -> Pin | None:
        """One of them."""
        return next((pin for pin in self.pins if pin.kind == kind and pin.name == name), None)


Examine = Callable[[Definition], tuple[Oddity, ...]]


def after_listing(
    known: ServerPins, kind: Kind, found: Iterable[Definition], examine: Examine, *, mode: Mode, now_ns: int
) -> ServerPins:
    """What is known after a server has shown all that it has of a kind."""
    shown = {each.name: each for each in found}
    first = kind not in known.listed and mode == "first-use"
    before = {pin.name: pin for pin in known.pins if pin.kind == kind}
    left = [pin for name, pin in before.items() if name not in shown and pin.trusted]
    renamed = {nameless(pin.trusted): pin.name for pin in left} if kind not in WHOLE else {}
    now = [_after(before.get(each.name), each, examine, renamed, first=first, now_ns=now_ns) for each in shown.values()]
    now += [pin if pin.gone else replace(pin, gone=True, offered="", since_ns=now_ns) for pin in left]
    others = [pin for pin in known.pins if pin.kind != kind]
    listed = known.listed if kind in known.listed else (*known.listed, kind)
    return replace(known, listed=listed, pins=tuple(sorted((*others, *now), key=lambda pin: pin.key)))


def _after(
    pin: Pin | None, each: Definition, examine: Examine, renamed: Mapping[str, str], *, first: bool, now_ns: int
) -> Pin:
    text = each.text or canonical({"problem": each.problem})
    if pin is not None and pin.trusted == text:
        if not pin.offered and not pin.gone:
            return pin
        return replace(pin, offered="", gone=False, since_ns=now_ns, refused_by="", was="", oddities=examine(each))
    if pin is not None and pin.offered == text:
        return replace(pin, gone=False) if pin.gone else pin
    odd = examine(each)
    fresh = Pin(kind=each.kind, name=each.name, since_ns=now_ns, oddities=odd)
    if pin is None and first and not any(one.holds for one in odd):
        return replace(fresh, trusted=text, by=FIRST_USE)
    if pin is None:
        return replace(fresh, offered=text, was=renamed.get(nameless(text), ""))
    return replace(fresh, trusted=pin.trusted, by=pin.by, offered=text)


def approved(known: ServerPins, keys: Collection[tuple[str, str]], by: str, now_ns: int) -> ServerPins:
    """A person says yes to what is offered. What is removed is forgotten."""
    gone = {
        (pin.kind, name) for pin in known.pins if pin.key in keys for name in (pin.was, pin.name if pin.gone else "")
    }
    kept = [pin for pin in known.pins if not (pin.gone and pin.key in gone)]
    return replace(
        known, pins=tuple(_trusted(pin, by, now_ns) if pin.key in keys and pin.offered else pin for pin in kept)
    )


def _trusted(pin: Pin, by: str, now_ns: int) -> Pin:
    return replace(pin, trusted=pin.offered, offered="", by=by, refused_by="", was="", since_ns=now_ns)


def rejected(known: ServerPins, keys: Collection[tuple[str, str]], by: str, now_ns: int) -> ServerPins:
    """A person says no: to what is offered, or to what was trusted."""
    return replace(known, pins=tuple(_refused(pin, by, now_ns) if pin.key in keys else pin for pin in known.pins))


def _refused(pin: Pin, by: str, now_ns: int) -> Pin:
    if pin.offered:
        return replace(pin, refused_by=by, since_ns=now_ns)
    return replace(pin, offered=pin.trusted, trusted="", refused_by=by, since_ns=now_ns)
