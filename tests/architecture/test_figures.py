"""Figures that pages repeat are those that the benchmarks gave: bench/figures.md has them, with day and command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIGURES = (ROOT / "bench" / "figures.md").read_text(encoding="utf-8")
GUARDS = {"Interpose": "interpose, commands only", "nah": "nah==", "cc-safety-net": "cc-safety-net@"}
HOOKS = {"Interpose": "bash client", "nah": "nah==", "cc-safety-net": "cc-safety-net@"}
PAGES = ("README.md", "docs/comparison.md")
ACCURACY = {"must be stopped: caught": 1, "catastrophes: denied": 4, "doubtful ones: caught": 6}
"""Rows of a page's table, and which number of a benchmark's line `all` they repeat."""


def tables(name: str) -> Iterator[dict[str, list[str]]]:
    """The tables of a page about several guards: rows by their first cell, guards by the heading."""
    for table in re.findall(r"(?:^\|.*\n)+", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()]
        if any("nah" in head for head in rows[0]):
            yield {row[0] or "head": row[1:] for row in rows}


def cell(name: str, wanted: str, guard: str) -> str | None:
    """What a page says of a guard, in the row that is about this."""
    for table in tables(name):
        column = next(at for at, head in enumerate(table["head"]) if guard in head)
        for row, cells in table.items():
            if wanted in re.sub(r"\d[\d,]* ", "", row):
                return cells[column].replace("*", "")
    return None


def counted(guard: str) -> list[float]:
    """The line `all` of a guard: counts and percentages, from left to right."""
    block = FIGURES[FIGURES.index(f"\n{GUARDS[guard]}") :]
    line = re.search(r"^all (.*)$", block, re.MULTILINE)
    assert line is not None
    return [float(number) for number in re.findall(r"[\d.]+", line[1])]


def milliseconds(label: str) -> float:
    """The median of a way to call a hook."""
    found = re.search(
        rf"^{re.escape(label)}\S*(?: hook)? +([\d.]+) ms", FIGURES[FIGURES.index("## Hooks") :], re.MULTILINE
    )
    assert found is not None, label
    return float(found[1])


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("guard", GUARDS)
def test_how_well_they_judge(name: str, guard: str) -> None:
    figures = counted(guard)
    for row, at in ACCURACY.items():
        said = cell(name, row, guard)
        if row != "doubtful ones: caught" or name != "README.md":
            assert said is not None, row
            assert said.startswith(f"{figures[at]:g} %"), f"{name}: {guard}, {row}"
    said = cell(name, "honest ones: interrupted", guard) or cell(name, "honest work: interrupted", guard)
    interrupted = sum(figures[-2:])  # asked and denied, each rounded
    assert said is not None
    assert abs(float(said.removesuffix(" %")) - interrupted) <= 0.15, f"{name}: {guard}, honest work"


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("guard", HOOKS)
def test_how_long_their_hooks_take(name: str, guard: str) -> None:
    said = cell(name, "one hook call", guard)
    assert said is not None
    shown = [float(number) for number in re.findall(r"([\d.]+) ms", said)]
    measured = [milliseconds(HOOKS[guard])]
    if guard == "Interpose":
        measured.append(milliseconds("interpose hook, in process"))
    assert shown == pytest.approx(measured, abs=0.51), f"{name} and bench/figures.md differ"
