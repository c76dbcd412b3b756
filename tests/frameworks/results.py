"""What came of the runs, kept in docs/frameworks/results, and the table that is made of it.

A result is believed only for the very files that it was made with: their digest stands in it, so that a table can't
outlive the code that it speaks of. `scripts/test` holds both against each other.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from tests.frameworks.behaviours import BEHAVIOURS, COLUMNS, Column
from tests.frameworks.known import KNOWN, ROOT, SUITE, KnownFramework

FOLDER = ROOT / "docs" / "frameworks" / "results"
README = ROOT / "docs" / "frameworks" / "README.md"
BEGIN, END = "<!-- table: scripts/frameworks -->\n", "<!-- end -->\n"

_SUITE = (
    "behaviours", "conftest", "fake_server", "interceptors", "known", "playing", "real_server", "test_behaviours",
    "test_pages",
)  # fmt: skip
"""What every framework is played with."""

YES, NO, FAILED = "yes", "no", "**failed**"


class FrameworkResult(Struct, frozen=True, forbid_unknown_fields=True):
    """One framework's last run: `passed` or `failed` for each behaviour and mode, and for everything besides: the
    example of its page, and the tests of this framework alone."""

    version: str
    of: str
    """The digest of what was run."""
    played: Mapping[str, str]
    besides: Mapping[str, str]


def digest_of(known: KnownFramework) -> str:
    """The digest of all that a result depends on: the adapter, what it stands on, its driver and pins, the suite."""
    room = known.adapter.parent
    others = {one.adapter for one in KNOWN} - {known.adapter}
    text = known.adapter.read_text(encoding="utf-8")
    others -= {path for path in others if f"interpose.doors.frameworks.{path.stem} import" in text}
    sources = sorted(path for path in room.glob("*.py") if path not in others and path.name != "__init__.py")
    suite = [SUITE / f"{name}.py" for name in _SUITE]
    digest = hashlib.sha256()
    own = (known.driver_file, known.pins, known.page, known.facts_file, *known.own_tests)
    for path in (*sources, *own, *suite):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def place_of(known: KnownFramework) -> Path:
    return FOLDER / f"{known.name}.json"


def kept(known: KnownFramework) -> FrameworkResult | None:
    """What was kept of its last run."""
    path = place_of(known)
    return msgspec.json.decode(path.read_bytes(), type=FrameworkResult) if path.is_file() else None


def keep(known: KnownFramework, played: Mapping[str, str], besides: Mapping[str, str]) -> None:
    """Keep what came of a run."""
    result = FrameworkResult(
        pinned_version(known), digest_of(known), dict(sorted(played.items())), dict(sorted(besides.items()))
    )
    FOLDER.mkdir(parents=True, exist_ok=True)
    place_of(known).write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")


def pinned_version(known: KnownFramework) -> str:
    """The version that is pinned."""
    found = re.search(rf"^{re.escape(known.package)}==(\S+)", known.pins.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None, f"{known.package} is not pinned in {known.pins.name}"
    return found[1]


def wanted(known: KnownFramework, modes: Iterable[str]) -> set[str]:
    """The names of all that must be played."""
    return {f"{one.name}-{mode}" for one in BEHAVIOURS if one.name not in known.cannot for mode in modes}


def modes_of(result: FrameworkResult) -> list[str]:
    return [mode for mode in ("sync", "async", "stream") if any(name.endswith(f"-{mode}") for name in result.played)]


def cell(known: KnownFramework, result: FrameworkResult, column: Column, notes: list[str]) -> str:
    """What the table says: yes if all was played and passed, no if it can't be, with a note that says why."""
    behaviours = [one.name for one in BEHAVIOURS if one.column == column]
    reasons = dict.fromkeys(f"{known.title}: {known.cannot[name]}" for name in behaviours if name in known.cannot)
    played = [
        result.played.get(f"{name}-{mode}", "failed")
        for name in behaviours
        if name not in known.cannot
        for mode in modes_of(result)
    ]
    if any(outcome != "passed" for outcome in played):
        return FAILED
    notes += [reason for reason in reasons if reason not in notes]
    marks = ", ".join(str(notes.index(reason) + 1) for reason in reasons)
    return (YES if played else NO) + (f" ({marks})" if marks else "")


def table(results: Mapping[str, FrameworkResult]) -> str:
    """The table in Markdown, and its notes."""
    lines = [
        f"| framework | version | {' | '.join(COLUMNS)} | runs |",
        f"|---|---|{'---|' * len(COLUMNS)}---|",
    ]
    notes: list[str] = []
    for known in KNOWN:
        result = results.get(known.name)
        if result is None:
            lines.append(f"| [{known.title}]({known.name}.md) | not run |{' |' * (len(COLUMNS) + 1)}")
            continue
        cells = [cell(known, result, column, notes) for column in COLUMNS]
        lines.append(
            f"| [{known.title}]({known.name}.md) | {result.version} | {' | '.join(cells)} | "
            f"{', '.join(modes_of(result))} |"
        )
    if notes:
        lines += ["", *(f"{number}. {note}." for number, note in enumerate(notes, 1))]
    return "\n".join(lines) + "\n"


def table_in(page: str) -> str:
    """The table that stands in a page."""
    return page.partition(BEGIN)[2].partition(END)[0]


def with_table(page: str, new: str) -> str:
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{new}{END}{rest.partition(END)[2]}"


def all_kept() -> dict[str, FrameworkResult]:
    return {known.name: result for known in KNOWN if (result := kept(known)) is not None}
