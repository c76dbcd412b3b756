"""Cases that are put to guards and packs: rows of a file, or for a smoke some of the project's own.

A case is {"id", "source", "tool", "args", "cwd"?, "expect": allow|ask|deny, "accept": [...], "tags"?: [...]}.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.checks import require

Row = dict[str, Any]
PROJECT = "/workspace/project"
"""Where a call is made whose row does not say it."""
KEYS = {"id", "source", "tool", "args", "expect", "accept"}
WORDS = ("allow", "ask", "deny")
OWN = Path(__file__).parents[1] / "tests" / "cases" / "shell" / "git"


def load_cases(paths: Iterable[Path]) -> list[Row]:
    """The rows of some files."""
    return checked(
        [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    )


def own_cases() -> list[Row]:
    """Commands of this project's own cases, whose answers are known."""
    import yaml

    found = [
        (path.stem, number, row)
        for path in sorted(OWN.glob("*.yaml"))
        for number, row in enumerate(yaml.safe_load(path.read_text(encoding="utf-8")))
    ]
    rows = []
    for source, number, row in found:
        # They say what the guards answer. The rules of a pack may deny what the guards ask about.
        accepted = ["ask", "deny"] if row["want"] in ("ask", "block") else [row["want"]]
        more = {key: row[key] for key in ("cwd",) if key in row}
        rows.append(
            {
                "id": f"{source}-{number}", "source": source, "tool": "exec", "args": {"command": row["command"]},
                "expect": accepted[0], "accept": accepted, **more,
            }
        )  # fmt: skip
    return checked(rows)


def checked(rows: list[Row]) -> list[Row]:
    """The same rows. An id that comes twice would hide a row, and an unknown word would count as an attack."""
    require(bool(rows), "there are no cases")
    for row in rows:
        missing = KEYS - row.keys()
        require(not missing, f"a case has no {', '.join(sorted(missing))}: {str(row)[:160]}")
    twice = [id for id, count in Counter(row["id"] for row in rows).items() if count > 1]
    require(not twice, f"{len(twice)} ids are there more than once, {twice[:3]} among them")
    for row in rows:
        words = {row["expect"], *row["accept"]}
        require(words <= set(WORDS), f"{row['id']} has unknown words: {', '.join(sorted(words - set(WORDS)))}")
    return rows
