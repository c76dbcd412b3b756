"""The tables: what secrets look like, a file for each family."""

from __future__ import annotations

from interpose.reading.secrets.kinds import ai, cloud, forges, keys, messaging, payment, saas
from interpose.reading.secrets.kinds.kind import Kind, Named
from interpose.reading.secrets.kinds.named import NAMED
from interpose.reading.secrets.kinds.services import SERVICES

# Order matters where two shapes cover the same text: the first one names it.
SHAPED: tuple[Kind, ...] = (
    *cloud.KINDS,
    *forges.KINDS,
    *payment.KINDS,
    *messaging.KINDS,
    *ai.KINDS,
    *saas.KINDS,
    *keys.KINDS,
)

# `needed` is a module that is named and not imported.
__all__ = ["NAMED", "SERVICES", "SHAPED", "Kind", "Named", "needed"]
