"""The trace that a caller says its request belongs to, as W3C Trace Context writes it."""

from __future__ import annotations

import re

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?", re.ASCII)
_TRACE = re.compile(r"[0-9a-f]{32}", re.ASCII)
_SPAN = re.compile(r"[0-9a-f]{16}", re.ASCII)


def parse_traceparent(header: str) -> tuple[str, str]:
    """Trace and span of a `traceparent` header; empty if it is none."""
    found = _TRACEPARENT.fullmatch(header.strip())
    if not found or found[1] == "ff" or (found[1] == "00" and found[4]):
        return "", ""
    return (found[2], found[3]) if is_trace(found[2]) and is_span(found[3]) else ("", "")


def is_trace(text: str) -> bool:
    """Whether this names a trace."""
    return bool(_TRACE.fullmatch(text)) and text.strip("0") != ""


def is_span(text: str) -> bool:
    """Whether this names a span."""
    return bool(_SPAN.fullmatch(text)) and text.strip("0") != ""
