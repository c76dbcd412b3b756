"""Looks from time to time whether the store holds grants that are not ours and which questions go to others by now,
and keeps how late it is."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from interpose.core.errors import StoreError, text_of

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

log = logging.getLogger("interpose.approvals")

EVERY = 5.0


async def watch_grants(service: Service) -> None:
    """Look until cancelled."""
    said = ""
    while True:
        problem = await asyncio.to_thread(_look, service)
        if problem and problem != said:
            log.warning("grants can't be looked through: %s", problem)
        said = problem
        await asyncio.sleep(EVERY)


def _look(service: Service) -> str:
    try:
        if service.answering is not None:
            service.answering.keep_time()
            service.answering.agents.sweep()
        service.desk.examine()
        service.desk.escalate()
    except (StoreError, OSError) as error:
        return text_of(error)
    return ""
