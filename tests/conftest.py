"""What every test has: a directory of its own, and time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is slow now and then, and no property is about that. Continuous integration plays the same examples
# every time: what new ones find is for those who can look at it.
settings.register_profile(
    "interpose", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("interpose")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A directory whose name is short, unlike pytest's own: the path of a Unix socket has 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="t", ignore_cleanup_errors=True) as made:
        yield Path(made).resolve()
