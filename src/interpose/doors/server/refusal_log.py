"""Requests that were refused, in the program's log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from interpose.doors.http_server.listener_state import Answered

log = logging.getLogger("interpose.http")

REFUSALS_A_SECOND = 20
"""Lines about refused requests. Whoever sends many must not fill the disk: the rest is counted."""


class Refusals:
    """Logs requests that were refused, and why; never more than REFUSALS_A_SECOND of them."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._second = 0.0
        self._logged = self._left_out = 0

    def answered(self, answer: Answered) -> None:
        """Told of every answer."""
        if answer.status < 400:
            return
        now = self._clock()
        if now - self._second >= 1.0:
            if self._left_out:
                log.warning("refused more requests than are logged", extra={"requests": self._left_out})
            self._second, self._logged, self._left_out = now, 0, 0
        if self._logged >= REFUSALS_A_SECOND:
            self._left_out += 1
            return
        self._logged += 1
        log.log(
            logging.ERROR if answer.status >= 500 else logging.INFO,
            "failed" if answer.status >= 500 else "refused",
            extra={
                "request_id": answer.request_id, "method": answer.method, "route": answer.path,
                "client": answer.client, "status": answer.status, **_why(answer.problem),
            },
        )  # fmt: skip


class _Problem(msgspec.Struct):
    error: str = ""
    message: str = ""


def _why(body: bytes) -> dict[str, str]:
    try:
        said = msgspec.json.decode(body, type=_Problem)
    except msgspec.MsgspecError:
        return {}
    return {"code": said.error, "reason": said.message}
