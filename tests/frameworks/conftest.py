"""Runs of frameworks reach nobody but this machine, and leave behind what came of them."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

pytest.register_assert_rewrite("tests.frameworks.behaviours")

from tests.frameworks.known import KNOWN  # noqa: E402 - after what it says how to import

_RESULTS = "FRAMEWORK_RESULTS"
"""The variable that names the file into which `scripts/frameworks` wants the results."""

_outcomes: dict[str, dict[str, str]] = {}


@pytest.fixture(autouse=True)
def _nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """No network beyond loopback: what would call home fails."""
    connect = socket.socket.connect

    def only_here(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"a test must not reach {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_here)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep what became of each behaviour, and of all besides: a test that failed anywhere failed."""
    name = report.nodeid.partition("test_behaviour[")[2].removesuffix("]")
    framework, _, rest = name.partition("-")
    if not framework:
        rest = report.nodeid.rpartition("/")[2]
    kept = _outcomes.setdefault(framework, {})
    if report.failed or (report.when == "call" and kept.get(rest) != "failed"):
        kept[rest] = report.outcome


def pytest_sessionfinish() -> None:
    if path := os.environ.get(_RESULTS):
        Path(path).write_text(json.dumps(_outcomes), encoding="utf-8")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    absent = [one.name for one in KNOWN if not one.is_here]
    if absent:
        terminalreporter.write_line(f"not in this environment, run by scripts/frameworks: {', '.join(absent)}")
