"""How much is too much for a disk."""

from __future__ import annotations

from interpose.shell.invocation import Lowering, Word

_UNITS = {unit: 1024**power for power, unit in enumerate("KMGTPE", start=1)}
_HUGE = 100 * 1024**3
"""What nobody makes by hand: a file of this size fills the disks of most machines."""


def is_huge(size: str, times: int = 1) -> bool:
    """Whether `1000G`, `2T` and the like (`times` over) are more than a disk usually has left."""
    number = size.rstrip("iBKMGTPEkmgtpeb")
    unit = size[len(number) : len(number) + 1].upper()
    return number.isdecimal() and len(number) < 20 and int(number) * _UNITS.get(unit, 1) * times >= _HUGE


def fills_disk(low: Lowering, at: Word) -> None:
    """State that a file grows until the disk is full."""
    low.emit("system", at.text, certainty="possible", at=at, rule="disk-fill",
             reason="Writes so much, or without an end, that the disk is full afterwards")  # fmt: skip
