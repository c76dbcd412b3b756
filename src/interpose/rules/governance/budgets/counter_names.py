"""What counters of budgets are called. A name says when its window ends, so that it can be forgotten after that."""

from __future__ import annotations

import hashlib

from interpose.rules.governance.budgets.durations import NANOSECONDS

PREFIX = "gov:"
_WIDTH = 11
_ENDLESS = "9" * _WIDTH


def counter_name(*parts: str, ends_ns: int = 0) -> str:
    """The name of the counter that counts what the parts say; `ends_ns` is 0 if its window never ends."""
    text = "\n".join(f"{len(part)}:{part}" for part in parts)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
    end = f"{ends_ns // NANOSECONDS:0{_WIDTH}d}" if ends_ns else _ENDLESS
    return f"{PREFIX}{end}:{digest}"


def has_ended(name: str, now_ns: int) -> bool:
    """Whether the window of a counter is over."""
    end = name.removeprefix(PREFIX).partition(":")[0]
    return name.startswith(PREFIX) and end.isdigit() and end != _ENDLESS and int(end) * NANOSECONDS <= now_ns
