"""A value that was recognised once is hidden wherever else it stands, also where nothing tells it.

`Recognised` holds the values of one result, one call or one stream while that is searched, and no longer.
"""

from __future__ import annotations

import hashlib
import os
from binascii import b2a_base64, hexlify
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Protocol
from urllib.parse import quote_from_bytes

from interpose.reading.secrets.effort import LINE, MATCH, spend
from interpose.reading.secrets.hits import GUESSED, REPEATED, SHAPED, Hit
from interpose.reading.secrets.patterns import Pattern, escaped, pattern
from interpose.reading.secrets.secret_values import (
    digit_groups,
    has,
    is_code,
    is_drawn,
    is_filler,
    is_name,
    is_restless,
    is_template,
)

MOST = 4096
"""Values of one search. With more, what is left is withheld: nobody reads so many secrets by mistake."""
SHORTEST, LONGEST = 8, 4096
_STANDS_ALONE = 16
"""A shorter value is hidden only as a word of its own: it may be a part of another word by chance."""
_SHORTEST_NUMBER = 12
_IDENTIFIER, _DIGIT_GROUPS = r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*", 3
"""What could be a name in a program, unless it has so many runs of digits."""
_FEWEST_LETTERS = 5
_KEY_LINE = r"[0-9A-Za-z+/=]{40,}"
_KEY_LINES = 64
_RUN = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/_-"
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_BEGINNING = 5
_FEW = 16
"""Values that are looked for one after the other. More of them share a pattern, which takes time to make."""
_SHORT = 256 * 1024
"""So they do if the text is longer than this for one value."""
_ENCODED = 16
"""With more values than these, only the values themselves are looked for, not their encodings."""
_NOTHING: Mapping[int, int] = MappingProxyType({})


class KnownFromBefore(Protocol):
    """What is known from before, though not by its text."""

    def __len__(self) -> int:
        """How much that is."""

    def find(self, data: bytes) -> Iterable[Hit]:
        """Where it stands."""


def is_distinct(value: bytes, *, has_shape: bool = False) -> bool:
    """Whether a value means the same wherever it stands. A word, a name or a number that is a password does not."""
    if not SHORTEST <= len(value) <= LONGEST or len(set(value)) < _FEWEST_LETTERS or not value.isascii():
        return False
    if has_shape and len(value) >= _STANDS_ALONE:
        return True
    if value.isdigit():
        return len(value) >= _SHORTEST_NUMBER
    if len(value) >= _STANDS_ALONE and is_drawn(value):
        return True
    if not has(value, "d"):
        return is_restless(value)
    if len(value.split()) != 1 or is_name(value):
        return has(value, "dlu") and value.isalnum() and not is_filler(value)
    if pattern(_IDENTIFIER).covers(value):
        return digit_groups(value) >= _DIGIT_GROUPS and not is_filler(value)
    return len(value) >= _STANDS_ALONE or not (is_template(value) or is_filler(value) or is_code(value))


class Recognised:
    """The values that were found so far, and a look for each of them in a text."""

    def __init__(self, memory: KnownFromBefore | None = None) -> None:
        self._memory = memory
        self._values: dict[bytes, str] = {}
        self._few: dict[bytes, str] = {}
        self._many: list[_ManyValues] = []

    def __bool__(self) -> bool:
        return bool(self._values) or self.has_memory

    @property
    def has_memory(self) -> bool:
        """Whether anything is known from before."""
        return self._memory is not None and len(self._memory) > 0

    @property
    def values(self) -> Mapping[bytes, str]:
        """The values and their kinds, in the order in which they were found."""
        return self._values

    def learn(self, value: bytes, kind: str, rank: int = GUESSED) -> None:
        """Know a value from now on, if it is worth knowing."""
        if value not in self._values and is_distinct(value, has_shape=rank == SHAPED):
            self._values[value] = self._few[value] = kind

    def learn_all(self, values: Mapping[bytes, str]) -> None:
        """Know values that were known elsewhere."""
        for value, kind in values.items():
            self._values[value] = self._few[value] = kind

    def add(self, data: bytes, hits: Iterable[Hit]) -> Hit | None:
        """Know these from now on. The hit from which on there is no room, if there is one."""
        for hit in hits:
            if len(self._values) >= MOST and hit.secret not in self._values:
                return hit
            self.learn(hit.secret, hit.kind, hit.rank)
            if hit.kind.endswith("private-key") and hit.secret in self._values:
                for line, _ in zip(
                    pattern(_KEY_LINE).matches(data, hit.start, hit.end), range(_KEY_LINES), strict=False
                ):
                    self.learn(line.text(), hit.kind)
        return None

    def _share_a_pattern(self) -> None:
        # Patterns of like size become one, so that there are few of them and each value is put into few.
        known, self._few = self._few, {}
        while self._many and len(self._many[-1].kinds) <= len(known):
            known = {**self._many.pop().kinds, **known}
        self._many.append(_ManyValues(known))

    def forget_oldest(self, kept: int) -> None:
        """For a stream, which may have no end."""
        while len(self._values) > kept and self._many:
            for value in self._many.pop(0).kinds:
                self._values.pop(value, None)

    def find(self, data: bytes, found: Mapping[int, int] = _NOTHING) -> Iterator[Hit]:
        """Where known values stand: as they are, in URL encoding, in base64 and in hexadecimal digits.

        `found` says where something begins and ends that needs no other look.
        """
        if len(self._few) > _FEW or len(self._few) * len(data) > _SHORT:
            self._share_a_pattern()
        for value, kind in self._few.items():
            for text in _spellings(value):
                yield from _one(data, text, value, kind, found)
        for values in self._many:
            yield from values.find(data, found)
        if self._memory is not None and len(self._memory):
            yield from self._memory.find(data)


