"""Fixtures of the server's tests."""

from __future__ import annotations

from tests.support.servers.event_loops import run

__all__ = ["run"]
