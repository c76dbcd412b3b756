"""Names that fit a pattern: exactly, or as a glob with `*` and `?`. Never by a part of a name.

Hand-written, since a pattern of a file meets names that agents choose: the time is bounded by the product of both
lengths, whatever either holds, and no letter of a pattern but `*` and `?` means anything but itself.
"""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 2000
"""Longer names fit nothing but a lone `*`."""


def fits(pattern: str, name: str) -> bool:
    """Whether the whole name fits the pattern. Case counts: callers fold both where it must not."""
    if pattern == "*" or pattern == name:
        return True
    if len(name) > LONGEST or ("*" not in pattern and "?" not in pattern):
        return False
    return _glob(pattern, name)


def fits_any(patterns: Iterable[str], name: str) -> bool:
    """Whether the name fits one of them."""
    return any(fits(pattern, name) for pattern in patterns)


def is_glob(pattern: str) -> bool:
    """Whether a pattern is more than one name."""
    return "*" in pattern or "?" in pattern


def _glob(pattern: str, name: str) -> bool:
    at = to = 0
    star = retry = -1
    while to < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, retry = at, to
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[to]):
            at, to = at + 1, to + 1
        elif star >= 0:
            retry += 1
            at, to = star + 1, retry
        else:
            return False
    return pattern[at:].strip("*") == ""
