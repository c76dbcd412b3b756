"""What was said of results that the model has seen before: agents send all of them with each request.

INVARIANT: it is kept in this process and nowhere else, and forgotten when there is too much of it. What is forgotten is
looked at again.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from typing import Any

from msgspec import Struct
from msgspec.json import Encoder

from interpose.core.errors import text_of

MOST_RESULTS = 50_000
MOST_BYTES = 64 << 20

_encode = Encoder(enc_hook=text_of, order="sorted").encode


class SeenResult(Struct, frozen=True):
    """What the model gets of a result. `changed` is false if that is the result itself."""

    changed: bool = False
    value: Any = None
    size: int = 0


class ResultMemory:
    """By a digest of whose result it is and what it is."""

    def __init__(self, most: int = MOST_RESULTS, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._known: OrderedDict[bytes, SeenResult] = OrderedDict()
        self._bytes = 0

    def find(self, digest: bytes) -> SeenResult | None:
        """What was said of it, if it was seen."""
        found = self._known.get(digest)
        if found is not None:
            self._known.move_to_end(digest)
        return found

    def keep(self, digest: bytes, seen: SeenResult) -> None:
        """Remember it."""
        if seen.changed:
            seen = SeenResult(True, seen.value, len(_encode(seen.value)))
        if (before := self._known.pop(digest, None)) is not None:
            self._bytes -= before.size
        self._known[digest] = seen
        self._bytes += seen.size
        while self._known and (len(self._known) > self._most or self._bytes > self._most_bytes):
            self._bytes -= self._known.popitem(last=False)[1].size


class ResultDigests:
    """The digests of one request. Results that are alike in everything are told apart by their order."""

    def __init__(self) -> None:
        self._alike: Counter[bytes] = Counter()

    def of(self, *what: Any) -> bytes:
        """The digest of a result."""
        digest = hashlib.blake2b(_encode(what), digest_size=16).digest()
        self._alike[digest] += 1
        return digest + self._alike[digest].to_bytes(4, "big")
