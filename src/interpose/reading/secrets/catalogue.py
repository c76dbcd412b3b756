"""The names of all kinds."""

from __future__ import annotations

from interpose.reading.secrets.kinds import NAMED, SHAPED
from interpose.reading.secrets.multiline import KEY_KINDS

FOUND_BY_CONTEXT = (
    "authorization-header", "basic-auth", "bearer-token", "command-password", "cookie", "curl-password",
    "generic-api-key", "generic-password", "kubernetes-secret", "netrc-password", "registry-auth", "service-key",
    "url-parameter", "url-password",
)  # fmt: skip


def catalogue() -> tuple[str, ...]:
    """Every kind that a redaction can name, sorted."""
    shaped = (kind.name for kind in SHAPED)
    named = (kind.name for kind in NAMED)
    return tuple(sorted({*shaped, *named, *KEY_KINDS, *FOUND_BY_CONTEXT}))
