"""Anchoring: the newest heads, signed, go to places that whoever can write to the ledger may not reach.

A chain that was cut off together with its head still does not reach the one that is kept elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import monotonic, time_ns

from msgspec import MsgspecError, Struct
from msgspec.json import decode, encode

from interpose.core.errors import LedgerError, text_of
from interpose.record.ledger.anchor_places import AnchorPlace
from interpose.record.ledger.checkpoints import Head, is_signed, sign

_FIRST = 1.0
"""Seconds until the first look: a process that decides about one event and ends anchors nothing."""


class Anchored(Struct, frozen=True):
    """What is kept: the heads of this ledger's writers at some moment."""

    time_ns: int
    heads: tuple[Head, ...]
    mac: str


class Anchoring:
    """A thread that anchors heads as they change. INVARIANT: nobody waits for it, and no failure of it fails a call."""

    def __init__(
        self, places: Sequence[AnchorPlace], heads: Callable[[], tuple[Head, ...]], key: bytes, every: float
    ) -> None:
        self._places, self._heads, self._key, self._every = places, heads, key, every
        self._end, self._since = threading.Event(), monotonic()
        self._kept: dict[str, tuple[Head, ...]] = {}
        self.problem = ""
        """Why a place did not take the last heads; empty if all did."""
        self._thread = threading.Thread(target=self._run, name="interpose:ledger-anchor", daemon=True)
        self._thread.start()

    def close(self, timeout: float) -> None:
        """Anchor what is new, if there is time for it, and stop."""
        self._end.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        pause = min(_FIRST, self._every)
        while not self._end.wait(pause):
            self.anchor()
            pause = self._every
        if monotonic() - self._since >= _FIRST:
            self.anchor()

    def anchor(self) -> None:
        """Take the heads to every place that does not have them."""
        heads = self._heads()
        problems: list[str] = []
        now = time_ns()
        line = encode(Anchored(now, heads, sign(self._key, "anchor", (now, heads))))
        for place in self._places:
            if not heads or self._kept.get(place.name) == heads:
                continue
            try:
                place.put(line)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with a place, the others get theirs
                problems.append(text_of(error))
            else:
                self._kept[place.name] = heads
        self.problem = "; ".join(problems)


def anchored_heads(place: AnchorPlace, key: bytes | None) -> tuple[Head, ...]:
    """The furthest head of each writer that a place has. LedgerError if it can't be read or is not ours."""
    furthest: dict[str, Head] = {}
    for line in place.lines():
        try:
            kept = decode(line, type=Anchored)
        except MsgspecError as error:
            raise LedgerError(f"{place.name}: it has a line that is no head") from error
        if key is not None and not is_signed(key, "anchor", (kept.time_ns, kept.heads), kept.mac):
            raise LedgerError(f"{place.name}: it has heads that are not signed by this ledger's key")
        for head in kept.heads:
            if head.writer not in furthest or head.seq > furthest[head.writer].seq:
                furthest[head.writer] = head
    return tuple(furthest.values())
