"""A keyed digest: equal secrets can be matched by whoever has the key, and nobody can read or guess one from it."""

from __future__ import annotations

import hashlib
import os

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
