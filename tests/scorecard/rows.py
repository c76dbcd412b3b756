"""The rows of the scorecard: what is promised, and the commands that show it. rows.yaml has them.

promise    what Interpose promises
commands   the short form: all of them must exit with 0
figures    numbers that the commands print, and the bounds that they must keep
gap        what the commands do not show: a row with a gap is `partly` at best
missing    what is not built: such a row is `not built` at best
alone      measures time, so no other row runs beside it
long       the full form, which takes too long for every run
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from interpose.core.formats.yaml_text import Document, YamlError, read_yaml

ROOT = Path(__file__).parents[2]
ROWS = Path(__file__).with_name("rows.yaml")

_ID = re.compile(r"[A-Z][1-9][0-9]?")
_AT = re.compile(r" - at `\$(?P<at>[^`]*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


class RowsError(ValueError):
    """The file of rows has a mistake: file, line, and what to change."""


class Figure(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number that a command prints. The last match of `pattern` counts, and its only group is the number."""

    name: str
    pattern: str
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    missed: Literal["failed", "partly"] = "failed"
    """What a figure beyond its bound makes of the row."""


class LongForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The full form of a row."""

    command: str
    scale: str
    """How much that is, in words."""
    times: int = 1
    """How often the command runs."""
    takes: str = ""
    """A word of the command that `--long ROW -- FILE ...` replaces: what is measured with is not in the repository."""
    figures: tuple[Figure, ...] = ()
    """Those of the row, if none are named here."""
    needed: str = ""
    """Why the short form alone does not show the promise. The row is `partly` until the long form held."""


class Row(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One promise."""

    id: str
    promise: str
    commands: tuple[str, ...]
    figures: tuple[Figure, ...] = ()
    gap: str = ""
    missing: str = ""
    alone: bool = False
    long: LongForm | None = None

    @property
    def long_figures(self) -> tuple[Figure, ...]:
        return self.long.figures or self.figures if self.long else ()


class Section(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows under one heading."""

    title: str
    rows: tuple[Row, ...]


class Scorecard(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All sections."""

    sections: tuple[Section, ...]

    @property
    def rows(self) -> list[Row]:
        return [row for section in self.sections for row in section.rows]


def load_rows(path: Path = ROWS) -> Scorecard:
    """Read the rows. Raises RowsError."""
    try:
        document = read_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RowsError(f"{path.name}: {error.strerror}") from None
    except YamlError as error:
        raise RowsError(f"{path.name}:{error.line}: {error}") from None
    try:
        card = msgspec.convert(document.data, Scorecard)
    except msgspec.ValidationError as error:
        message, at = _split(str(error))
        raise RowsError(f"{path.name}:{document.line_at(at)}: {message}") from None
    for line, mistake in _find_mistakes(card, document):
        raise RowsError(f"{path.name}:{line}: {mistake}")
    return card


def _split(message: str) -> tuple[str, tuple[str | int, ...]]:
    """What msgspec says, and where."""
    found = _AT.search(message)
    if found is None:
        return message, ()
    at = tuple(name or int(number) for name, number in _STEP.findall(found["at"]))
    return message[: found.start()], at


def _find_mistakes(card: Scorecard, document: Document) -> Iterator[tuple[int, str]]:
    seen: set[str] = set()
    for number, section in enumerate(card.sections):
        for at, row in enumerate(section.rows):
            line = document.line_at(("sections", number, "rows", at))
            for mistake in _mistakes_of(row):
                yield line, f"{row.id}: {mistake}"
            if row.id in seen:
                yield line, f"{row.id}: there are two rows of this id"
            seen.add(row.id)


def _mistakes_of(row: Row) -> Iterator[str]:
    if not _ID.fullmatch(row.id):
        yield "an id is a letter and a number, as in R5"
    if not row.promise.strip():
        yield "the row has no promise"
    if not row.commands:
        yield "the row has no command. Name one that shows the promise, or what there is of it"
    for command in (*row.commands, *((row.long.command,) if row.long else ())):
        try:
            words = shlex.split(command)
        except ValueError as error:
            yield f"{command!r} can not be split into words: {error}"
            continue
        if not words or not words[0].startswith("scripts/"):
            yield f"a command begins with a script of this repository, as scripts/test; {command!r} does not"
        if row.long and command == row.long.command and row.long.takes and row.long.takes not in words:
            yield f"{row.long.takes} is no word of {command!r}"
    if row.long and row.long.times < 1:
        yield "long: times is at least 1"
    for name, said in (("gap", row.gap), ("missing", row.missing), ("needed", row.long.needed if row.long else "")):
        if said and not said.endswith("."):
            yield f"{name} is a sentence, and ends with a full stop"
    for figure in (*row.figures, *(row.long.figures if row.long else ())):
        yield from (f"figure {figure.name!r}: {mistake}" for mistake in _mistakes_of_figure(figure))


def _mistakes_of_figure(figure: Figure) -> Iterator[str]:
    try:
        groups = re.compile(figure.pattern).groups
    except re.error as error:
        yield f"the pattern is no regular expression: {error}"
        return
    if groups != 1:
        yield f"the pattern has {groups} groups; the number is in the only one"
    if figure.at_most is not None and figure.at_least is not None:
        yield "give at_most or at_least, not both"
    if figure.missed == "partly" and figure.at_most is None and figure.at_least is None:
        yield "without a bound nothing can be missed"


def find_missing_parts(row: Row, root: Path = ROOT) -> list[str]:
    """Scripts, benchmarks, files and tests that the commands of a row name and that do not exist."""
    long = row.long
    found = [part for command in row.commands for part in _missing_in(shlex.split(command), root)]
    if long:
        words = [word for word in shlex.split(long.command) if not long.takes or word != long.takes]
        found += _missing_in(words, root)
    return found


def _missing_in(words: list[str], root: Path) -> Iterator[str]:
    script, *arguments = words
    if not (root / script).is_file():
        yield script
    if script == "scripts/bench":
        name = next((word for word in arguments if not word.startswith("-")), "")
        if not name or not (root / "bench" / f"{name}.py").is_file():
            yield f"bench/{name}.py"
    for word in arguments:
        path, _, test = word.partition("::")
        if "/" in path and not path.startswith("-"):
            if not (root / path).exists():
                yield path
            elif test and not re.search(
                rf"^ *(async )?def {re.escape(test.split('[')[0])}\b", _text(root / path), re.M
            ):
                yield word
    if script == "scripts/test" and not any("/" in word for word in arguments):
        yield "a path of tests"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
