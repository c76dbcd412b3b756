"""A run of many scripts: generated, executed by bash, compared; with a count of every construct that was drawn."""

from __future__ import annotations

import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from msgspec import Struct, field

from tests.differential import commands, words, wrappers
from tests.differential.bash import prepare, run
from tests.differential.compare import compare
from tests.differential.generator import COMMANDS, WORDS, Generator

BATCH = 50
CATALOGUES = (commands, words, wrappers)
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
        self.missed += other.missed
        self.opaque += other.opaque

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
