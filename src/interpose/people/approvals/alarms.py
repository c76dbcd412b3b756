"""What was found wrong with grants and answers: logged when it is found, and told to whoever asks."""

from __future__ import annotations

import threading

from interpose.core.late import late_logger

log = late_logger("interpose.approvals")

MOST_KEPT = 200


class GrantAlarms:
    """Each alarm once, under a key. Safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, str] = {}
        self.count = 0

    def __call__(self, key: str, text: str) -> None:
        """Something is wrong."""
        with self._lock:
            if key in self._found:
                return
            if len(self._found) >= MOST_KEPT:
                del self._found[next(iter(self._found))]
            self._found[key] = text
            self.count += 1
        log.error("alarm: %s", text, extra={"alarm": key})

    def texts(self) -> list[str]:
        """All that was found since the start."""
        with self._lock:
            return list(self._found.values())
