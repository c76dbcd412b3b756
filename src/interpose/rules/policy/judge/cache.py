"""What was judged before: bounded in number and in time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Cache(Generic[K, V]):
    """The newest `size` values, each for `seconds`. Any thread may use it."""

    def __init__(self, size: int, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._size, self._seconds, self._clock = size, seconds, clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value, if it is still good."""
        with self._lock:
            return self._good(self._kept.get(key))

    def take(self, key: K) -> V | None:
        """The value, for once: it is forgotten with that."""
        with self._lock:
            return self._good(self._kept.pop(key, None))

    def _good(self, found: tuple[float, V] | None) -> V | None:
        return found[1] if found is not None and self._clock() < found[0] else None

    def put(self, key: K, value: V) -> None:
        """Keep a value, and forget the oldest ones beyond the bound. Being read makes no value live longer."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = (self._clock() + self._seconds, value)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def __len__(self) -> int:
        return len(self._kept)
