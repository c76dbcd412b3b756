"""A run of many scripts: generated, executed by bash, compared; with a count of every construct that was drawn."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from msgspec import Struct, field

from tests.differential import commands, vanishing, words, wrappers
from tests.differential.bash import prepare, run
from tests.differential.compare import compare
from tests.differential.generator import COMMANDS, WORDS, Generator

BATCH = 50
KEPT = 100
"""How many scripts of each outcome are kept to be shown."""
CATALOGUES = (commands, vanishing, words, wrappers)
"""The modules that fill the tables of constructs by being imported."""


class Result(Struct):
    """What a campaign found."""

    scripts: int = 0
    calls: int = 0
    files: int = 0
    drawn: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    missed: list[tuple[int, str, tuple[str, ...]]] = field(default_factory=list)
    opaque: list[tuple[int, str, tuple[str, ...]]] = field(default_factory=list)

    def add(self, other: Result) -> None:
        self.scripts += other.scripts
        self.calls += other.calls
        self.files += other.files
        self.drawn += other.drawn
        self.outcomes += other.outcomes
        self.missed = (self.missed + other.missed)[:KEPT]
        self.opaque = (self.opaque + other.opaque)[:KEPT]

    def report(self, show: int = 10) -> str:
        """The result in words: outcomes, then how often each construct was drawn, then what was missed."""
        lines = [f"{self.scripts} scripts, {self.calls} calls, {self.files} files: {dict(self.outcomes)}"]
        lines += [f"{count:8} {name}" for name, count in self.drawn.most_common()]
        lines += [f"{0:8} {name}" for name in self.never_drawn]
        for title, entries in (("missed", self.missed), ("opaque", self.opaque)):
            lines += [f"{title}, seed {seed}: {', '.join(what)}\n{script}" for seed, script, what in entries[:show]]
        return "\n".join(lines)

    @property
    def never_drawn(self) -> list[str]:
        return sorted((COMMANDS.keys() | WORDS.keys()) - self.drawn.keys())


def batch(first_seed: int, count: int = BATCH) -> Result:
    """One batch, in a directory of its own."""
    result = Result()
    generators = [Generator(seed) for seed in range(first_seed, first_seed + count)]
    scripts = [generator.script() for generator in generators]
    with tempfile.TemporaryDirectory(prefix="differential-") as name:
        root = Path(name)
        work = root / "work"
        work.mkdir()
        observed = run(scripts, work, prepare(root))
        for number, (generator, script, seen) in enumerate(zip(generators, scripts, observed, strict=True)):
            comparison = compare(script, seen, str(work / f"{number:06d}"))
            result.scripts += 1
            result.calls += len(seen.calls)
            result.files += len(seen.files)
            result.drawn += generator.drawn
            result.outcomes[comparison.outcome] += 1
            entry = (first_seed + number, script, comparison.missing)
            if comparison.outcome == "missed":
                result.missed.append(entry)
            elif comparison.outcome == "opaque":
                result.opaque.append(entry)
    return result


def campaign(count: int, seed: int = 0, workers: int = 2) -> Result:
    """`count` scripts from consecutive seeds."""
    result = Result()
    with ProcessPoolExecutor(workers) as pool:
        for part in pool.map(batch, range(seed, seed + count, BATCH)):
            result.add(part)
    return result


def main() -> int:
    """`python -m tests.differential.campaign N [SEED]`: a long run, with its report."""
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    result = campaign(count, seed, os.cpu_count() or 2)
    sys.stdout.write(result.report() + "\n")
    return 1 if result.missed else 0


if __name__ == "__main__":
    sys.exit(main())
