"""Writes docs/compatibility.md from promises.yaml: `python -m tests.seeds.compatibility > docs/compatibility.md`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support.case_files import read_cases

PROMISES = Path(__file__).with_name("promises.yaml")
SYSTEMS = {
    "000": ("OpenClaw, interceptors", "the guide of its interceptor pipeline"),
    "001": ("OpenClaw, the pull request", "what it adds, and what its review asked for"),
    "002": ("Gemicro", "its guide for authors of interceptors"),
    "003": ("iDumb", "its governance plugin for OpenCode"),
    "004": ("Maybe Don't", "its intercept endpoint"),
}
WORDS = {"works": "works", "refuse-mode": "asks", "differs": "differs"}

HEAD = """# Compatibility

Interpose does what five published documents promise: OpenClaw's interceptor pipeline and the pull request behind it,
Gemicro's guide for interceptors, iDumb's governance plugin and Maybe Don't's intercept endpoint. This page lists every
promise with the test that holds it, or the reason why Interpose differs. To port code, begin with
[the table of names](python.md#coming-from-openclaw-or-gemicro).

- **works**: it does what the document says, in its Python or HTTP form.
- **asks**: where the original blocks, Interpose asks a person. With `approvals.ask: refuse` it is denied, as there
  ([why](approvals.md#where-we-ask-and-others-refuse)).
- **differs**: it does something else, for the reason that is given.
"""


def promises() -> list[dict[str, Any]]:
    """Every row."""
    rows: list[dict[str, Any]] = read_cases(PROMISES)
    return rows


def page(rows: Sequence[dict[str, Any]]) -> str:
    """The page as Markdown."""
    return "\n".join((HEAD, *_counts(rows), *_tables(rows))) + "\n"


def _counts(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "| | promises | works | asks | differs |"
    yield "|---|---|---|---|---|"
    for seed, (name, _) in SYSTEMS.items():
        yield _count(name, [row for row in rows if row["seed"] == seed])
    yield _count("all", rows)


def _count(name: str, rows: Sequence[dict[str, Any]]) -> str:
    found = Counter(row["verdict"] for row in rows)
    return f"| {name} | {len(rows)} | {found['works']} | {found['refuse-mode']} | {found['differs']} |"


def _tables(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    for seed, (name, about) in SYSTEMS.items():
        yield f"\n## {name}\n\n{about[:1].upper()}{about[1:]}.\n\n| section | promise | | held by |\n|---|---|---|---|"
        for row in rows:
            if row["seed"] == seed:
                yield _row(row)


def _row(row: dict[str, Any]) -> str:
    held = ", ".join(f"`{test.removeprefix('tests/')}`" for test in row.get("tests", ()))
    reason = row.get("reason", "") if row["verdict"] == "differs" else ""
    said = " ".join(part for part in (reason, held) if part)
    cells = (row["section"], row["promise"], WORDS[row["verdict"]], said)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    sys.stdout.write(page(promises()))
