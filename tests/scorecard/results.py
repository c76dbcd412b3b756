"""What the last runs gave, kept in results.json, and what that makes of a row.

held       the commands passed, and every figure keeps its bound
partly     they passed, but show less than the promise; the row says what is not shown
failed     a command failed, or a figure is beyond its bound
not built  what the promise needs does not exist yet; the commands show what there is
not run    there is no result of the commands as they are now
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from tests.scorecard.rows import Figure, Row, Scorecard

RESULTS = Path(__file__).with_name("results.json")

Outcome = Literal["held", "partly", "failed", "not built", "not run"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


class ResultsError(ValueError):
    """The file of results can not be read."""


class Run(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One run of a row's commands, and what it gave."""

    date: str
    python: str
    cores: int
    commands: tuple[str, ...]
    outcome: Outcome
    seconds: float | None = None
    scale: str = ""
    """Of a long run."""
    passed: int = 0
    """Tests, where pytest ran."""
    skipped: int = 0
    figures: Mapping[str, float] = {}
    failures: tuple[str, ...] = ()
    """Why commands failed."""
    note: str = ""
    """What else was seen: of runs whose figures nothing but a person wrote down."""


class RowRuns(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The last run of each form."""

    short: Run | None = None
    long: Run | None = None


class Judgement(Struct, frozen=True):
    """An outcome, and the sentences that say why it is not `held`."""

    outcome: Outcome
    reasons: tuple[str, ...] = ()


Results = dict[str, RowRuns]


def load_results(path: Path = RESULTS) -> Results:
    """Read the results. Raises ResultsError."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Results)
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        raise ResultsError(f"{path.name}: {error}. Repair it, or remove it and run scripts/scorecard") from None


def save_results(results: Results, card: Scorecard, path: Path = RESULTS) -> None:
    """Write the results in the order of the rows. Those of rows that are gone are dropped."""
    kept = {row.id: results[row.id] for row in card.rows if row.id in results}
    replace_text(path, msgspec.json.format(msgspec.json.encode(kept), indent=1).decode() + "\n")


def replace_text(path: Path, text: str) -> None:
    """Write a file as a whole: an interrupted run leaves the old one."""
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8"
    ) as new:
        new.write(text)
    draft = Path(new.name)
    draft.chmod(0o644)
    draft.replace(path)


def judge(row: Row, runs: RowRuns) -> Judgement:
    """What the last short run makes of a row."""
    run = runs.short
    if run is None:
        return Judgement("not run", ("There is no result yet.",))
    if run.commands != row.commands:
        return Judgement("not run", ("The commands changed after the last run.",))
    needed = row.long.needed if row.long and not _long_form_held(row, runs.long) else ""
    return _judge_run(row, run, row.figures, needed)


def judge_long(row: Row, run: Run) -> Judgement:
    """What a long run shows by itself. One that a person wrote down keeps its outcome."""
    return Judgement(run.outcome) if run.note else _judge_run(row, run, row.long_figures, "")


def _long_form_held(row: Row, run: Run | None) -> bool:
    return run is not None and row.long is not None and run.commands == (row.long.command,) and run.outcome == "held"


def _judge_run(row: Row, run: Run, figures: Sequence[Figure], needed: str) -> Judgement:
    broken = [*run.failures, *_beyond(figures, run, "failed")]
    broken += [f"The figure {one.name!r} was not printed." for one in figures if one.name not in run.figures]
    if broken:
        return Judgement("failed", tuple(broken))
    if row.missing:
        return Judgement("not built", (row.missing,))
    less = [*_beyond(figures, run, "partly"), row.gap, needed]
    if run.skipped:
        less.append(f"{run.skipped} {'test was' if run.skipped == 1 else 'tests were'} skipped here.")
    reasons = tuple(reason for reason in less if reason)
    return Judgement("partly" if reasons else "held", reasons)


def _beyond(figures: Sequence[Figure], run: Run, missed: str) -> Iterator[str]:
    """Figures beyond their bounds that mean this for the row."""
    for figure in figures:
        value = run.figures.get(figure.name)
        if value is not None and figure.missed == missed and not keeps_bound(figure, value):
            yield f"{figure.name} is {write_figure(figure, value)}; wanted is {write_bound(figure)}."


def keeps_bound(figure: Figure, value: float) -> bool:
    """Whether a figure is within its bound; a figure without one always is."""
    if figure.at_most is not None:
        return value <= figure.at_most
    return figure.at_least is None or value >= figure.at_least


def write_bound(figure: Figure) -> str:
    """A bound in words; nothing for a figure without one."""
    if figure.at_most is not None:
        return f"at most {write_figure(figure, figure.at_most)}"
    return f"at least {write_figure(figure, figure.at_least)}" if figure.at_least is not None else ""


def write_figure(figure: Figure, value: float) -> str:
    """A number with its unit."""
    return f"{write_number(value)} {figure.unit}".rstrip()


def write_number(value: float) -> str:
    """A number as people write it: `396,436`, `0.13`."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def refresh_outcomes(card: Scorecard, results: Results) -> Results:
    """The results with outcomes as the rows judge them now: a row may have got a gap, or a long run."""
    fresh: Results = {}
    for row in card.rows:
        runs = results.get(row.id)
        if runs is None:
            continue
        if runs.long is not None:
            long = msgspec.structs.replace(runs.long, outcome=judge_long(row, runs.long).outcome)
            runs = msgspec.structs.replace(runs, long=long)
        if runs.short is not None:
            short = msgspec.structs.replace(runs.short, outcome=judge(row, runs).outcome)
            runs = msgspec.structs.replace(runs, short=short)
        fresh[row.id] = runs
    return fresh
