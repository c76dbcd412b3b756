"""Calls that were decided and whose outcome is still to come, for hosts that run their tools themselves.

A host that names its calls is believed: the session and its own name find the call. For others the newest call of the
same session, tool and arguments is taken. Nothing is decided here: a call that is not found has an outcome of its own.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Any

from msgspec.json import Encoder

from interpose.errors import text_of
from interpose.types import Context, ToolCall

LIMIT = 20_000
ALIKE = 64
"""Calls that are remembered, and of these how many that look the same."""

_encode = Encoder(enc_hook=text_of, order="sorted").encode


class OpenCalls:
    """Safe for any number of threads. The oldest calls are forgotten past the limit."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._ids: OrderedDict[bytes, list[str]] = OrderedDict()

    def opened(self, call: ToolCall, key: str = "") -> None:
        """Remember a call that may run now. `key` is the host's own name for it."""
        found = _key(call.context, call.original_name or call.name, call.arguments, key)
        with self._lock:
            alike = self._ids.setdefault(found, [])
            alike.append(call.call_id)
            del alike[:-ALIKE]
            self._ids.move_to_end(found)
            if len(self._ids) > self._limit:
                self._ids.popitem(last=False)

    def closed(self, context: Context, name: str, arguments: dict[str, Any], key: str = "") -> str:
        """The id of the call that ended, once; empty if it was not opened here."""
        found = _key(context, name, arguments, key)
        with self._lock:
            alike = self._ids.get(found)
            if not alike:
                return ""
            call_id = alike.pop()
            if not alike:
                del self._ids[found]
            return call_id


def _key(context: Context, name: str, arguments: dict[str, Any], key: str) -> bytes:
    what: tuple[Any, ...] = (context.session_id, context.source, key) if key else (
        context.session_id, context.source, name, arguments,
    )  # fmt: skip
    try:
        encoded = _encode(what)
    except Exception:  # noqa: BLE001 - arguments that have no JSON form are found by their text
        encoded = repr(what).encode("utf-8", "backslashreplace")
    return hashlib.blake2b(encoded, digest_size=16).digest()
