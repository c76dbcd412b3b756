"""Cases are data in YAML files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def read_cases(file: Path) -> Any:
    """The content of a file of cases. libyaml reads it: in pure Python, the files take longer than most suites."""
    return yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
