"""`scripts/frameworks`: run the adapters with the real packages, keep what came of it, print and write the table."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.frameworks import environments, results
from tests.frameworks.environments import NoEnvironmentError
from tests.frameworks.known import CHOSEN, KNOWN, ROOT, SUITE, KnownFramework


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/frameworks", description=__doc__)
    parser.add_argument("names", nargs="*", help="frameworks; all if none is named")
    parser.add_argument("--lock", metavar="ENVIRONMENT", help="pin an environment anew, and run nothing")
    parser.add_argument("-k", dest="only", default="", help="only tests that match, and keep no results")
    options = parser.parse_args()
    if options.lock:
        environments.lock(options.lock)
        return 0
    unknown = set(options.names) - {one.name for one in KNOWN}
    if unknown:
        parser.error(f"there is no framework {sorted(unknown)[0]!r}, only {', '.join(one.name for one in KNOWN)}")
    failed = [one.name for one in KNOWN if one.name in (options.names or [one.name]) and not ran(one, options.only)]
    table = results.table(results.all_kept())
    if not options.only:
        page = results.README.read_text(encoding="utf-8")
        results.README.write_text(results.with_table(page, table), encoding="utf-8")
    sys.stdout.write(f"{table}\n")
    if failed:
        sys.stdout.write(f"FAILED OR SKIPPED: {', '.join(failed)}\n")
    return 1 if failed else 0


RESULTS = "FRAMEWORK_RESULTS"
"""The variable that names the file into which the tests write what came of them."""


def tests_of(known: KnownFramework) -> list[str]:
    """What is played: the behaviours, the example of its page, and what is told of this framework alone."""
    return [str(path) for path in (SUITE / "test_behaviours.py", SUITE / "test_pages.py", *known.own_tests)]


def ran(known: KnownFramework, only: str) -> bool:
    """Whether all of a framework's tests passed. Keeps what came of them."""
    try:
        python = environments.python_of(known.environment)
    except NoEnvironmentError as error:
        sys.stdout.write(f"SKIPPED: {known.title} can't be installed:\n{error}\n")
        return False
    with tempfile.TemporaryDirectory() as place:
        found = Path(place) / "results.json"
        sys.stderr.write(f"· {known.title} {results.pinned_version(known)}\n")
        # What frameworks leave open, or find outdated in each other, is theirs.
        quiet = ("-q", "-p", "no:cacheprovider", "-o", "filterwarnings=default", "--disable-warnings")
        command = [str(python), "-m", "pytest", *quiet, "-k", only, *tests_of(known)]
        places = {"PYTHONPATH": str(ROOT / "src"), RESULTS: str(found), CHOSEN: known.name}
        done = subprocess.run(command, cwd=ROOT, check=False, env={**os.environ, **places})
        came = json.loads(found.read_text(encoding="utf-8")) if found.is_file() else {}
    if not only:
        results.keep(known, came.get(known.name, {}), came.get("", {}))
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
