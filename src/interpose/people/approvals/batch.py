"""One question for several calls: approve all, deny all, or review them one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Protocol

from interpose.core.driving import Ask, Failure, Flow, called
from interpose.core.types import PermissionRequest

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
    confirm_batch = called(getattr, (handler, "confirm_batch", None))
    if type(confirm_batch) is Failure:  # a handler that breaks when it is looked at has failed
        return BatchAnswer.DENY
    if confirm_batch is None:
        return BatchAnswer.REVIEW
    answer = yield Ask(_ForAll(confirm_batch, calls), requests)
    # Exact types only: a garbage answer must not get to compare itself.
    return BatchAnswer(answer) if type(answer) in (BatchAnswer, str) and answer in _WORDS else BatchAnswer.DENY


class _ForAll:
    """A batch handler in the place of one that answers a single question."""

    def __init__(self, confirm_batch: Any, calls: Sequence[str]) -> None:
        self._confirm_batch, self._calls = confirm_batch, calls

    def confirm(self, requests: Sequence[PermissionRequest]) -> object:
        return self._confirm_batch(requests, self._calls)


_WORDS = frozenset(BatchAnswer)
