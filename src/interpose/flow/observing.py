"""Showing outcomes to those who asked to see them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interpose.driving import Failure, Flow, ask
from interpose.errors import logged, text_of
from interpose.interceptor import Registration
from interpose.types import Finding


def observe_all(entries: Iterable[Registration], payload: Any, outcome: Any) -> Flow[tuple[Finding, ...]]:
    """Call `observe` of all, in order. A failing one is noted and stops nobody."""
    findings: list[Finding] = []
    for entry in entries:
        if entry.observe is None:
            continue
        answer = yield from ask(entry, entry.observe, payload, outcome)
        if type(answer) is Failure:
            _warn(entry.id, logged(answer.error, entry.id))
            reason = f"observe failed: {text_of(answer.error)}"
            findings.append(Finding(interceptor=entry.id, said="error", reason=reason, mode=entry.mode))
    return tuple(findings)


def _warn(id: str, error: BaseException) -> None:
    import logging

    logging.getLogger("interpose").warning("%s: observe failed: %s", id, text_of(error))
