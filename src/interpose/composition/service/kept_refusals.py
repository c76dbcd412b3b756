"""Refused calls in the store, so that every process that shares it knows of them: any server, and hooks without one."""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns
from typing import TYPE_CHECKING

from msgspec import MsgspecError
from msgspec import json as fast
from msgspec.structs import replace

from interpose.core.errors import StoreError, text_of
from interpose.core.late import late_logger
from interpose.core.types import Context
from interpose.engine.flow.refused_calls import RefusedCall, place_of_refusal

if TYPE_CHECKING:
    from interpose.record.store.protocols import RefusalStore

log = late_logger("interpose.flow")

MOST = 10_000
KEPT_NS = 7 * 24 * 3600 * 1_000_000_000
"""Refusals that are kept, and for how long: a result comes within minutes, or never."""
_EACH = 64
"""Room is made by about one refusal in so many."""
_MOST_UNKEPT = 1000

_refused = fast.Decoder(RefusedCall).decode


class KeptRefusals:
    """Safe for threads; each method blocks."""

    def __init__(self, store: RefusalStore, clock: Callable[[], int] = time_ns, most: int = MOST) -> None:
        self._store, self._clock, self._most = store, clock, most
        self._unkept: dict[str, RefusedCall] = {}
        """Those that the store did not take: at least this process knows of them."""

    def keep(self, context: Context, key: str, refused: RefusedCall) -> None:
        """Keep a refusal. Raises nothing: it is refused either way."""
        place, now = place_of_refusal(context, key), self._clock()
        refused = replace(refused, at_ns=now)
        try:
            self._store.keep_refusal(place, fast.encode(refused), now_ns=now)
            if int(place[:8], 16) % _EACH == 0:
                self._store.forget_refusals(now - KEPT_NS, self._most)
        except (StoreError, UnicodeEncodeError) as error:
            log.warning("only this process knows that call %s was refused: %s", refused.call_id, text_of(error))
            while len(self._unkept) >= _MOST_UNKEPT:
                self._unkept.pop(next(iter(self._unkept)), None)
            self._unkept[place] = refused

    def find(self, context: Context, key: str) -> RefusedCall | None:
        """The refusal of the call of this name; None if it was not refused. Raises StoreError."""
        place = place_of_refusal(context, key)
        if (known := self._unkept.get(place)) is not None:
            return known
        body = self._store.refusal(place)
        if body is None:
            return None
        try:
            return _refused(body)
        except MsgspecError as error:
            raise StoreError(f"the refusal of a call can't be read: {error}") from None
