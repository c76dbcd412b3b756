"""docs/cli.md: the verbs by purpose and the extras are those of the program."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from interpose.cli.verbs import GROUPS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def test_every_group_of_verbs_has_its_row() -> None:
    rows = re.findall(r"^\| [^|]+ \| (`[a-z`, -]+`) \| `([^|]+)` \|$", PAGE, re.MULTILINE)
    told = [(re.findall(r"`([\w-]+)`", verbs), example) for verbs, example in rows]
    assert told == [(list(verbs), example) for example, verbs in GROUPS.values()]


def test_every_extra_has_its_row() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(re.findall(r"^\| `interpose\[(\w+)\]`", PAGE, re.MULTILINE)) == set(project["optional-dependencies"])
