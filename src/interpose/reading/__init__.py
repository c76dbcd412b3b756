"""What is known of a call before anything decides: its effects, its secrets, and tools that nobody described."""

from __future__ import annotations


def hidden(text: str) -> str:
    """Text without secrets, for lines that end up in logs."""
    from interpose.reading.secrets import Redactor  # its patterns take longer to load than all of us

    return Redactor().redact(text).text
