"""Packages that only some installations have, and what to say if one is missing."""

from __future__ import annotations

EXTRAS = {
    "httptools": "server",
    "uvloop": "server",
    "prometheus_client": "server",
    "cryptography": "signatures",
    "asyncpg": "postgres",
    "httpx2": "judge",
    "opentelemetry": "otel",
    "jwt": "gateway",
}
"""Which extra brings a package."""


def missing_extra(error: ImportError, verb: str) -> str:
    """What to install, in a line; empty if it is no package of an extra that is missing."""
    package = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(package, "")
    if verb == "serve" and package == "cryptography":
        extra = "server"
    return f"{package} is missing: pip install 'interpose[{extra}]'" if extra else ""
