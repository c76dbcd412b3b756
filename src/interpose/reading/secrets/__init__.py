"""Secrets: what they look like, and how they are hidden. One room for guards, ledger, logs and gateway.

>>> Redactor(key).redact("AWS_ACCESS_KEY_ID=AKIA...").text
'AWS_ACCESS_KEY_ID=[redacted:aws-access-key-id:1f0c3a9d]'
"""

from __future__ import annotations

from interpose.reading.secrets.redact import FoundSecret, Redaction, Redactor

# `catalogue`, `recognised`, `session_memory` and `stream` are modules that other rooms may import.
__all__ = ["FoundSecret", "Redaction", "Redactor", "catalogue", "recognised", "session_memory", "stream"]
