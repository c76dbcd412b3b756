"""By which key a session is found. Hosts, programs and agents choose ids: a key is short, and no two share one."""

from __future__ import annotations

import hashlib

from interpose.core.types import Context
from interpose.effects.late_patterns import late

_LONGEST = 200
_DIGEST = late(r"#[0-9a-f]{64}\Z")


def session_key(context: Context) -> str:
    """Which session a context belongs to. What one principal says of a session never touches another's.

    Who gives no session id shares one with those who work in the same directory over the same transport.
    """
    id = context.session_id
    if id and not context.principal and _is_plain(id):
        return id
    parts = [context.principal, id] if id else [context.principal, "", context.source, context.cwd]
    return _digest("\n".join(f"{len(part)}:{part}" for part in parts))


def kept_key(key: str) -> str:
    """A key as it can be kept. Those that `session_key` makes stay as they are."""
    return key if _is_plain(key) or _DIGEST.match(key) else _digest(key)


def _is_plain(text: str) -> bool:
    return len(text) <= _LONGEST and text.isascii() and text.isprintable() and not text.startswith("#")


def _digest(text: str) -> str:
    return f"#{hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=32).hexdigest()}"