class _ManyValues:
    """Many values, looked for at once."""

    def __init__(self, kinds: dict[bytes, str]) -> None:
        self.kinds = kinds
        self._texts: dict[bytes, bytes] = {}
        self._lengths: dict[bytes, set[int]] = {}
        self._beginnings: Pattern | None = None

    def find(self, data: bytes, found: Mapping[int, int]) -> Iterator[Hit]:
        """Where they stand. A pattern of their beginnings finds them: one of all letters takes far longer to make."""
        if self._beginnings is None:
            for value in self.kinds:
                for text in _spellings(value) if len(self.kinds) <= _ENCODED else (value,):
                    self._texts[text] = value
                    self._lengths.setdefault(text[:_BEGINNING], set()).add(len(text))
            self._beginnings = Pattern("|".join(map(escaped, self._lengths)), roomy=True)
        for start in self._beginnings.starts(data):
            spend(LINE)
            for length in self._lengths[data[start : start + _BEGINNING]]:
                known = self._texts.get(text := data[start : start + length])
                if known is not None and found.get(start, 0) < start + length:
                    yield from _hit(data, start, text, known, self.kinds[known])


def _one(data: bytes, text: bytes, value: bytes, kind: str, found: Mapping[int, int]) -> Iterator[Hit]:
    at = data.find(text)
    while at >= 0:
        spend(LINE)
        if found.get(at, 0) < at + len(text):
            yield from _hit(data, at, text, value, kind)
        at = data.find(text, at + len(text))


def _hit(data: bytes, start: int, text: bytes, value: bytes, kind: str) -> Iterator[Hit]:
    end = start + len(text)
    if text is not value and text not in (value, _quoted(value)):
        start, end = _run(data, start, end)
    elif len(value) < _STANDS_ALONE and not _is_word(data, start, end):
        return
    spend(MATCH // 4)
    yield Hit(start, end, kind, value, REPEATED)


def _spellings(value: bytes) -> Iterator[bytes]:
    yield value
    quoted = _quoted(value)
    if quoted != value:
        yield quoted
    if len(value) >= _STANDS_ALONE:
        # What stands before the value shifts it by one or two bytes; what is the same in any case is looked for.
        for skipped in range(3):
            inner = value[skipped:]
            encoded = b2a_base64(inner[: len(inner) // 3 * 3], newline=False)
            yield encoded
            if b"+" in encoded or b"/" in encoded:
                yield encoded.translate(_URL_SAFE)
        yield hexlify(value)


def _quoted(value: bytes) -> bytes:
    return quote_from_bytes(value, safe="-._~").encode()


def _run(data: bytes, start: int, end: int) -> tuple[int, int]:
    """What else of an encoded text may belong to the value: some letters before it and after it."""
    before, after = data[max(0, start - 3) : start], data[end : end + 4]
    return start - (len(before) - len(before.rstrip(_RUN))), end + len(after) - len(after.lstrip(_RUN + b"="))


def _is_word(data: bytes, start: int, end: int) -> bool:
    return not (start and data[start - 1 : start].isalnum()) and not data[end : end + 1].isalnum()


# --- a keyed digest: whoever has the key can match equal secrets, and nobody can read or guess one from it ----------

DIGEST_BYTES = 4
_KEY_BYTES = 32
_LONGEST_KEY = 64

_own_key = os.urandom(_KEY_BYTES)


def usable_key(key: bytes | None) -> bytes:
    """The key to use: the given one, or one of this process."""
    if key is None:
        return _own_key
    if not key:
        raise ValueError("an empty key would let everybody guess what was hidden")
    return key if len(key) <= _LONGEST_KEY else hashlib.sha256(key).digest()


def digest(secret: bytes, key: bytes) -> str:
    """Eight hexadecimal digits."""
    return hashlib.blake2b(secret, digest_size=DIGEST_BYTES, key=key).hexdigest()
