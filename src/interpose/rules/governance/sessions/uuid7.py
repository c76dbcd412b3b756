"""UUIDs of version 7: the time in milliseconds first, then chance. They sort as they were made."""

from __future__ import annotations

import os


def uuid7(now_ns: int) -> str:
    """A new one of this moment."""
    chance = int.from_bytes(os.urandom(10))
    milliseconds = (now_ns // 1_000_000) & ((1 << 48) - 1)
    number = milliseconds << 80 | 0x7 << 76 | (chance >> 62 & 0xFFF) << 64 | 0b10 << 62 | chance & ((1 << 62) - 1)
    digits = f"{number:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
