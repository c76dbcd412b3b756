"""How long a test waits for what must come: a program's end, an answer, an event."""

from __future__ import annotations

PATIENCE = 600.0
"""Seconds. A busy machine can be twenty times slower than an idle one. The limit of each test (pyproject.toml) ends and
names what never comes."""
