"""One browser for all tests of a worker, and a server for all tests of a module."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.browsing import CHROMIUM, MISSING, configured
from tests.e2e.processes import ServerProcess, clean_environment


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        # Nothing of whoever runs the tests, be it an agent: a browser that one started answers nothing.
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu"],
            env=dict(clean_environment(Path(tempfile.mkdtemp(prefix="ip")))),
        )
        try:
            yield opened
        finally:
            opened.close()


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """A server that believes a token: most screens don't care how somebody came in."""
    with (
        tempfile.TemporaryDirectory(prefix="t", ignore_cleanup_errors=True) as made,
        ServerProcess(configured(Path(made).resolve())) as running,
    ):
        yield running
