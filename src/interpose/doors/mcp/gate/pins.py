"""What of a server's listing counts (`contract.ServerCatalogue`), by what is pinned.

INVARIANT: what is used is what this process itself saw, and it is the trusted definition to the letter. What another
process saw, or a file says of it, opens nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable, Mapping
from time import monotonic
from typing import Any

from msgspec.structs import replace

from interpose.core.errors import PinError
from interpose.core.formats.plain_text import one_line
from interpose.core.types import EMPTY
from interpose.doors.mcp.gate.contract import ServerListing
from interpose.record.pins.definitions import (
    KINDS,
    MOST_ITEMS,
    Definition,
    Kind,
    definitions_of,
    digest,
    instructions_of,
    item_of,
    name_of,
    problem_of,
)
from interpose.record.pins.oddities import Neighbours, reading_of
from interpose.record.pins.pin_desk import PinDesk, reason_of
from interpose.record.pins.pinned_server import Mode, Pin, ServerPins

log = logging.getLogger("interpose.gateway")

MOST_CHANGES = 12
"""Listings of a server that differ, in a minute. All kinds together, at a start there are three."""
_MINUTE = 60.0
_WORDS = {"tools": "tool", "prompts": "prompt", "resourceTemplates": "resource template", "resources": "resource"}


class PinnedCatalogue:
    """The pins of the servers behind one gateway. Safe to share by threads.

    Resources come and go, and are not pinned: those with something odd in what is said of them are left out.
    """

    def __init__(
        self,
        desk: PinDesk,
        connections: Mapping[str, Definition],
        *,
        mode: Mode = "first-use",
        by_command: bool = False,
    ) -> None:
        """`connections` are the servers by name (`definitions.connection_of`).

        `by_command`: a name alone says not which server is meant, and each command line has pins of its own.
        """
        self._desk, self._mode = desk, mode
        self._pinned_as = {
            name: f"{name}@{digest(one.text)[:8]}" if by_command else name for name, one in connections.items()
        }
        self._connections = {self._pinned_as[name]: one for name, one in connections.items()}
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, str, str], str] = {}
        self._listed: set[tuple[str, str]] = set()
        self._odd: dict[tuple[str, str], str] = {}
        self._told: set[tuple[str, str, str, str]] = set()
        self._marks: dict[tuple[str, str], str] = {}
        self._changes: dict[str, list[float]] = {}
        self._views: dict[str, tuple[ServerPins, dict[tuple[str, str], Pin]]] = {}

    def admit(self, listing: ServerListing, /) -> tuple[Mapping[str, Any], ...]:
        """The items that clients may see now. A tool that was changed is shown as it was trusted, and can't be used."""
        server = self._pinned_as.get(listing.server, listing.server)
        listing = replace(listing, server=server, items=_objects(listing.items))
        if listing.kind == "resources":
            return self._without_odd(listing)
        kind: Kind = listing.kind
        found = definitions_of(kind, listing.items)
        if len(listing.items) > MOST_ITEMS:
            log.warning("%s shows more than %d %s: the rest is left out", listing.server, MOST_ITEMS, kind)
        shown: dict[Kind, list[Definition]] = {"connection": [self._connection(listing.server)], kind: found}
        if listing.instructions or kind == "tools":
            shown["instructions"] = [instructions_of(listing.instructions)] if listing.instructions else []
        self._remember(listing.server, shown)
        try:
            known = self._taken_in(listing.server, kind, shown)
        except PinError as error:
            log.error("%s is held as a whole: %s", listing.server, error)
            return ()
        self._tell(known, shown)
        items = {name_of(kind, item): item for item in listing.items}
        pins = {pin.name: pin for pin in known.pins if pin.kind == kind}
        return tuple(
            item
            for each in found
            if (item := _shown(pins.get(each.name), each, items.get(each.name, EMPTY))) is not None
        )

    def _taken_in(self, server: str, kind: Kind, shown: Mapping[Kind, list[Definition]]) -> ServerPins:
        """What is known once a listing is. Raises PinError.

        INVARIANT: a server that shows something else all the time costs no more than a few readings a minute. What it
        shows beyond them is not what is trusted, and so is held.
        """
        mark = digest("".join(each.text for found in shown.values() for each in found) or "nothing")
        known = self._desk.known(server)
        if self._marks.get((server, kind)) == mark and kind in known.listed:
            return known
        now = monotonic()
        recent = [moment for moment in self._changes.get(server, ()) if now - moment < _MINUTE]
        if len(recent) >= MOST_CHANGES and known.listed:
            log.warning("%s shows something else all the time: what it shows now is not looked at", server)
            return known
        self._changes[server] = [*recent, now]
        known = self._desk.listed(server, shown, list(self._connections), mode=self._mode)
        self._marks[server, kind] = mark
        return known

    def held(self, server: str, kind: str, name: str, /) -> str:
        """Why this one may not be used now, for the agent; empty if it may. `instructions` have the name ""."""
        server = self._pinned_as.get(server, server)
        if kind == "resources":
            odd = self._odd.get((server, name), "")
            return f"The resource {name} of the MCP server {server} is held back: {odd}" if odd else ""
        what = f"{_WORDS.get(kind, kind)} {name}".strip()
        if kind not in KINDS:
            return f"There are no {kind} among what is pinned"
        if (server, kind) not in self._listed:
            return f"The {what} can't be used yet: {server} has not listed its {kind} since this gateway was started"
        try:
            pins = self._pins(server)
        except PinError as error:
            return _sentence(server, what, str(error), f"interpose mcp pins show {server}")
        if not self._is_trusted(server, pin := pins.get(("connection", "")), "connection", ""):
            odd = next((each.what for each in pin.oddities if each.holds), "") if pin is not None else ""
            why = odd or "the server itself is not what was trusted: its command or address changed"
            if pin is not None and not pin.trusted and not odd:
                why = "nobody has agreed to this server yet"
            return _sentence(server, what, why, f"interpose mcp pins show {server}")
        if self._is_trusted(server, pin := pins.get((kind, name)), kind, name):
            return ""
        why = (reason_of(pin) if pin is not None else "") or "it is not what its server has shown and somebody trusted"
        return _sentence(server, what, why, f"interpose mcp pins show {server} {name}".rstrip())

    def instructions(self, server: str, /) -> str:
        """What a server's instructions may say to a client now: what was trusted, or nothing."""
        try:
            pin = self._desk.known(self._pinned_as.get(server, server)).get("instructions", "")
        except PinError:
            return ""
        if pin is None or pin.gone or self.held(server, "instructions", ""):
            return ""
        return str(item_of(pin.trusted).get("instructions", ""))

    def _connection(self, server: str) -> Definition:
        """INVARIANT: a server that the configuration does not have is never trusted."""
        return self._connections.get(server, Definition("connection", "", "", "it is not in the configuration"))

    def _remember(self, server: str, shown: Mapping[Kind, Collection[Definition]]) -> None:
        with self._lock:
            for kind, found in shown.items():
                for key in [key for key in self._seen if key[:2] == (server, kind)]:
                    del self._seen[key]
                self._seen |= {(server, kind, each.name): each.text for each in found}
                self._listed.add((server, kind))

    def _pins(self, server: str) -> Mapping[tuple[str, str], Pin]:
        """By kind and name. Asked at every call, made when the file changes. Raises PinError."""
        known = self._desk.known(server)
        view = self._views.get(server)
        if view is None or view[0] is not known:
            view = known, {(pin.kind, pin.name): pin for pin in known.pins}
            self._views[server] = view
        return view[1]

    def _is_trusted(self, server: str, pin: Pin | None, kind: str, name: str) -> bool:
        text = self._seen.get((server, kind, name), "")
        return pin is not None and text != "" and pin.trusted == text

    def _without_odd(self, listing: ServerListing) -> tuple[Mapping[str, Any], ...]:
        kept: list[Mapping[str, Any]] = []
        left = _MOST_OF_RESOURCES
        odd: dict[tuple[str, str], str] = {}
        for item in listing.items:
            uri = name_of("resources", item)
            problem = problem_of(item)
            found = reading_of({} if problem else item, _NOBODY, left)
            left = max(0, left - found.read)
            if (why := problem or next((each.what for each in found.oddities if each.holds), "")) or not uri:
                odd[listing.server, uri] = why
            else:
                kept.append(item)
        with self._lock:
            for key in [key for key in self._odd if key[0] == listing.server]:
                del self._odd[key]
            self._odd |= odd
        return tuple(kept)

    def _tell(self, known: ServerPins, shown: Mapping[Kind, Collection[Definition]]) -> None:
        """Some lines in the gateway's log for what is held."""
        marks = {(known.server, pin.kind, pin.name, pin.shown): pin for pin in known.pins if pin.kind in shown}
        held = [pin for mark, pin in marks.items() if pin.waits and mark not in self._told]
        self._told |= {mark for mark, pin in marks.items() if pin.waits}
        for pin in held[:_MOST_TOLD]:
            log.warning(
                "%s: %s is held: %s. See `interpose mcp pins show %s`",
                known.server, f"{pin.kind} {one_line(pin.name)}".strip(), reason_of(pin), known.server,
            )  # fmt: skip
        if len(held) > _MOST_TOLD:
            log.warning("%s: %d more are held", known.server, len(held) - _MOST_TOLD)


_NOBODY = Neighbours()
_MOST_OF_RESOURCES = 512 << 10
_MOST_TOLD = 5


def _objects(items: Iterable[Any]) -> tuple[Mapping[str, Any], ...]:
    """What a server lists may be anything."""
    return tuple(item for item in items if isinstance(item, Mapping))


def _shown(pin: Pin | None, seen: Definition, item: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if pin is None or not pin.trusted or pin.refused_by:
        return None
    return item if pin.trusted == seen.text else item_of(pin.trusted)


def _sentence(server: str, what: str, why: str, look: str) -> str:
    return (
        f"The {what} of the MCP server {server} is held until a person has looked at it: {why}. Tell the user; they "
        f"can see it with `{look}`, and decide in their own terminal with `interpose mcp pins approve` or `reject`."
    )
