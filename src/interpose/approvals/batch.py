"""One question for several calls: approve all, deny all, or review them one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Protocol

from interpose.types import PermissionRequest
from interpose.waiting import Execute, Failure, Flow

BATCH_DENIED = "User denied batch execution"


class BatchAnswer(StrEnum):
    """What a person says about a batch."""

    APPROVE = "approve"
    DENY = "deny"
    REVIEW = "review"


class BatchConfirmation(Protocol):
    """A confirmation handler that can answer for a batch. One without this method reviews one by one."""

    def confirm_batch(self, requests: Sequence[PermissionRequest], calls: Sequence[str], /) -> BatchAnswer:
        """`requests` need an answer; `calls` are the tool names of the whole batch."""


def summary(calls: Sequence[str], confirmations: int) -> str:
    """`3 tool call(s) - 2 require confirmation - [execx2, read]`, tools in the order in which they were first seen."""
    counted = Counter(calls)
    names = ", ".join(f"{name}x{count}" if count > 1 else name for name, count in counted.items())
    return f"{len(calls)} tool call(s) - {confirmations} require confirmation - [{names}]"


def ask_for_batch(handler: Any, requests: Sequence[PermissionRequest], calls: Sequence[str]) -> Flow[BatchAnswer]:
    """Ask once for all. A handler that fails or answers nonsense denies; one that has no batch form reviews."""
    confirm_batch = getattr(handler, "confirm_batch", None)
    if confirm_batch is None:
        return BatchAnswer.REVIEW
    answer = yield Execute(lambda _: confirm_batch(requests, calls), None)
    if isinstance(answer, Failure) or answer not in list(BatchAnswer):
        return BatchAnswer.DENY
    return BatchAnswer(answer)
