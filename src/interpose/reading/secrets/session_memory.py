"""Secrets that a session has seen, by keyed digests: the values themselves are kept nowhere.

A later text is cut into words as long as one of those values, and the digests of these words are compared. So a value
is found again as a word of its own, not inside of another word and not in an encoding.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping

from interpose.reading.secrets.hits import REPEATED, Hit
from interpose.reading.secrets.patterns import Pattern
from interpose.reading.secrets.recognised import Recognised, usable_key

SESSIONS, VALUES, SECONDS = 1024, 256, 24 * 3600.0
"""Sessions that are remembered, values of each, and for how long after a value was last seen. The oldest go first."""
LONGEST = 512
_LOOKS = 100_000
"""Words of one text that are compared. Only text that is made of such words has more."""
_DIGEST_BYTES = 16
_WORDS = (("[0-9A-Za-z]", "[^0-9A-Za-z]"), ("[0-9A-Za-z_-]", "[^0-9A-Za-z_-]"), (r"[^\s\"'`<>]", "[^0-9A-Za-z]"))
"""Sorts of words: the letters that they are made of, and what stands before and after them."""


class SessionMemory:
    """What one session has seen."""

    def __init__(self, key: bytes, clock: Callable[[], float] = time.monotonic) -> None:
        self._key, self._clock = key, clock
        self._seen: OrderedDict[bytes, tuple[str, int, int, float]] = OrderedDict()
        """By digest: the kind, the sort of word, the length, and when it was seen."""
        self._patterns: tuple[Pattern, ...] | None = None
        self._shortest = 0

    def __len__(self) -> int:
        return len(self._seen)

    def with_more(self, values: Mapping[bytes, str]) -> SessionMemory:
        """Another memory, which has the digests of these values, too."""
        now = self._clock()
        more = SessionMemory(self._key, self._clock)
        more._seen = self._seen.copy()
        more._patterns = None
        seen = more._seen
        for value, kind in values.items():
            if len(value) <= LONGEST:
                digest = self._digest(value)
                seen[digest] = (kind, _sort_of_word(value), len(value), now)
                seen.move_to_end(digest)
        while seen and (len(seen) > VALUES or next(iter(seen.values()))[3] < now - SECONDS):
            seen.popitem(last=False)
        more._shortest = min((length for _, _, length, _ in seen.values()), default=0)
        return more

    def find(self, data: bytes) -> Iterator[Hit]:
        """Where they stand."""
        if len(data) < self._shortest:
            return
        padded = b" " + data + b" "
        looks = _LOOKS
        for words in self._words():
            at = 0
            while looks and (match := words.first(padded, at)) is not None:
                looks -= 1
                start, end = match
                value = padded[start + 1 : end - 1]
                known = self._seen.get(self._digest(value))
                if known is not None:
                    yield Hit(start, end - 2, known[0], value, REPEATED)
                at = end - 1 if known is not None else start + 1

    def _words(self) -> Iterable[Pattern]:
        """Words of the sorts and lengths that are known."""
        if self._patterns is None:
            found = []
            for sort, (letter, edge) in enumerate(_WORDS):
                lengths = sorted({length for _, of_sort, length, _ in self._seen.values() if of_sort == sort})
                if lengths:
                    words = "|".join(f"{letter}{{{length}}}" for length in lengths)
                    found.append(Pattern(f"{edge}(?:{words}){edge}", roomy=True))
            self._patterns = tuple(found)
        return self._patterns

    def _digest(self, value: bytes) -> bytes:
        return hashlib.blake2b(value, digest_size=_DIGEST_BYTES, key=self._key, person=b"session").digest()


def _sort_of_word(value: bytes) -> int:
    if value.isalnum():
        return 0
    return 1 if value.replace(b"_", b"").replace(b"-", b"").isalnum() else 2


class SessionMemories:
    """The sessions of one process. Nothing of it is stored: after a restart a value has to be recognised again."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = usable_key(key)
        self._sessions: OrderedDict[str, SessionMemory] = OrderedDict()
        self._lock = threading.Lock()

    def recognised(self, session: str) -> Recognised:
        """What a search of this session begins with."""
        return Recognised(self._sessions.get(session))

    def remember(self, session: str, values: Mapping[bytes, str]) -> None:
        """Keep what was recognised, if that is anything and the session has a name."""
        if not session or not values:
            return
        with self._lock:
            memory = self._sessions.get(session)
            if memory is None:
                memory = self._sessions[session] = SessionMemory(self._key)
            self._sessions.move_to_end(session)
            # INVARIANT: a memory that others read is not changed, so they need no lock.
            self._sessions[session] = memory.with_more(values)
            if len(self._sessions) > SESSIONS:
                self._sessions.popitem(last=False)
