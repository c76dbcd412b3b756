"""Whether the tests notice when the code is wrong: mutants of what decides, and how many of them the suite kills.

    python -m tests.mutation [COUNT] [--seed N] [--only WORD]

COUNT mutants are drawn at random from the modules below. Each is put to the tests of its own module first, then to
those that hold what decides. One that passes all of them has survived, and is listed.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.mutation.mutants import Mutant, mutants_of

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "interpose"
MODULES = ("core/pipeline.py", "engine/*.py", "engine/flow/*.py", "rules/guards/*.py", "people/approvals/*.py")
WHOLE = (
    (
        "tests/seeds", "tests/unit/engine", "tests/unit/rules/guards", "tests/unit/people/approvals",
        "tests/faults/test_corridor_attacks.py",
    ),
    ("tests/law", "tests/cases", "tests/unit/doors", "tests/e2e/corridor"),
    # What surfaces do as processes, or with them.
    ("tests/e2e/hook_clients", "tests/e2e/test_openapi.py", "tests/e2e/test_stdio_links.py"),
)  # fmt: skip
WANTED = 0.95
SECONDS = 900


class Placed(NamedTuple):
    """A mutant and the module that it stands in for."""

    module: Path
    mutant: Mutant

    def __str__(self) -> str:
        return f"{self.module.relative_to(SOURCE)}:{self.mutant.line}: {self.mutant.change}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="modules whose path has this word")
    options = parser.parse_args()
    everything = [placed for placed in _all() if options.only in str(placed.module)]
    drawn = random.Random(options.seed).sample(everything, min(options.count, len(everything)))
    print(f"{len(drawn)} of {len(everything)} mutants, seed {options.seed}", flush=True)  # noqa: T201 - a report
    with tempfile.TemporaryDirectory(prefix="mutant") as place:
        shutil.copytree(SOURCE, Path(place) / "interpose", ignore=shutil.ignore_patterns("__pycache__"))
        if broken := "".join(_failure(place, suite) for suite in WHOLE):
            sys.exit(f"the tests fail without a mutant:\n{broken}")
    survived = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for placed, suite in zip(drawn, pool.map(_killed_by, drawn), strict=True):
            print(f"{suite or 'SURVIVED':10} {placed}", flush=True)  # noqa: T201 - a report
            if not suite:
                survived.append(placed)
    killed = len(drawn) - len(survived)
    print(f"\n{killed} of {len(drawn)} killed, {100 * killed / len(drawn):.1f} % (wanted {100 * WANTED:.0f} %)")  # noqa: T201 - a report
    return 0 if killed >= WANTED * len(drawn) else 1


def _all() -> Iterator[Placed]:
    for pattern in MODULES:
        for module in sorted(SOURCE.glob(pattern)):
            for mutant in mutants_of(module.read_text(encoding="utf-8")):
                yield Placed(module, mutant)


def _killed_by(placed: Placed) -> str:
    """The suite that noticed the mutant; nothing if none did."""
    with tempfile.TemporaryDirectory(prefix="mutant") as place:
        shutil.copytree(SOURCE, Path(place) / "interpose", ignore=shutil.ignore_patterns("__pycache__"))
        (Path(place) / "interpose" / placed.module.relative_to(SOURCE)).write_text(placed.mutant.source)
        own = ROOT / "tests/unit" / placed.module.relative_to(SOURCE).with_name(f"test_{placed.module.name}")
        if own.exists() and _fails(place, (str(own),)):
            return "own"
        return next((f"suite {number}" for number, suite in enumerate(WHOLE, 1) if _fails(place, suite)), "")


def _fails(place: str, tests: tuple[str, ...]) -> bool:
    return _failure(place, tests) != ""


def _failure(place: str, tests: tuple[str, ...]) -> str:
    """How the tests end if they fail; nothing if they pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = os.environ | {"PYTHONPATH": place, "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "they hang\n"  # that is noticed, too
    return done.stdout.decode()[-1000:] or "no tests\n" if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
