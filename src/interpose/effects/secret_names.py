"""Which environment variables hold secrets, judged by their names."""

from __future__ import annotations

_WORDS = frozenset(
    {"TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL", "CREDENTIALS", "PAT"}
)
_KEYS = frozenset({"API", "ACCESS", "PRIVATE", "SECRET", "AUTH", "SIGNING", "ENCRYPTION", "SSH", "SERVICE", "ADMIN"})


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name usually holds a secret: `GITHUB_TOKEN`, `AWS_SECRET_ACCESS_KEY`, `PGPASSWORD`."""
    parts = name.upper().split("_")
    if not _WORDS.isdisjoint(parts) or parts[-1].endswith(("PASSWORD", "TOKEN", "APIKEY", "PASSWD")):
        return parts[-1] not in ("FILE", "PATH", "URL", "ID", "NAME", "LENGTH", "TTL")
    return parts[-1] == "KEY" and not _KEYS.isdisjoint(parts)
