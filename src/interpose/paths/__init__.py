"""Resolving and judging paths: what a path means, without looking at the machine.

Resolve first, then ask. `secret_of`, `persistence_of` and `tamper_of` return a `Mark` (its `reason` is plain words, its
`strength` is `key` or `soft`) or None, so a truth test is enough for most callers.
"""

from interpose.paths.catalogue import Mark, Strength
from interpose.paths.device import device_of
from interpose.paths.persistence import persistence_of
from interpose.paths.place import Place, could_be, place_of
from interpose.paths.resolve import UNKNOWN, resolve
from interpose.paths.secret import secret_of
from interpose.paths.tamper import tamper_of

__all__ = [
    "UNKNOWN",
    "Mark",
    "Place",
    "Strength",
    "could_be",
    "device_of",
    "persistence_of",
    "place_of",
    "resolve",
    "secret_of",
    "tamper_of",
]
