"""Lists the benchmarks, starts one, or plays all of them briefly.

scripts/bench                     their names
scripts/bench NAME [ARGUMENTS]    one of them
scripts/bench --smoke [NAME ...]  these, or all of them, each with --smoke: for whether they are right
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys

from bench.catalogue import BENCH, find_benchmarks
from bench.checks import require
from bench.command_line import run_main

LONGEST = 280.0
"""Seconds after which a smoke hangs."""


def main() -> None:
    known = find_benchmarks()
    match sys.argv[1:]:
        case ["--smoke", *names]:
            smoke(names or list(known), known)
        case [name, *arguments] if name not in ("-h", "--help"):
            _require_known([name], known)
            os.execv(sys.executable, [sys.executable, "-m", f"bench.{name}", *arguments])
        case _:
            print(__doc__)
            width = max(map(len, known))
            for name, summary in known.items():
                print(f"{name:{width}}  {summary}")


def smoke(names: list[str], known: dict[str, str]) -> None:
    """Play these, a line for each."""
    _require_known(names, known)
    width, failed = max(map(len, names)), []
    for name in names:
        before = _spent_by_children()
        problem = play(name)
        failed += [name] * bool(problem)
        print(
            f"{name:{width}}  {'FAILED' if problem else 'ok    '}  {_spent_by_children() - before:5.1f} s of CPU",
            flush=True,
        )
        if problem:
            print(problem, file=sys.stderr)
    require(not failed, f"{len(failed)} of {len(names)} benchmarks: {', '.join(failed)}")


def play(name: str) -> str:
    """What went wrong in one smoke, or an empty text."""
    command = [sys.executable, "-m", f"bench.{name}", "--smoke"]
    with subprocess.Popen(
        command, cwd=BENCH.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        try:
            said, _ = child.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            child.terminate()
            return f"it took longer than {LONGEST:.0f} s: {child.communicate()[0]}"
        except BaseException:
            child.terminate()  # it removes what it made
            child.wait()
            raise
    return said if child.returncode else ""


def _require_known(names: list[str], known: dict[str, str]) -> None:
    for name in names:
        if name not in known:
            print(f"there is no benchmark {name}. There are: {', '.join(known)}", file=sys.stderr)
            sys.exit(64)


def _spent_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    run_main(main)
