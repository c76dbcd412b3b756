"""What every test has: a directory of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A directory whose name is short, unlike pytest's own: the path of a Unix socket has 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="t", ignore_cleanup_errors=True) as made:
        yield Path(made).resolve()
