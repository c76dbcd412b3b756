"""Pass everything: format, lint, strict types and every suite. Nothing that was started is left behind.

    python -m tests.whole_run

No suite has a time limit: a busy machine is no reason to fail. Each test has one (pyproject.toml). A failure is printed
the moment it happens; the other suites run all the same. An interrupt ends everything that was started.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.whole_run.running import CORES, Command, Suite, run

BIN = Path(sys.executable).parent

CHECKS = (
    Command("ruff format", (str(BIN / "ruff"), "format", "--check", "--quiet", ".")),
    Command("ruff check", (str(BIN / "ruff"), "check", "--quiet", ".")),
    Command("programs for tests", ("scripts/packages",)),
)
BESIDE = Command("mypy", (str(BIN / "mypy"),))
"""It needs one core, and now and then one is free while tests wait."""
# Tests with processes, timeouts or package builds wait now and then: more workers than cores use that time.
SUITES = (
    Suite("unit", ("tests/unit",), CORES + 1),
    Suite(
        "cases, seeds, architecture",
        ("tests/cases", "tests/seeds", "tests/architecture", "tests/mutation", "tests/scorecard"),
    ),
    Suite(
        "law, bash, frameworks, package",
        ("tests/law", "tests/differential", "tests/frameworks", "tests/package"),
        CORES + 1,
    ),
    Suite(
        "faults, benchmarks, servers and agents as processes",
        ("tests/faults", "tests/whole_run", "tests/benchmarks", "tests/e2e"),
        2 * CORES,
    ),
    Suite("the page in a real browser", ("tests/browser", "-m", "not heavy"), CORES + 1),
)

if __name__ == "__main__":
    sys.exit(run(CHECKS, BESIDE, SUITES))
