"""A plugin for pytest that prints a failure the moment it happens: a run that is ended early has still named it."""

from __future__ import annotations

import pytest


class FailuresAtOnce:
    """Prints each failure with its traceback, before the summary does."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._terminal.write_line(f"\nFAILED {report.nodeid} ({report.when})", red=True)
            self._terminal.write_line(report.longreprtext)


@pytest.hookimpl(trylast=True)  # after the terminal itself is there
def pytest_configure(config: pytest.Config) -> None:
    """Register it where there is a terminal: workers of pytest-xdist have none and report to the process that has."""
    if terminal := config.pluginmanager.get_plugin("terminalreporter"):
        config.pluginmanager.register(FailuresAtOnce(terminal))
