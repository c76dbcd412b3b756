"""How much is too much for a disk."""

from __future__ import annotations

from interpose.effects.frozen_values import words
from interpose.effects.invocation import Invocation, Lowering, Word

ENDLESS = "endless"
"""The taint of what has no end, such as `/dev/zero` and what `yes` says."""
_PASSING = words(
    """
    base32 base64 bzip2 cat cut fold gzip hexdump od openssl pigz pv rev sed strings tee tr uuencode xxd xz zstd
    """
)
"""Programs that pass on as much as they read."""
_LIMITS = {"xxd": ("-l", "-len"), "od": ("-N", "--read-bytes"), "hexdump": ("-n",), "sed": ("q",)}

_UNITS = {unit: 1024**power for power, unit in enumerate("KMGTPE", start=1)}
_HUGE = 100 * 1024**3
"""What nobody makes by hand: a file of this size fills the disks of most machines."""


def is_huge(size: str, times: int = 1) -> bool:
    """Whether `1000G`, `2T` and the like (`times` over) are more than a disk usually has left."""
    number = size.rstrip("iBKMGTPEkmgtpeb")
    unit = size[len(number) : len(number) + 1].upper()
    return number.isdecimal() and len(number) < 20 and int(number) * _UNITS.get(unit, 1) * times >= _HUGE


def passes_endless(inv: Invocation) -> bool:
    """Whether what has no end has none either after this program. `head` says how much is taken."""
    if inv.name in ("head", "ghead"):
        sizes = [word.text.lstrip("-cbytes=") for word in inv.args]
        return any(is_huge(size) for size in sizes)
    return inv.name in _PASSING and not any(
        word.text.startswith(limit) or (limit == "q" and word.text.endswith(limit))
        for limit in _LIMITS.get(inv.name, ())
        for word in inv.args
    )


def fills_disk(low: Lowering, at: Word) -> None:
    """State that a file grows until the disk is full."""
    low.emit("system", at.text, certainty="possible", at=at, rule="disk-fill",
             reason="Writes so much, or without an end, that the disk is full afterwards")  # fmt: skip
