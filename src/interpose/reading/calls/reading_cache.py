"""Readings that were made before, so that a call seen again costs a lookup and no analysis."""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_ENTRIES = 4096
MAX_BYTES = 16 * 1024 * 1024
MAX_ENTRY_BYTES = 64 * 1024
"""A longer command is cheaper to analyse again than to keep."""


class ReadingCache(Generic[T]):
    """The least recently used are forgotten first. Bounded in entries and in bytes; safe to share by threads.

    INVARIANT: a key holds all that its value depends on, and equal keys are the same question. Nothing here looks
    inside a key.
    """

    def __init__(self, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._kept: dict[Hashable, tuple[T, int]] = {}
        self._lock = Lock()
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._bytes = 0

    def get(self, key: Hashable) -> T | None:
        """What was kept under this key, if it still is."""
        with self._lock:
            entry = self._kept.pop(key, None)
            if entry is None:
                return None
            self._kept[key] = entry
            return entry[0]

    def put(self, key: Hashable, value: T, size: int) -> None:
        """Keep a value that costs about `size` bytes, in the place of what was there."""
        with self._lock:
            replaced = self._kept.pop(key, None)
            self._bytes -= replaced[1] if replaced else 0
            if size > MAX_ENTRY_BYTES:
                return
            self._bytes += size
            self._kept[key] = (value, size)
            while len(self._kept) > self._max_entries or self._bytes > self._max_bytes:
                _, (_, forgotten) = self._forget_oldest()
                self._bytes -= forgotten

    def _forget_oldest(self) -> tuple[Hashable, tuple[T, int]]:
        oldest = next(iter(self._kept))
        return oldest, self._kept.pop(oldest)

    def clear(self) -> None:
        """Forget everything, as when the policy changed."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)
