"""docs/cli.md: the verbs by purpose and the extras are those of the program."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from interpose.doors.cli.verbs import GROUPS
from interpose.effects.ourselves.command_line import OLD, VERBS, below

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def test_every_group_of_verbs_has_its_row() -> None:
    rows = re.findall(r"^\| [^|]+ \| (`[a-z`, ()-]+`\)?) \| `([^|]+)` \|$", PAGE, re.MULTILINE)
    told = [(re.findall(r"`([\w-]+)`", verbs), example) for verbs, example in rows]
    assert told == [(_named(verbs), example) for example, verbs in GROUPS.values()]


def _named(verbs: tuple[str, ...]) -> list[str]:
    """Each verb, and those below it."""
    return [name for verb in verbs for name in (verb, *(row.path[-1] for row in below(VERBS[verb])))]


def test_every_old_spelling_has_its_row() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| `([\w -]+)`", PAGE, re.MULTILINE)
    assert dict(rows) == {old: " ".join(now) for old, now in OLD.items()}


def test_every_extra_has_its_row() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(re.findall(r"^\| `interpose\[(\w+)\]`", PAGE, re.MULTILINE)) == set(project["optional-dependencies"])
