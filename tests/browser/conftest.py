"""One browser for all tests of a worker, and a server for all tests of a module."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.browsing import CHROMIUM, MISSING, configured, opened_browser
from tests.e2e.processes import ServerProcess


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip(MISSING)
    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """A server that believes a token: most screens don't care how somebody came in."""
    with (
        tempfile.TemporaryDirectory(prefix="t", ignore_cleanup_errors=True) as made,
        ServerProcess(configured(Path(made).resolve())) as running,
    ):
        yield running
